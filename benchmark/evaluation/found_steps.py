"""Found steps: where an inductive model found a line or an object at each step of its loop."""

import math

import cv2
import numpy as np
from torch import Tensor

from benchmark.evaluation.inductive_loop import Inductive, run_loop
from benchmark.evaluation.predictions import FoundStep
from benchmark.models.peaks import strongest_peak
from benchmark.models.step import Step
from ivl_shards.format.schema import Array

Corners = tuple[tuple[float, float], ...]
# The true memory of lines is 0 or 1: a line is where the memory grew by more than half.
_MASK_THRESHOLD = 0.5


def find_steps(model: Inductive, images: Tensor) -> list[tuple[FoundStep, ...]]:
    """Run the inductive loop on images (N, C, H, W); return what each step found, and where."""
    found: list[list[FoundStep]] = [[] for _ in images]

    def watch(active: Tensor, memory: Tensor, step: Step) -> None:
        change = model.update(memory, step.delta) - memory
        for i, each in zip(active.tolist(), locate_steps(model.kind, change, step), strict=True):
            found[i].append(each)

    traces = run_loop(model, images, watch=watch)
    # The last step of a loop found nothing, unless it was the last one that was allowed.
    return [tuple(steps[: len(trace.outputs)]) for steps, trace in zip(found, traces, strict=True)]


def locate_steps(kind: str, change: Tensor, step: Step) -> list[FoundStep]:
    """Return what a step of N images found, from the change of their memories, (N, H, W)."""
    change = change.nan_to_num()
    if kind == "counting":
        points = strongest_peak(change).centre.tolist()
        heights = step.delta.amax((1, 2)).tolist()
        return [
            FoundStep(point=_rounded(point), confidence=_confidence(height))
            for point, height in zip(points, heights, strict=True)
        ]
    texts = step.outputs or [""] * len(change)
    masks = (change > _MASK_THRESHOLD).cpu().numpy()
    confidences = [None] * len(texts) if step.confidence is None else step.confidence.tolist()
    return [
        FoundStep(text, mask_quad(mask), confidence=_confidence(value))
        for text, mask, value in zip(texts, masks, confidences, strict=True)
    ]


def mask_quad(mask: Array) -> Corners | None:
    """Return the smallest rectangle around the largest connected part of a mask (H, W).

    The corners are in pixels, clockwise from the upper left; None where the mask is empty.

    >>> mask = np.zeros((6, 8), bool)
    >>> mask[1:3, 2:7] = True
    >>> mask_quad(mask)
    ((2.0, 1.0), (7.0, 1.0), (7.0, 3.0), (2.0, 3.0))
    """
    _, parts, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    if len(stats) < 2:  # the first part is the background
        return None
    largest = 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())
    points = cv2.findNonZero((parts == largest).astype(np.uint8))
    (x, y), (width, height), angle = cv2.minAreaRect(points)
    # Pixel centres lie at + 0.5 for us and at integers for OpenCV, and a pixel has a width.
    return quad_corners(cv2.boxPoints(((x + 0.5, y + 0.5), (width + 1, height + 1), angle)))


def quad_corners(corners: Array) -> Corners:
    """Return the corners of a rectangle (4, 2), clockwise from the upper left."""
    edges = np.roll(corners, -1, 0) - corners
    if edges[0, 0] * edges[1, 1] < edges[0, 1] * edges[1, 0]:  # y points down
        return quad_corners(corners[::-1])
    first = int(edges[:, 0].argmax())  # the upper edge points to the right
    upper_left, *others = np.roll(corners, -first, 0).tolist()
    return tuple(map(_rounded, [upper_left, *others]))


def _rounded(point: list[float]) -> tuple[float, float]:
    """Return a point as predictions are written: hundredths of a pixel are enough."""
    x, y = point
    return round(x, 2) + 0.0, round(y, 2) + 0.0  # not -0.0


def _confidence(value: float | None) -> float | None:
    """Return a confidence from 0 to 1; None where a model has none that is a number."""
    if value is None or not math.isfinite(value):
        return None
    return round(min(max(value, 0.0), 1.0), 4)
