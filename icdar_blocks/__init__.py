"""Text blocks out of the scenes of ICDAR 2013, and the grouping for any words in boxes.

from icdar_blocks import generate, group, group_split, plan_dataset

blocks = group([(60, 0, 90, 20, "gap"), (0, 1, 50, 21, "Mind")])
generate(plan_dataset(group_split("ICDAR2013", "test")), "blocks.h5")
"""

from typing import Any

import ivl_shards
from icdar_blocks.card import LICENCE, NAME, metadata
from icdar_blocks.extract import schema, size, start
from icdar_blocks.grouping import group, lines_to_blocks, words_to_lines
from icdar_blocks.plan import Grouped, Plan, group_split, plan_dataset
from icdar_blocks.recipe import IcdarRecipe
from icdar_blocks.rule import LITERAL, PUBLISHED, Rule
from icdar_blocks.words import Block, Line, Word
from ivl_shards import Generator, Made
from ivl_shards.remote import Location

ICDAR = Generator(
    name=NAME,
    version="2",
    task="icdar-blocks",
    licence=LICENCE,
    schema=schema,
    size=size,
    start=start,
    metadata=metadata,
)

__all__ = [
    "ICDAR",
    "LITERAL",
    "PUBLISHED",
    "Block",
    "Grouped",
    "IcdarRecipe",
    "Line",
    "Plan",
    "Rule",
    "Word",
    "generate",
    "group",
    "group_split",
    "lines_to_blocks",
    "plan_dataset",
    "words_to_lines",
]


def generate(plan: Plan, out: Location | str, **options: Any) -> Made:
    """Generate a dataset; for the options (workers, dask, …) see `ivl_shards.generate`."""
    return ivl_shards.generate(ICDAR, plan.recipe, out, source=plan.source, **options)
