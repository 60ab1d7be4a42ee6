"""Toy shapes: lines of five shapes to read, trained on three lines (the paper's appendix).

The variant with a fixed canvas is ours: on the other images the height is the number of lines.
"""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.evaluation.metrics import EDIT_DISTANCE, LINE_COUNT
from benchmark.tasks.task import ReadingTask, Split
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array
from shapes_gen import ToyRecipe, generate

# One letter for each class of the dataset, in its order: square, triangle, circle; capitals are
# large ones.
_LETTERS = "stcSTC"
# Lines that the fixed canvas has space for, also in training: the most of the test set.
_CANVAS_LINES = 20


def _recipe(split: Split, seed: int, fixed: bool) -> ToyRecipe:
    lines = max(_CANVAS_LINES, *split.counts) if fixed else None
    return ToyRecipe(split.counts, split.total, seed=seed, split=split.name, canvas_lines=lines)


def recipe(split: Split, seed: int, fixed: bool = False) -> dict[str, Any]:
    """Return the recipe of a split."""
    return asdict(_recipe(split, seed, fixed))


def generate_split(split: Split, seed: int, out: Path, data: Path, fixed: bool = False) -> None:
    """Generate a split of the dataset."""
    generate(_recipe(split, seed, fixed), out)


def line_texts(sample: Sample) -> list[str]:
    """Return the shapes of each line as letters."""
    return ["".join(_LETTERS[k] for k in line) for line in sample["label"]]


def line_quads(sample: Sample) -> Array:
    """Return the corners of each line's box."""
    x0, y0, x1, y1 = np.moveaxis(sample["line_box"].astype(np.float32), 1, 0)
    return np.stack([x0, y0, x1, y0, x1, y1, x0, y1], axis=1).reshape(-1, 4, 2)


def preprocess(
    sample: Sample, rng: np.random.Generator | None, others: Dataset | None = None
) -> Sample:
    """Return the sample itself; in training its mirror image half of the time.

    All shapes are symmetric, so a mirrored line is a line of the same shapes in reverse order.
    """
    if rng is None or rng.random() < 0.5:
        return sample
    width = sample.image.shape[1]
    x0, y0, x1, y1 = sample["line_box"].T
    mirrored = {
        "image": sample.image[:, ::-1],
        "steps": sample["steps"][:, ::-1],
        "line_box": np.stack([width - x1, y0, width - x0, y1], axis=1),
        "label": sample["label"][:, ::-1],
    }
    return Sample({**sample, **mirrored}, sample.sequence)


TOY_SHAPES = ReadingTask(
    name="toy-shapes",
    title="Toy Shapes",
    dataset="toy-shapes",
    train=Split("train", (3,), 2000),
    test=Split("test", (*range(1, 11), 15, 20), 200 * 12),
    val=Split("val", (*range(1, 11), 15, 20), 100 * 12),
    channels=1,
    metrics=(EDIT_DISTANCE, LINE_COUNT),
    generate=generate_split,
    recipe=recipe,
    standard={
        "fad6e0264090e423ccbc857c0d07a3241a2c8662a40e7d09ac4a1a2fc0dff668": (
            "1–10, 15 and 20 lines, 200 samples of each"
        ),
    },
    alphabet=_LETTERS,
    alphabet_note="s, t, c are a small square, triangle and circle; capitals are large ones",
    line_texts=line_texts,
    line_quads=line_quads,
    preprocess=preprocess,
)

TOY_SHAPES_FIXED = replace(
    TOY_SHAPES,
    name="toy-shapes-fixed",
    title="Toy Shapes on a Fixed Canvas",
    generate=partial(generate_split, fixed=True),
    recipe=partial(recipe, fixed=True),
    standard={
        "a1fcef268cbe99467bab617dccc4137ca2470a4cc99d1f39a87319fd12da4139": (
            "1–10, 15 and 20 lines, 200 samples of each"
        ),
    },
)
