"""Datasets of a task: found in the data folder, generated where missing, never silently stale."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from benchmark.data.recipes import join_differences, recipe_differences
from benchmark.old_files import OLD_DATASETS
from benchmark.tasks.task import Split, Task
from ivl_shards import UserError, open_dataset
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array
from ivl_shards.generation.recipe import format_counts, require

Scored = Literal["test", "val"]
"""What a model is scored on: the test set, or the validation set."""


@dataclass(frozen=True)
class DataFolder:
    """Where datasets are, and those of the user's own that take the place of a task's."""

    folder: Path
    train: Path | None = None
    test: Path | None = None

    def path(self, task: Task, split: Split) -> Path:
        """Return the file of a split."""
        if split.name == task.train.name and self.train is not None:
            return self.train
        if split.name == task.test.name and self.test is not None:
            return self.test
        standard = split in (task.train, task.test, task.val)
        lengths = f"{format_counts(split.counts)}-{split.total}"
        name = split.name if standard else f"{split.name}-{lengths}"
        return self.folder / f"{task.name}-{name}.h5"

    def open_existing(self, task: Task, split: Split) -> Dataset:
        """Open a split that exists, whatever its recipe: its checksum says what it is."""
        return _open(self.path(task, split), task, split)

    def open(self, task: Task, split: Split, seed: int = 0) -> Dataset:
        """Open a split, and generate it first if it is missing.

        A dataset of another recipe than the task's is refused, unless the user named it.
        """
        path = self.path(task, split)
        if path in (self.train, self.test):
            return _open(path, task, split)
        if not path.exists():
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(
                    f"{self.folder}: cannot be created ({error.strerror}): use another --data"
                ) from None
            task.generate(split, seed, path, self.folder)
            return _open(path, task, split)
        dataset = _open(path, task, split)
        if different := recipe_differences(task.recipe(split, seed), dataset.recipe):
            kind = "--train" if split.name == task.train.name else "--test"
            raise UserError(
                f"{path}: not the dataset of {task.name}: {join_differences(different)}: move it "
                f"away to have it generated, or name it with {kind} {path}"
            )
        return dataset


@dataclass(frozen=True)
class TestSet:
    """The samples that a model is scored on: of the test set, or of the validation set."""

    __test__ = False  # not a class of tests, whatever its name

    data: DataFolder
    counts: tuple[int, ...] | None = None
    """Lengths of the samples; None: the task's own test set."""
    n: int = 200
    """Samples of each length, where `counts` are given."""
    split: Scored = "test"

    def open(self, task: Task) -> Dataset:
        """Open the test set of a task, or one of these lengths, or the validation set."""
        if self.split == "val":
            alone = self.counts is None and self.data.test is None
            require(alone, "--split val: leave --lines, --counts and --test out")
            return open_validation(task, self.data)
        if self.data.test is not None:
            require(self.counts is None, "--lines, --counts: leave them out with --test")
            return self.data.open(task, task.test)
        if not task.test.total:
            message = f"{task.name} is tested on all there is: leave --lines out"
            require(self.counts is None, message)
            return self.data.open(task, task.test)
        lengths = task.test.counts if self.counts is None else self.counts
        total = self.n * len(lengths)
        standard = (lengths, total) == (task.test.counts, task.test.total)
        split = task.test if standard else Split(task.test.name, lengths, total)
        return self.data.open(task, split)


def _open(path: Path, task: Task, split: Split) -> Dataset:
    dataset = open_dataset(path)
    found = dataset.attributes["task"]
    if OLD_DATASETS.get(found, found) != (split.dataset or task.dataset):
        raise UserError(f"{path}: holds {found}, not {task.name}: move it away or use --data")
    return dataset


def split_validation(task: Task, dataset: Dataset) -> tuple[Dataset, Dataset]:
    """Return the samples to train on, and those held out for the validation loss."""
    if task.val_group is None:
        kept = len(dataset) - max(1, round(task.val_fraction * len(dataset)))
        return dataset[:kept], dataset[kept:]
    names = np.unique(dataset.column(task.val_group))
    count = max(1, round(task.val_fraction * len(names)))
    held_out = _shuffled(names)[:count]
    return leave_out(dataset, task.val_group, held_out), select(dataset, task.val_group, held_out)


def open_validation(task: Task, data: DataFolder) -> Dataset:
    """Open the validation set: samples that a training on the task's training set has not seen."""
    if task.val is not None and task.val_group is None:
        return data.open(task, task.val)
    trained, held_out = split_validation(task, data.open(task, task.train))
    if task.val is None or task.val_group is None:
        return held_out
    seen = np.unique(trained.column(task.val_group))
    return leave_out(data.open(task, task.val), task.val_group, seen)


@dataclass(frozen=True)
class Folds:
    """The groups of a task's samples, such as photographs, divided for cross-validation."""

    field: str
    """The field that says which group a sample belongs to."""
    names: tuple[Array, ...]
    """The groups of each fold."""
    val: Dataset
    """The samples that are scored, of all folds."""


def open_folds(task: Task, data: DataFolder, folds: int) -> Folds:
    """Divide the groups of the training and validation samples into folds."""
    if task.val_group is None or task.val is None:
        raise UserError(
            f"{task.name}: is not cross-validated, because its samples are generated: use "
            "ivl-bench run --split val"
        )
    train, val = data.open(task, task.train), data.open(task, task.val)
    names = np.unique(np.concatenate([each.column(task.val_group) for each in (train, val)]))
    message = f"--folds {folds}: there are {len(names)} groups ({task.val_group}) to divide"
    require(folds <= len(names), message)
    divided = tuple(_shuffled(names)[fold::folds] for fold in range(folds))
    return Folds(task.val_group, divided, val)


def select(dataset: Dataset, field: str, names: Array) -> Dataset:
    """Return the samples whose field has one of these values."""
    return dataset[np.flatnonzero(np.isin(dataset.column(field), names))]


def leave_out(dataset: Dataset, field: str, names: Array) -> Dataset:
    """Return the samples whose field has none of these values."""
    return dataset[np.flatnonzero(~np.isin(dataset.column(field), names))]


def _shuffled(names: Array) -> Array:
    """Return sorted names in a random order, always the same."""
    return np.random.default_rng(0).permutation(names)
