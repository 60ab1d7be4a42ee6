"""Toy shapes: lines of five shapes to read, trained on three lines (the paper's appendix)."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmark.tasks.task import Part, Task
from ivl_shards.format.schema import Array
from shapes_gen import ToyRecipe, generate

# One letter for each class of the dataset, in its order: square, triangle, circle; large ones
# are capitals.
_LETTERS = "stcSTC"


def make(part: Part, seed: int, out: Path, data: Path) -> None:
    """Make a part of the dataset."""
    generate(ToyRecipe(part.counts, part.total, seed=seed, split=part.split), out)


def line_texts(sample: Any) -> list[str]:
    """The shapes of each line as letters."""
    return ["".join(_LETTERS[k] for k in line) for line in sample["label"]]


def line_quads(sample: Any) -> Array:
    """The corners of each line's box."""
    x0, y0, x1, y1 = np.moveaxis(sample["line_box"].astype(np.float32), 1, 0)
    return np.stack([x0, y0, x1, y0, x1, y1, x0, y1], axis=1).reshape(-1, 4, 2)


TOY_SHAPES = Task(
    name="toy-shapes",
    title="Toy Shapes",
    kind="reading",
    made_by="toy-shapes",
    train=Part("train", (3,), 2000),
    test=Part("test", (*range(1, 11), 15, 20), 200 * 12),
    channels=1,
    metrics=("edit distance",),
    make=make,
    alphabet=_LETTERS,
    symbols="s, t, c are a small square, triangle and circle; capitals are large ones",
    line_texts=line_texts,
    line_quads=line_quads,
)
