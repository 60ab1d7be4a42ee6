"""Tasks: a dataset to train and test on, and how models are scored on it."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from benchmark.evaluation.metrics import Metric, Prediction
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array

Kind = Literal["reading", "counting"]


@dataclass(frozen=True)
class Split:
    """A dataset of a task: how many samples of which lengths."""

    name: str
    counts: tuple[int, ...]
    total: int
    """0: as many as the source has."""
    dataset: str = ""
    """The `task` attribute of its shards, where that is not the task's own."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A dataset to train and test on; see `ReadingTask` and `CountingTask`."""

    kind: ClassVar[Kind]
    unit: ClassVar[str]
    """What the length of a sequence counts: lines or objects."""

    name: str
    title: str
    dataset: str
    """The `task` attribute of its shards."""
    train: Split
    test: Split
    val: Split | None = None
    """The samples that choices are made on, with lengths beyond those of the training. With
    `val_group`, only those count that a training has not seen. None: the samples that the training
    holds out."""
    channels: int
    """Channels of the images: 1 or 3."""
    metrics: tuple[Metric, ...]
    """The most important one first."""
    generate: Callable[[Split, int, Path, Path], None]
    """Split, seed, file to write, data folder → write the dataset."""
    recipe: Callable[[Split, int], dict[str, Any]]
    """Split, seed → what the recipe of a generated dataset must say, to notice a stale one."""
    photographs: bool = False
    """Whether the images are, or look like, photographs: models are larger then."""
    synthetic: Split | None = None
    """Synthetic samples for training; a preset says which fraction of a batch they are."""
    val_fraction: float = 0.05
    """Fraction of the training samples (or of their groups) held out, for the validation loss."""
    val_group: str | None = None
    """The field to split by: samples with the same value, such as crops of one photograph, are
    either all trained on or all held out."""
    image_field: str = ""
    """The field that says which photograph a sample was cut from: confidence intervals draw
    photographs then. Empty: samples are independent."""
    standard: Mapping[str, str] = field(default_factory=dict)
    """The standard test sets, whose results compare: content checksum → what it is. Empty: none
    is recorded."""
    source_differences: Callable[[Dataset], list[str]] | None = None
    """Return in what a test set differs from the standard one that `recipe` does not state, such
    as the fonts, as far as the file says it."""
    subsets: Callable[[Dataset], Mapping[str, Array]] | None = None
    """Return parts of a test set that get a column of their own in tables, such as samples that are
    hard to see: name → which samples, (N,)."""
    group_scores_by: str = ""
    """The field that scores are grouped by, where that is not the length."""
    preprocess: Callable[[Sample, np.random.Generator | None, Dataset | None], Sample] | None = None
    """Turn a sample into what models see. In training it also gets random numbers and the whole
    training set, and augments the sample."""
    canvas: tuple[int, int] | None = None
    """Height and width of all images after `preprocess`; None: they keep their own."""

    @property
    def metric(self) -> Metric:
        """The most important metric."""
        return self.metrics[0]

    @abstractmethod
    def truth(self, sample: Sample) -> Prediction:
        """Return the ground truth that a prediction is compared with."""

    @abstractmethod
    def prediction(self, outputs: Sequence[str]) -> Prediction:
        """Return the prediction of an inductive model that took these steps."""


@dataclass(frozen=True, kw_only=True)
class ReadingTask(Task):
    """Lines of symbols to read, from top to bottom."""

    kind = "reading"
    unit = "lines"

    alphabet: str
    """All symbols that a line can contain."""
    alphabet_note: str = ""
    """What the symbols stand for, where they are not what one sees."""
    line_texts: Callable[[Sample], list[str]]
    """Return the text of each line of a sample."""
    line_quads: Callable[[Sample], Array]
    """Return the corners of each line, (T, 4, 2), clockwise from the upper left."""
    words: Callable[[Sample], tuple[list[str], Array]] | None = None
    """Return the words of a sample and their corners, (W, 4, 2), where they are known."""
    letterbox: tuple[int, int] | None = None
    """Height and width of the canvas that pictures of any size are letterboxed to; None: they
    are read at their own size."""
    test_scales: tuple[float, ...] = ()
    """Scales at which an image is read, over the largest that fits the canvas, where the height
    of its lines is unknown. Inductive models find lines at all of them."""

    def truth(self, sample: Sample) -> Prediction:
        return self.line_texts(sample)

    def prediction(self, outputs: Sequence[str]) -> Prediction:
        return list(outputs)


@dataclass(frozen=True, kw_only=True)
class CountingTask(Task):
    """Objects to count, in any order."""

    kind = "counting"
    unit = "objects"

    def truth(self, sample: Sample) -> Prediction:
        return sample.length

    def prediction(self, outputs: Sequence[str]) -> Prediction:
        return len(outputs)
