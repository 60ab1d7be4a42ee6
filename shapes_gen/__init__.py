"""Shapes to count and shapes to read: the two datasets that need no outside data.

from shapes_gen import ToyRecipe, generate

generate(ToyRecipe(counts=(3,), total=2000, split="train"), "train.h5")
"""

from pathlib import Path
from typing import Any

import ivl_shards
from ivl_shards import Made, UserError
from shapes_gen.coloured import COLOURED, ColouredRecipe
from shapes_gen.toy import TOY, ToyRecipe

__all__ = ["COLOURED", "TOY", "ColouredRecipe", "ToyRecipe", "generate"]


def generate(recipe: ColouredRecipe | ToyRecipe, out: Path | str, **options: Any) -> Made:
    """Make the dataset; `ivl_shards.generate` has the options (workers, dask, overwrite …)."""
    if isinstance(recipe, ColouredRecipe):
        return ivl_shards.generate(COLOURED, recipe, out, **options)
    if isinstance(recipe, ToyRecipe):
        return ivl_shards.generate(TOY, recipe, out, **options)
    raise UserError(f"{type(recipe).__name__} is not a recipe of shapes-gen")
