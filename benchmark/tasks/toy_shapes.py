"""Toy shapes: lines of five shapes to read, trained on three lines (the paper's appendix)."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.evaluation.metrics import EDIT_DISTANCE
from benchmark.tasks.task import ReadingTask, Split
from ivl_shards import Sample
from ivl_shards.format.schema import Array
from shapes_gen import ToyRecipe, generate

# One letter for each class of the dataset, in its order: square, triangle, circle; capitals are
# large ones.
_LETTERS = "stcSTC"


def _recipe(split: Split, seed: int) -> ToyRecipe:
    return ToyRecipe(split.counts, split.total, seed=seed, split=split.name)


def recipe(split: Split, seed: int) -> dict[str, Any]:
    """Return the recipe of a split as it is stored."""
    stored: dict[str, Any] = json.loads(_recipe(split, seed).to_json())
    return stored


def generate_split(split: Split, seed: int, out: Path, data: Path) -> None:
    """Generate a split of the dataset."""
    generate(_recipe(split, seed), out)


def line_texts(sample: Sample) -> list[str]:
    """Return the shapes of each line as letters."""
    return ["".join(_LETTERS[k] for k in line) for line in sample["label"]]


def line_quads(sample: Sample) -> Array:
    """Return the corners of each line's box."""
    x0, y0, x1, y1 = np.moveaxis(sample["line_box"].astype(np.float32), 1, 0)
    return np.stack([x0, y0, x1, y0, x1, y1, x0, y1], axis=1).reshape(-1, 4, 2)


TOY_SHAPES = ReadingTask(
    name="toy-shapes",
    title="Toy Shapes",
    dataset="toy-shapes",
    train=Split("train", (3,), 2000),
    test=Split("test", (*range(1, 11), 15, 20), 200 * 12),
    channels=1,
    metrics=(EDIT_DISTANCE,),
    generate=generate_split,
    recipe=recipe,
    alphabet=_LETTERS,
    alphabet_note="s, t, c are a small square, triangle and circle; capitals are large ones",
    line_texts=line_texts,
    line_quads=line_quads,
)
