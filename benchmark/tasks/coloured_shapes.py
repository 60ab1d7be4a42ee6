"""Coloured shapes: objects to count, trained on three to five (section 4.2 of the paper)."""

import json
from pathlib import Path
from typing import Any

from benchmark.evaluation.metrics import EXACT_COUNTS
from benchmark.tasks.task import CountingTask, Split
from shapes_gen import ColouredRecipe, generate


def _recipe(split: Split, seed: int) -> ColouredRecipe:
    size = 128 if max(split.counts) <= 20 else 512  # more objects need a larger canvas
    return ColouredRecipe(split.counts, split.total, seed=seed, split=split.name, size=size)


def recipe(split: Split, seed: int) -> dict[str, Any]:
    """Return the recipe of a split as it is stored."""
    stored: dict[str, Any] = json.loads(_recipe(split, seed).to_json())
    return stored


def generate_split(split: Split, seed: int, out: Path, data: Path) -> None:
    """Generate a split of the dataset."""
    generate(_recipe(split, seed), out)


COLOURED_SHAPES = CountingTask(
    name="coloured-shapes",
    title="Coloured Shapes",
    dataset="coloured-shapes",
    train=Split("train", (3, 4, 5), 10_000),
    test=Split("test", tuple(range(3, 11)), 200 * 8),
    channels=3,
    metrics=(EXACT_COUNTS,),
    generate=generate_split,
    recipe=recipe,
)
