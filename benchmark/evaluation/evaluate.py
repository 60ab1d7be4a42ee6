"""Evaluate a model: its predictions for a test set, and its scores by length."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from benchmark.data.batches import make_batch
from benchmark.evaluation.found_steps import find_steps
from benchmark.evaluation.metrics import Prediction, Score
from benchmark.evaluation.predictions import FoundStep, RowPrediction
from benchmark.evaluation.step_scores import StepScores, steps_of
from benchmark.models.contract import InductiveModel, Model
from benchmark.reading.multi_scale import ReadStep, read_at_scales, reads_at_scales
from benchmark.tasks.task import ReadingTask, Task
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array
from ivl_shards.progress import Report, no_report

# Pixels of a batch, which decide how many images it has.
_BATCH_PIXELS = 1 << 20

Column = int | str
"""The length of the samples that a score is computed over, or `all` of them, or `2+`."""
Scores = dict[str, dict[Column, Score]]
"""Scores by metric and column."""


@dataclass(frozen=True)
class Predicted:
    """The prediction for one row of a test set, with the ground truth."""

    row: int
    prediction: Prediction
    truth: Prediction


@dataclass(frozen=True)
class Evaluation:
    """Scores, and the predictions that they are computed from."""

    scores: Scores
    predictions: list[Predicted]
    seconds: float
    images: int | None = None
    """The number of photographs that the samples were cut from; None: not known, or not cut."""
    steps: StepScores | None = None
    """None: not all predictions have steps."""


def evaluate(
    task: Task,
    model: Model,
    dataset: Dataset,
    device: torch.device,
    report: Report = no_report,
) -> Evaluation:
    """Predict every sample of a test set, and score the predictions."""
    begun = time.monotonic()
    found = predict_all(task, model, dataset, device, report)
    return score_predictions(task, dataset, found, begun)


def predict_all(
    task: Task,
    model: Model,
    dataset: Dataset,
    device: torch.device,
    report: Report = no_report,
) -> list[RowPrediction]:
    """Predict every sample of a test set."""
    model.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    found: list[RowPrediction] = []
    report(0)
    for rows in row_groups(task, dataset):
        samples = [dataset[row] for row in rows]
        for row, (prediction, steps) in zip(
            rows, predict_steps(task, model, samples, device), strict=True
        ):
            found.append(RowPrediction(row, prediction, steps))
        report(len(rows))
    return sorted(found, key=lambda each: each.row)


def score_predictions(
    task: Task, dataset: Dataset, found: Sequence[RowPrediction], begun: float
) -> Evaluation:
    """Score predictions, whoever made them; `begun` is the monotonic time when that began."""
    ordered = sorted(found, key=lambda each: each.row)
    labels = [dataset.labels(each.row) for each in ordered]
    pairs = [
        Predicted(each.row, each.prediction, task.truth(sample))
        for each, sample in zip(ordered, labels, strict=True)
    ]
    images = source_images(task, dataset)
    scores = score(task, score_lengths(task, dataset), pairs, images, subsets_of(task, dataset))
    count = None if images is None else len(np.unique(images))
    steps = steps_of(task, labels, ordered)
    return Evaluation(scores, pairs, time.monotonic() - begun, count, steps)


def score_lengths(task: Task, dataset: Dataset) -> Array:
    """Return the length that each sample is scored under."""
    field = task.group_scores_by
    return dataset.column(field) if field else dataset.lengths


def subsets_of(task: Task, dataset: Dataset) -> Mapping[str, Array]:
    """Return the parts of a test set that get a column of their own: name → which samples."""
    return {} if task.subsets is None else task.subsets(dataset)


def source_images(task: Task, dataset: Dataset) -> Array | None:
    """Return a number for each sample that says which photograph it is from, or None."""
    if not task.image_field or task.image_field not in dataset.schema:
        return None
    return np.unique(np.ravel(dataset.column(task.image_field)), return_inverse=True)[1]


def predict(
    task: Task, model: Model, samples: list[Sample], device: torch.device
) -> list[Prediction]:
    """Return the predictions for samples of one size."""
    return [prediction for prediction, _ in predict_steps(task, model, samples, device)]


def predict_steps(
    task: Task, model: Model, samples: list[Sample], device: torch.device
) -> list[tuple[Prediction, tuple[FoundStep, ...] | None]]:
    """Return the predictions for samples of one size, with the steps of inductive models.

    Images with lines of unknown height are read at several scales; their steps are the lines that
    remain when these are merged.
    """
    if (
        isinstance(task, ReadingTask)
        and task.test_scales
        and task.letterbox
        and reads_at_scales(model)
    ):
        size, scales = task.letterbox, task.test_scales
        readings = [read_at_scales(model, s.image, size, scales) for s in samples]
        return [([*each.texts], tuple(map(_found_line, each.lines))) for each in readings]
    images = make_batch(task, samples, []).images.to(device)
    # A model with a loop of its own may take other steps.
    if isinstance(model, InductiveModel) and type(model).predict is InductiveModel.predict:
        found = find_steps(model, images)
        if task.canvas is not None:  # places on the canvas are none in the image
            found = [tuple(replace(step, quad=None) for step in steps) for steps in found]
        return [(task.prediction([step.text or "" for step in each]), each) for each in found]
    return [(prediction, None) for prediction in model.predict(images)]


def _found_line(line: ReadStep) -> FoundStep:
    corners = tuple((round(x, 2), round(y, 2)) for x, y in line.quad.tolist())
    return FoundStep(line.text, corners, confidence=round(min(max(line.confidence, 0), 1), 4))


def score(
    task: Task,
    lengths: Any,
    predictions: Sequence[Predicted],
    images: Array | None = None,
    subsets: Mapping[str, Array] | None = None,
) -> Scores:
    """Return the task's metrics by length; where there are several, over all samples as well.

    `images` says which photograph each row of the test set is from, `subsets` which rows have a
    column of their own.
    """
    rows = [each.row for each in predictions]
    parts = {name: mask[rows] for name, mask in (subsets or {}).items()}
    columns = split_columns(task, [int(lengths[row]) for row in rows], parts)
    pairs = [(each.prediction, each.truth) for each in predictions]
    drawn = None if images is None else images[rows]
    return {
        metric.name: dict(
            zip(columns, metric.scores(pairs, list(columns.values()), drawn), strict=True)
        )
        for metric in task.metrics
    }


def split_columns(
    task: Task, lengths: Sequence[int], subsets: Mapping[str, Array]
) -> dict[Column, list[int]]:
    """Return the places of the samples that each column of the task's tables is computed over."""
    found: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        found[length].append(place)
    columns: dict[Column, list[int]] = {n: found[n] for n in sorted(found)}
    if len(task.metrics) > 1:
        columns["all"] = [place for n in found for place in found[n]]
        if several := [place for n in found if n > 1 for place in found[n]]:
            columns["2+"] = several  # the paper's "overall" of ICDAR blocks
    for name, mask in subsets.items():
        if mask.any():
            columns[name] = np.flatnonzero(mask).tolist()
    return columns


def row_groups(task: Task, dataset: Dataset) -> Iterator[list[int]]:
    """Yield the rows of each batch: images of one size, and of one length so that they take equally
    many steps."""
    keys = [dataset.lengths]
    if "image_size" in dataset.schema and task.canvas is None:
        keys += list(dataset.column("image_size").T)
    order = np.lexsort(keys)
    table = np.stack(keys, 1)[order]
    ends = np.flatnonzero(np.any(table[1:] != table[:-1], axis=1)) + 1
    for rows in np.split(order, ends):
        height, width = task.canvas or dataset[int(rows[0])].image.shape[:2]
        size = max(1, _BATCH_PIXELS // (height * width))
        for start in range(0, len(rows), size):
            yield [int(row) for row in rows[start : start + size]]
