"""Coloured shapes: objects to count, trained on three to five (section 4.2 of the paper)."""

from pathlib import Path

from benchmark.tasks.task import Part, Task
from shapes_gen import ColouredRecipe, generate


def make(part: Part, seed: int, out: Path, data: Path) -> None:
    """Make a part of the dataset; more objects than fit get a larger canvas."""
    size = 128 if max(part.counts) <= 20 else 512
    generate(ColouredRecipe(part.counts, part.total, seed=seed, split=part.split, size=size), out)


COLOURED_SHAPES = Task(
    name="coloured-shapes",
    title="Coloured Shapes",
    kind="counting",
    made_by="coloured-shapes",
    train=Part("train", (3, 4, 5), 10_000),
    test=Part("test", tuple(range(3, 11)), 200 * 8),
    channels=3,
    metrics=("exact counts",),
    make=make,
)
