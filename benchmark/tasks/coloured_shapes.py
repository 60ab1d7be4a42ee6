"""Coloured shapes: objects to count, trained on three to five (section 4.2 of the paper).

The hard variant is ours: on the paper's images the number of distinct colours is the count.
"""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmark.evaluation.metrics import EXACT_COUNTS
from benchmark.tasks.task import CountingTask, Split
from shapes_gen import ColouredRecipe, generate


def _recipe(split: Split, seed: int, hard: bool) -> ColouredRecipe:
    size = 128 if max(split.counts) <= 20 else 512  # more objects need a larger canvas
    return ColouredRecipe(
        split.counts, split.total, seed=seed, split=split.name, size=size, hard=hard
    )


def recipe(split: Split, seed: int, hard: bool = False) -> dict[str, Any]:
    """Return the recipe of a split."""
    return asdict(_recipe(split, seed, hard))


def generate_split(split: Split, seed: int, out: Path, data: Path, hard: bool = False) -> None:
    """Generate a split of the dataset."""
    generate(_recipe(split, seed, hard), out)


COLOURED_SHAPES = CountingTask(
    name="coloured-shapes",
    title="Coloured Shapes",
    dataset="coloured-shapes",
    train=Split("train", (3, 4, 5), 10_000),
    test=Split("test", tuple(range(3, 11)), 200 * 8),
    val=Split("val", tuple(range(3, 11)), 100 * 8),
    channels=3,
    metrics=(EXACT_COUNTS,),
    generate=generate_split,
    recipe=recipe,
    standard={
        "7224455c2ce0e73b8af619493fd552245c3f69800a7a19ad853cd77a4c5c9463": (
            "3–10 objects, 200 samples of each"
        ),
    },
)

COLOURED_SHAPES_HARD = replace(
    COLOURED_SHAPES,
    name="coloured-shapes-hard",
    title="Hard Coloured Shapes",
    generate=partial(generate_split, hard=True),
    recipe=partial(recipe, hard=True),
    standard={
        "d612140e6562a9228ffa77ad0d171e1b109b79a43c27fea7aba9c95fd9e9ad5d": (
            "3–10 objects, 200 samples of each"
        ),
    },
)
