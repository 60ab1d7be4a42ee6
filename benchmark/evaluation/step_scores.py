"""Step scores: how far a model comes, where it goes wrong, and when it stops.

All of it follows from the ground truth and from what was found at each step, whoever found it.
docs/PROTOCOL.md has the definitions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmark.evaluation.metrics import Score, accuracy, ratio
from benchmark.evaluation.predictions import FoundStep, RowPrediction
from benchmark.tasks.task import ReadingTask, Task
from ivl_shards import Sample
from ivl_shards.format.schema import Array

# A step has found a line if its quad overlaps the line's by this much, as intersection over union.
_FOUND_OVERLAP = 0.5
# Radius of an object of unknown size, over the width of the memory's peaks.
_RADIUS_SIGMAS = 2.0


@dataclass(frozen=True)
class TrueLines:
    """The lines of a sample, in reading order."""

    texts: tuple[str, ...]
    quads: Array | None = None  # (T, 4, 2), where they are known


@dataclass(frozen=True)
class TrueObjects:
    """The objects of a sample."""

    centres: Array  # (K, 2)
    quads: Array | None = None  # (K, 4, 2), where they are known
    radii: Array | None = None  # (K,), where quads are not known


@dataclass(frozen=True)
class Outcome:
    """The steps of one sample, compared with its ground truth."""

    length: int
    """Number of lines or objects there are."""
    right: tuple[bool, ...]
    """Whether each step that was taken is right."""
    found: tuple[int | None, ...]
    """Which line or object each step found; None: none."""
    overlaps: tuple[float, ...] | None = None
    """Reading: intersection over union of the quad of step t and line t; None: no quads."""
    distances: tuple[float, ...] = ()
    """Counting: distances in pixels of the points from the centres of what they found."""

    @property
    def distinct(self) -> int:
        """The number of lines or objects that were found at all."""
        return len({each for each in self.found if each is not None})

    @property
    def repeats(self) -> int:
        """The number of steps that found a line or object again."""
        return sum(each is not None for each in self.found) - self.distinct


ByStep = dict[int, Score]
"""Scores by the number of the step, from 1 on."""


@dataclass(frozen=True)
class StepScores:
    """Scores of single steps, in per cent unless stated otherwise."""

    survival: ByStep
    """Samples whose first t steps are all right, of those with t lines or objects."""
    accuracy: ByStep
    """Samples whose step t is right, with the model's own memory."""
    stopped_right: Score
    stopped_early: Score
    stopped_late: Score
    precision: Score
    """Steps that found a line or object for the first time, of all steps."""
    recall: Score
    """Lines or objects that were found, of all."""
    repeats: Score
    """Steps that found one again, of all steps."""
    omissions: Score
    """Lines or objects that were never found, of all."""
    overlap: ByStep = field(default_factory=dict)
    """Reading, with quads: mean intersection over union of the quad of step t and line t."""
    distance: Score | None = None
    """Counting: mean distance in pixels of a point from the centre of the object it found."""
    true_survival: ByStep = field(default_factory=dict)
    """Survival where every step is given the true memory; empty: not measured."""
    true_accuracy: ByStep = field(default_factory=dict)
    """Accuracy of step t given the true memory; empty: not measured."""
    true_stop: Score | None = None
    """Samples in which the model stops, given the true memory of all lines or objects."""


def true_steps(task: Task, labels: Sample) -> TrueLines | TrueObjects:
    """Return what the steps of a sample are compared with; its image is not needed."""
    if isinstance(task, ReadingTask):
        try:
            quads: Array | None = task.line_quads(labels)
        except KeyError:  # a task of a third party may need the image for them
            quads = None
        return TrueLines(tuple(task.line_texts(labels)), quads)
    centres = labels["centres"]
    if "quads" in labels:
        return TrueObjects(centres, quads=labels["quads"])
    if "box" in labels:
        return TrueObjects(centres, quads=box_quads(labels["box"]))
    if "object_size" in labels:
        return TrueObjects(centres, radii=labels["object_size"] / 2)
    radius = _RADIUS_SIGMAS * float(labels["sigma"])
    return TrueObjects(centres, radii=np.full(len(centres), radius))


def box_quads(boxes: Array) -> Array:
    """Return boxes (N, 4), x0, y0, x1, y1, as quads (N, 4, 2), clockwise from the upper left."""
    return np.asarray(boxes)[:, [0, 1, 2, 1, 2, 3, 0, 3]].astype(float).reshape(-1, 4, 2)


def compare_steps(truth: TrueLines | TrueObjects, steps: Sequence[FoundStep]) -> Outcome:
    """Compare the steps of one sample with its ground truth."""
    if isinstance(truth, TrueLines):
        return compare_lines(truth, steps)
    return compare_objects(truth, steps)


def compare_lines(truth: TrueLines, steps: Sequence[FoundStep]) -> Outcome:
    """Compare the steps of a reader with the lines.

    Step t is right if its text is that of line t, to the letter.

    >>> compare_lines(TrueLines(("a", "b", "c")), [FoundStep(t) for t in "aab"])
    Outcome(length=3, right=(True, False, False), found=(0, 0, 1), overlaps=None, distances=())
    """
    texts = truth.texts
    right = tuple(t < len(texts) and step.text == texts[t] for t, step in enumerate(steps))
    overlaps = None
    if truth.quads is not None and any(step.quad is not None for step in steps):
        overlaps = quad_overlaps([step.quad for step in steps], truth.quads)
    found: list[int | None] = []
    for t, step in enumerate(steps):
        if right[t]:
            found.append(t)
        elif overlaps is not None and step.quad is not None:
            best = int(overlaps[t].argmax()) if len(texts) else 0
            close = len(texts) > 0 and overlaps[t, best] >= _FOUND_OVERLAP
            found.append(best if close else None)
        else:
            found.append(_line_with_text(texts, step.text, found))
    own = None
    if overlaps is not None:
        own = tuple(float(overlaps[t, t]) for t in range(min(len(steps), len(texts))))
    return Outcome(len(texts), right, tuple(found), own)


def _line_with_text(
    texts: Sequence[str], text: str | None, found: Sequence[int | None]
) -> int | None:
    """Return the first line with that text, if there is one that was not found yet."""
    same = [k for k, each in enumerate(texts) if each == text]
    return next((k for k in same if k not in found), same[0] if same else None)


def compare_objects(truth: TrueObjects, steps: Sequence[FoundStep]) -> Outcome:
    """Compare the steps of a counter with the objects.

    A step is right if its point lies on an object that no earlier step has found. Of objects
    that overlap, a point belongs to the one whose centre is nearest.
    """
    found: list[int | None] = []
    right, distances = [], []
    for step in steps:
        k = object_at(truth, step.point)
        right.append(k is not None and k not in found)
        found.append(k)
        if k is not None and step.point is not None:
            distances.append(float(np.hypot(*(truth.centres[k] - step.point))))
    return Outcome(len(truth.centres), tuple(right), tuple(found), None, tuple(distances))


def object_at(truth: TrueObjects, point: tuple[float, float] | None) -> int | None:
    """Return the object that a point lies on, the one with the nearest centre if several."""
    if point is None or not len(truth.centres):
        return None
    distances = np.hypot(*(truth.centres - np.array(point)).T)  # (K,)
    if truth.quads is not None:
        inside = _inside(truth.quads, point)
    else:
        assert truth.radii is not None
        inside = distances <= truth.radii
    k = int(np.where(inside, distances, np.inf).argmin())
    return k if inside[k] else None


def _inside(quads: Array, point: tuple[float, float]) -> Array:
    """Tell which convex quads (N, 4, 2) a point lies in or on the edge of, (N,)."""
    x, y = np.moveaxis(quads.astype(float) - point, 2, 0)  # (N, 4) each
    # The sign tells on which side of an edge the point is.
    sides = x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)
    within: Array = (sides >= 0).all(1) | (sides <= 0).all(1)
    return within


def quad_overlaps(found: Sequence[Any], true: Array) -> Array:
    """Return the intersection over union of quads found and true ones, (N, T).

    `found` has four corners (x, y) each, or None, which overlaps nothing. Quads that are not
    convex count as their convex hull.

    >>> line = [(0, 0), (4, 0), (4, 2), (0, 2)]
    >>> quad_overlaps([line, None], np.array([line, [(2, 0), (6, 0), (6, 2), (2, 2)]])).round(2)
    array([[1.  , 0.33],
           [0.  , 0.  ]])
    """
    import shapely  # most commands do not need it

    overlaps = np.zeros((len(found), len(true)))
    rows = [k for k, quad in enumerate(found) if quad is not None]
    if not rows or not len(true):
        return overlaps
    ours = np.array([found[k] for k in rows], float)
    # Most pairs are far apart, which their bounding boxes tell at once.
    low = np.maximum(ours.min(1)[:, None], true.min(1))
    high = np.minimum(ours.max(1)[:, None], true.max(1))  # (R, T, 2)
    i, j = np.nonzero((low < high).all(2))
    hulls = [shapely.convex_hull(shapely.multipoints(each)) for each in (ours, true)]
    first, second = hulls[0][i], hulls[1][j]
    shared = shapely.area(shapely.intersection(first, second))
    union = shapely.area(first) + shapely.area(second) - shared
    overlaps[np.array(rows)[i], j] = shared / np.maximum(union, 1e-9)
    return overlaps


def score_steps(outcomes: Sequence[Outcome]) -> StepScores:
    """Return the scores of all samples of a test set."""
    lengths = [each.length for each in outcomes]
    taken = [len(each.found) for each in outcomes]
    stops = [n - length for n, length in zip(taken, lengths, strict=True)]
    missed = ratio([each.length - each.distinct for each in outcomes], lengths)
    distances = [each.distances for each in outcomes]
    return StepScores(
        survival=_survival(lengths, [each.right for each in outcomes]),
        accuracy=_accuracy(lengths, [each.right for each in outcomes]),
        stopped_right=accuracy([n == 0 for n in stops]),
        stopped_early=accuracy([n < 0 for n in stops]),
        stopped_late=accuracy([n > 0 for n in stops]),
        precision=ratio([each.distinct for each in outcomes], taken),
        recall=_mapped(missed, lambda value: 100 - value),
        repeats=ratio([each.repeats for each in outcomes], taken),
        omissions=missed,
        overlap=_overlap(outcomes),
        distance=_mean_distance(distances) if any(distances) else None,
    )


def with_true_memory(
    scores: StepScores, right: Sequence[Sequence[bool]], stopped: Sequence[bool]
) -> StepScores:
    """Add scores of steps that were given the true memory.

    `right` tells of each line or object of each sample whether its step was right; `stopped`
    tells of each sample whether the model stopped after the last one.
    """
    lengths = [len(each) for each in right]
    return replace(
        scores,
        true_survival=_survival(lengths, right),
        true_accuracy=_accuracy(lengths, right),
        true_stop=accuracy(stopped),
    )


def _survival(lengths: Sequence[int], right: Sequence[Sequence[bool]]) -> ByStep:
    def survives(each: Sequence[bool], t: int) -> bool:
        return len(each) >= t and all(each[:t])

    return _by_step(lengths, right, survives)


def _accuracy(lengths: Sequence[int], right: Sequence[Sequence[bool]]) -> ByStep:
    def is_right(each: Sequence[bool], t: int) -> bool:
        return len(each) >= t and each[t - 1]

    return _by_step(lengths, right, is_right)


def _by_step(
    lengths: Sequence[int],
    right: Sequence[Sequence[bool]],
    holds: Callable[[Sequence[bool], int], bool],
) -> ByStep:
    """Return the share of samples that something holds for, of those with t lines or objects."""
    pairs = list(zip(lengths, right, strict=True))
    return {
        t: accuracy([holds(each, t) for length, each in pairs if length >= t])
        for t in range(1, max(lengths, default=0) + 1)
    }


def _overlap(outcomes: Sequence[Outcome]) -> ByStep:
    """Return the mean overlap of step t over the samples that took it and have a line t."""
    # A sample without any quad among others with them overlaps nothing.
    if all(each.overlaps is None for each in outcomes):
        return {}
    known = [each.overlaps or (0.0,) * min(len(each.found), each.length) for each in outcomes]
    columns = {t: [each[t - 1] for each in known if len(each) >= t] for t in _upto(known)}
    return {t: ratio(values, [1] * len(values)) for t, values in columns.items()}


def _upto(known: Sequence[Sequence[float]]) -> range:
    return range(1, max(map(len, known), default=0) + 1)


def _mean_distance(distances: Sequence[Sequence[float]]) -> Score:
    mean = ratio([sum(each) for each in distances], [len(each) for each in distances])
    return _mapped(mean, lambda value: round(value / 100, 4))  # `ratio` is in per cent


def _mapped(score: Score, change: Callable[[float], float]) -> Score:
    """Return a score whose values went through a monotonic function."""
    low, high = sorted((change(score.low), change(score.high)))
    return Score(round(change(score.value), 4), round(low, 4), round(high, 4), score.samples)


def steps_of(
    task: Task, labels: Sequence[Sample], rows: Sequence[RowPrediction]
) -> StepScores | None:
    """Return the step scores of predictions; None unless all of them have steps."""
    if not rows or any(each.steps is None for each in rows):
        return None
    return score_steps(
        [
            compare_steps(true_steps(task, sample), each.steps or ())
            for sample, each in zip(labels, rows, strict=True)
        ]
    )
