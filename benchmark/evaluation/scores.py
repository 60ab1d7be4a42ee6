"""Evaluation: a model's answers to a test set, and its scores by length."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from benchmark.data.batches import make_batch
from benchmark.evaluation.metrics import (
    Score,
    Words,
    accuracy,
    edit_distance,
    f_score,
    precision,
    recall,
)
from benchmark.models import Model
from benchmark.reading.pages import read_page, reads_pages
from benchmark.tasks import Answer, Task
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.progress import Report, no_report

# Pixels of a batch: as many images as that makes.
_PIXELS = 1 << 20

# The length of the samples that a score is of, or `all` of them, or those of `2+`.
Column = int | str
Scores = dict[str, dict[Column, Score]]
Pair = tuple[Answer, Answer]


@dataclass(frozen=True)
class Evaluation:
    """What came out."""

    scores: Scores
    """By metric, and by the number of lines or objects."""
    answers: list[tuple[int, Answer, Answer]]
    """Row of the test set, answer, truth."""
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """As it is stored: the first metric by length as `scores`, all of them, where there are
        several, as `metrics`; and the answers that are wrong."""
        wrong = [[row, answer, truth] for row, answer, truth in self.answers if answer != truth]
        metrics = {
            name: {str(n): asdict(score) for n, score in scores.items()}
            for name, scores in self.scores.items()
        }
        first = next(iter(metrics.values()))
        several: dict[str, Any] = {"metrics": metrics} if len(metrics) > 1 else {}
        return {
            "scores": {n: score for n, score in first.items() if n.isdecimal()},
            **several,
            "wrong": wrong[:200],
            "wrong_in_all": len(wrong),
            "seconds": round(self.seconds, 1),
        }


def evaluate(
    task: Task,
    model: Model,
    dataset: Dataset,
    device: torch.device,
    report: Report = no_report,
) -> Evaluation:
    """Ask a model about every image of a test set."""
    begun = time.monotonic()
    model.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    answers: list[tuple[int, Answer, Answer]] = []
    report(0)
    for rows in _groups(task, dataset):
        samples = [dataset[row] for row in rows]
        given = answers_to(task, model, samples, device)
        truths = [true_answer(task, sample) for sample in samples]
        answers += zip(rows, given, truths, strict=True)
        report(len(rows))
    answers.sort(key=lambda answer: answer[0])
    lengths = dataset.column(task.scored_by) if task.scored_by else dataset.lengths
    return Evaluation(score(task, lengths, answers), answers, time.monotonic() - begun)


def answers_to(
    task: Task, model: Model, samples: list[Sample], device: torch.device
) -> list[Answer]:
    """Return what a model says of samples of one size; where the height of lines is not known, it
    reads them in several sizes."""
    if task.zooms and task.page is not None and reads_pages(model):
        return [[*read_page(model, s.image, task.page, task.zooms).texts] for s in samples]
    return model.predict(make_batch(task, samples, []).images.to(device))


def true_answer(task: Task, sample: Any) -> Answer:
    """What a model should answer."""
    if task.kind == "counting":
        return int(sample.length)
    assert task.line_texts is not None
    return task.line_texts(sample)


def score(task: Task, lengths: Any, answers: list[tuple[int, Answer, Answer]]) -> Scores:
    """The task's metrics by length; where there are several, as for words, over all as well."""
    found: dict[int, list[Pair]] = defaultdict(list)
    for row, answer, truth in answers:
        found[int(lengths[row])].append((answer, truth))
    columns: dict[Column, list[Pair]] = {n: found[n] for n in sorted(found)}
    if len(task.metrics) > 1:
        columns["all"] = [pair for n in found for pair in found[n]]
        if several := [pair for n in found if n > 1 for pair in found[n]]:
            columns["2+"] = several  # the paper's "overall" of ICDAR blocks
    return {
        name: {column: METRICS[name](task, pairs) for column, pairs in columns.items()}
        for name in task.metrics
    }


def _exact(task: Task, pairs: list[Pair]) -> Score:
    return accuracy([answer == truth for answer, truth in pairs])


def _edits(task: Task, pairs: list[Pair]) -> Score:
    # The paper's table fits texts whose lines are joined by one character: a model that always
    # reads three lines is 102 of 119 characters off at twenty, its 85.71 %.
    return edit_distance([block_text(a) for a, _ in pairs], [block_text(t) for _, t in pairs])


def _line_count(task: Task, pairs: list[Pair]) -> Score:
    return accuracy([len(_lines(answer)) == len(_lines(truth)) for answer, truth in pairs])


def _by_word(measure: Callable[[list[Words]], Score]) -> Callable[[Task, list[Pair]], Score]:
    def measured(task: Task, pairs: list[Pair]) -> Score:
        return measure([task.match(_lines(answer), _lines(truth)) for answer, truth in pairs])

    return measured


def _lines(answer: Answer) -> list[str]:
    assert isinstance(answer, list)
    return answer


METRICS: dict[str, Callable[[Task, list[Pair]], Score]] = {
    "exact counts": _exact,
    "edit distance": _edits,
    "line count": _line_count,
    "word precision": _by_word(precision),
    "word recall": _by_word(recall),
    "word F": _by_word(f_score),
}
"""What a task can be measured by."""


def block_text(answer: Answer) -> str:
    """The lines of a block as one text.

    >>> block_text(["stc", "CC"])
    'stc\\nCC'
    """
    return "\n".join(answer) if isinstance(answer, list) else str(answer)


def _groups(task: Task, dataset: Dataset) -> Iterator[list[int]]:
    """Rows of images of one size, and of one length so that they take equally many steps."""
    keys = [dataset.lengths]
    if "image_size" in dataset.schema and task.canvas is None:
        keys += list(dataset.column("image_size").T)
    order = np.lexsort(keys)
    table = np.stack(keys, 1)[order]
    ends = np.flatnonzero(np.any(table[1:] != table[:-1], axis=1)) + 1
    for rows in np.split(order, ends):
        height, width = task.canvas or dataset[int(rows[0])].image.shape[:2]
        size = max(1, _PIXELS // (height * width))
        for start in range(0, len(rows), size):
            yield [int(row) for row in rows[start : start + size]]
