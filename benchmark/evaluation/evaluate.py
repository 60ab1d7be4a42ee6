"""Evaluate a model: its predictions for a test set, and its scores by length."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmark.data.batches import make_batch
from benchmark.evaluation.metrics import Pair, Prediction, Score
from benchmark.evaluation.predictions import RowPrediction
from benchmark.models.contract import Model
from benchmark.reading.multi_scale import read_at_scales, reads_at_scales
from benchmark.tasks.task import ReadingTask, Task
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
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
    for rows in _groups(task, dataset):
        samples = [dataset[row] for row in rows]
        found += map(RowPrediction, rows, predict(task, model, samples, device))
        report(len(rows))
    return sorted(found, key=lambda each: each.row)


def score_predictions(
    task: Task, dataset: Dataset, found: Sequence[RowPrediction], begun: float
) -> Evaluation:
    """Score predictions, whoever made them; `begun` is the monotonic time when that began."""
    ordered = sorted(found, key=lambda each: each.row)
    pairs = [
        Predicted(each.row, each.prediction, task.truth(dataset.labels(each.row)))
        for each in ordered
    ]
    field = task.group_scores_by
    lengths = dataset.column(field) if field else dataset.lengths
    return Evaluation(score(task, lengths, pairs), pairs, time.monotonic() - begun)


def predict(
    task: Task, model: Model, samples: list[Sample], device: torch.device
) -> list[Prediction]:
    """Return the predictions for samples of one size; images with lines of unknown height are
    read at several scales."""
    if (
        isinstance(task, ReadingTask)
        and task.test_scales
        and task.letterbox
        and reads_at_scales(model)
    ):
        size, scales = task.letterbox, task.test_scales
        return [[*read_at_scales(model, s.image, size, scales).texts] for s in samples]
    return model.predict(make_batch(task, samples, []).images.to(device))


def score(task: Task, lengths: Any, predictions: Sequence[Predicted]) -> Scores:
    """Return the task's metrics by length; where there are several, over all samples as well."""
    found: dict[int, list[Pair]] = defaultdict(list)
    for each in predictions:
        found[int(lengths[each.row])].append((each.prediction, each.truth))
    columns: dict[Column, list[Pair]] = {n: found[n] for n in sorted(found)}
    if len(task.metrics) > 1:
        columns["all"] = [pair for n in found for pair in found[n]]
        if several := [pair for n in found if n > 1 for pair in found[n]]:
            columns["2+"] = several  # the paper's "overall" of ICDAR blocks
    return {
        metric.name: {column: metric.compute(pairs) for column, pairs in columns.items()}
        for metric in task.metrics
    }


def _groups(task: Task, dataset: Dataset) -> Iterator[list[int]]:
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
