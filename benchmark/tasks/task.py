"""Task: what a model is trained and tested on, and what the paper reached."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark.evaluation.metrics import Words, match_words
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array

Kind = Literal["reading", "counting"]
# What a model answers for one image: the lines it read, or how many objects it counted.
Answer = list[str] | int


@dataclass(frozen=True)
class Part:
    """A dataset of a task: its split, and how many samples of which lengths."""

    split: str
    counts: tuple[int, ...]
    total: int
    """0: as many as there are, which is not ours to choose."""
    made_by: str = ""
    """The `task` that its shards name, where that is not the task's own."""


@dataclass(frozen=True)
class Task:
    """One dataset to train and test on. `benchmark.data.batches` makes its batches."""

    name: str
    title: str
    kind: Kind
    made_by: str
    """The `task` that its shards say they are of."""
    train: Part
    test: Part
    channels: int
    """Of the images: 1 or 3."""
    metrics: tuple[str, ...]
    """What is measured, in per cent: names of `benchmark.evaluation.scores.METRICS`; the first is
    the one to name if there is room for one."""
    make: Callable[[Part, int, Path, Path], None]
    """Part, seed, the file to write, the folder of the data → the dataset is there."""
    synthetic: Part | None = None
    """Synthetic samples for training, of which a preset says how many are mixed with the real
    ones."""
    photographs: bool = False
    """Whether the images are photographs, or like such, not drawings: models are larger then."""
    alphabet: str = ""
    """Reading: all symbols that a line can hold."""
    symbols: str = ""
    """Reading: what the symbols stand for, where they are not what is seen."""
    line_texts: Callable[[Any], list[str]] | None = None
    """Reading: fields of a sample → what each of its lines says."""
    line_quads: Callable[[Any], Array] | None = None
    """Reading: fields of a sample → corners of each of its lines, (T, 4, 2), clockwise from the
    upper left."""
    page: tuple[int, int] | None = None
    """Reading: height and width of the canvas that a picture of any size is laid on; None: it
    is read as large as it is."""
    words: Callable[[Any], tuple[list[str], Array]] | None = None
    """Reading: fields of a sample → its words and their corners, (W, 4, 2), where known."""
    match: Callable[[list[str], list[str]], Words] = match_words
    """Reading: lines said, lines there → how many words are right."""
    scored_by: str = ""
    """The field that scores are grouped by, where that is not the length."""
    held: float = 0.05
    """Share of the training samples (or of their groups) that is never trained on."""
    group: str | None = None
    """A field by which validation samples are kept apart from training ones, for samples of
    one group look alike; by default each sample stands for itself."""
    shown: Callable[[Sample, np.random.Generator | None, Dataset | None], Sample] | None = None
    """A sample → the same as models are to see it; in training, with random numbers and all the
    samples to train on, changed at random in what does not matter."""
    canvas: tuple[int, int] | None = None
    """Height and width that `shown` gives all images; None: they keep their own."""
    zooms: tuple[float, ...] = ()
    """Reading: sizes in which a picture is laid on the canvas, over the largest that fits, where
    the height of its lines is not known. Inductive models find lines in all of them."""

    @property
    def counted(self) -> str:
        """What the length of a sequence counts."""
        return "lines" if self.kind == "reading" else "objects"

    @property
    def length_field(self) -> str:
        """The field that holds the length."""
        return "line_count" if self.kind == "reading" else "object_count"

    @property
    def metric(self) -> str:
        """What is measured first of all."""
        return self.metrics[0]
