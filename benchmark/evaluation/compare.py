"""Compare two models on the samples of one test set, by a paired bootstrap."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmark.evaluation.evaluate import (
    Column,
    score_lengths,
    source_images,
    split_columns,
    subsets_of,
)
from benchmark.evaluation.metrics import (
    Metric,
    Score,
    Tally,
    draw_ratios,
    score_tally,
    sum_by_image,
)
from benchmark.evaluation.predictions import RowPrediction
from benchmark.tasks.task import Task
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array

FEWEST = 6
"""Samples, or photographs, below which no difference is called one: if all of n agree by chance,
which has the probability 2 / 2ⁿ, that is rarer than 5 % only from six on."""


@dataclass(frozen=True)
class Comparison:
    """The scores of two models by one metric at one length."""

    metric: Metric
    column: Column
    first: Score
    second: Score
    difference: float
    """Second minus first, in the metric's unit."""
    low: float
    high: float
    """The 95 % interval of the difference."""

    @property
    def units(self) -> int:
        """The number of what the bootstrap draws: photographs, or else samples."""
        return self.first.samples if self.first.images is None else self.first.images

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes 0, and there are enough samples to rely on that."""
        return self.units >= FEWEST and (self.low > 0 or self.high < 0)

    @property
    def better(self) -> str:
        """The model that is better: `A`, `B`, or neither."""
        if not self.excludes_zero:
            return ""
        return "B" if (self.difference < 0) == self.metric.lower_is_better else "A"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for scripts."""
        return {
            "metric": self.metric.name,
            "length": self.column,
            "a": self.first.to_json(),
            "b": self.second.to_json(),
            **{name: asdict(self)[name] for name in ("difference", "low", "high")},
            "excludes_zero": self.excludes_zero,
            "better": self.better or None,
        }


def compare(
    task: Task,
    dataset: Dataset,
    first: Sequence[RowPrediction],
    second: Sequence[RowPrediction],
) -> list[Comparison]:
    """Compare the predictions of two models for all rows of a test set, in the order of rows.

    Metrics that are no ratio of sums over the samples are left out.
    """
    truth = [task.truth(dataset.labels(row)) for row in range(len(dataset))]
    images = source_images(task, dataset)
    lengths = [int(n) for n in score_lengths(task, dataset)]
    columns = split_columns(task, lengths, subsets_of(task, dataset))
    pairs_of = [
        [(each.prediction, true) for each, true in zip(rows, truth, strict=True)]
        for rows in (first, second)
    ]
    found = []
    for metric in task.metrics:
        a, b = map(metric.compute, pairs_of)
        if isinstance(a, Tally) and isinstance(b, Tally):
            for column, places in columns.items():
                drawn = None if images is None else images[places]
                pair = a.take(places), b.take(places)
                found.append(compare_tallies(metric, column, *pair, drawn))
    return found


def compare_tallies(
    metric: Metric, column: Column, first: Tally, second: Tally, images: Array | None
) -> Comparison:
    """Return the difference of two scores, with an interval that draws the same samples, or the
    same `images`, for both."""
    parts, wholes, _ = sum_by_image([first, second], images)
    a, b = 100 * draw_ratios(parts, wholes)
    low, high = np.percentile(b - a, [2.5, 97.5])
    return Comparison(
        metric,
        column,
        score_tally(first, images),
        score_tally(second, images),
        round(second.value - first.value, 2),
        round(float(low), 2),
        round(float(high), 2),
    )


def comparison_table(task: Task, names: Sequence[str], found: Sequence[Comparison]) -> str:
    """Return tables for a terminal, one for each metric."""
    lines = [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)]
    for metric in dict.fromkeys(each.metric for each in found):
        better = "lower" if metric.lower_is_better else "higher"
        lines += [
            "",
            f"{task.title}: {metric.name} in {metric.unit} by number of {task.unit} "
            f"({better} is better)",
            f"{'':>6}{'A':>9}{'B':>9}{'B − A':>9}  {'95 % interval':<18}{'excludes 0':<22}samples",
        ]
        lines += [_line(each) for each in found if each.metric == metric]
    return "\n".join(lines)


def _line(each: Comparison) -> str:
    span = f"{each.low:+.2f} to {each.high:+.2f}"
    images = f" of {each.first.images:,} images" if each.first.images is not None else ""
    return (
        f"{each.column!s:>6}{each.first.value:>9.2f}{each.second.value:>9.2f}"
        f"{each.difference:>+9.2f}  {span:<18}{_verdict(each):<22}{each.first.samples:,}{images}"
    )


def _verdict(each: Comparison) -> str:
    if each.better:
        return f"yes, {each.better} is better"
    if each.units < FEWEST:
        return f"too few: {each.units} of {FEWEST}"
    return "no"
