"""Count-conditioned crops of DOTA's aerial images (section 4.2 of the paper).

from dota_crops import DotaRecipe, generate

generate(DotaRecipe(counts=(3, 4, 5), total=20_000, split="train", images=100), "train.h5",
         root="data/dota")
"""

from pathlib import Path
from typing import Any

import ivl_shards
from dota_crops.card import LICENCE, metadata
from dota_crops.extract import schema, size, start
from dota_crops.plan import NAME, Plan, make_plan
from dota_crops.recipe import DotaRecipe
from ivl_shards import Generator, Made
from ivl_shards.processes import available_cores
from ivl_shards.remote import Location

DOTA = Generator(
    name=NAME,
    version="3",
    task="dota-planes",
    licence=LICENCE,
    schema=schema,
    size=size,
    start=start,
    metadata=metadata,
)

__all__ = ["DOTA", "DotaRecipe", "Plan", "generate", "make_plan"]


def generate(
    recipe: DotaRecipe,
    out: Location | str,
    *,
    root: Path | str,
    strict: bool = False,
    **options: Any,
) -> Made:
    """Generate a dataset; for the options (workers, dask, …) see `ivl_shards.generate`.

    Where the images cannot give as many crops as the recipe asks for, there are fewer:
    `make_plan(recipe, root).yields` has the number for each count.
    """
    plan = make_plan(recipe, Path(root), strict, options.get("workers") or available_cores())
    return ivl_shards.generate(DOTA, plan.recipe, out, source=plan.source, **options)
