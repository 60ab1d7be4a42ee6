"""Shapes to count and shapes to read: the two datasets that need no outside data.

from shapes_gen import ToyRecipe, generate, stream

generate(ToyRecipe(counts=(3,), total=2000, split="train"), "train.h5")
for sample in stream(ToyRecipe(counts=(3,), total=10)):
    sample.image, sample["label"], sample.memory(1)
"""

from typing import Any

import ivl_shards
from ivl_shards import Generator, Made, UserError
from ivl_shards.generation.stream import Stream
from ivl_shards.remote import Location
from shapes_gen.coloured import COLOURED, ColouredRecipe
from shapes_gen.toy import TOY, ToyRecipe

__all__ = ["COLOURED", "TOY", "ColouredRecipe", "ToyRecipe", "generate", "stream"]


def generate(recipe: ColouredRecipe | ToyRecipe, out: Location | str, **options: Any) -> Made:
    """Generate a dataset; for the options (workers, dask, …) see `ivl_shards.generate`."""
    return ivl_shards.generate(_generator(recipe), recipe, out, **options)


def stream(recipe: ColouredRecipe | ToyRecipe) -> Stream:
    """Return the samples of a dataset one by one, without files and without end."""
    return Stream(_generator(recipe), recipe)


def _generator(recipe: ColouredRecipe | ToyRecipe) -> Generator:
    if isinstance(recipe, ColouredRecipe):
        return COLOURED
    if isinstance(recipe, ToyRecipe):
        return TOY
    raise UserError(f"{type(recipe).__name__} is not a recipe of shapes-gen")
