"""Trivial rules: how far one gets without looking for objects or lines.

A task that a rule solves does not show that a model counts or reads; the variants
`coloured-shapes-hard` and `toy-shapes-fixed` are made so that the rules fail.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from benchmark.data.datasets import TestSet
from benchmark.evaluation.evaluate import score_predictions
from benchmark.evaluation.metrics import Prediction
from benchmark.evaluation.predictions import RowPrediction
from benchmark.results.environment import environment
from benchmark.results.result import Result, scores_of
from benchmark.tasks.task import Task
from ivl_shards.format.schema import Array
from ivl_shards.generation.recipe import require
from ivl_shards.progress import show_progress
from shapes_gen import ToyRecipe
from shapes_gen.toy.recipe import canvas


@dataclass(frozen=True)
class Rule:
    """A rule that predicts from one property of the image."""

    tasks: tuple[str, ...]
    predict: Callable[[Array], Prediction]
    """Return the prediction for an image, (H, W) or (H, W, 3), uint8."""


def count_colours(image: Array) -> int:
    """Return the number of distinct flat colours, without that of the background.

    A colour is flat where a pixel and its eight neighbours have it; the mixed colours of smooth
    edges are not.

    >>> image = np.zeros((20, 20, 3), np.uint8)
    >>> image[2:6, 2:6] = 200, 0, 0
    >>> image[9:14, 9:14] = 0, 0, 90
    >>> count_colours(image)
    2
    """
    square = np.ones((3, 3), np.uint8)
    flat = (cv2.erode(image, square) == cv2.dilate(image, square)).all(axis=2)
    return max(0, len(np.unique(image[flat], axis=0)) - 1)


def empty_lines(image: Array) -> list[str]:
    """Return as many empty lines as a canvas of this height has space for.

    The heights are those of `shapes-gen toy` with its default options.

    >>> len(empty_lines(np.zeros((96, 128), np.uint8)))
    3
    """
    recipe = ToyRecipe(counts=(1,), total=1)
    (first, _), (second, _) = canvas(recipe, 1), canvas(recipe, 2)
    lines = 1 + round((image.shape[0] - first) / (second - first))
    return [""] * max(1, lines)


RULES = {
    "distinct-colours": Rule(("coloured-shapes", "coloured-shapes-hard"), count_colours),
    "canvas-height": Rule(("toy-shapes", "toy-shapes-fixed"), empty_lines),
}
"""Rules by their names on the command line."""


def score_rule(name: str, task: Task, test: TestSet, quiet: bool = False) -> Result:
    """Score a rule on a test set."""
    rule = RULES[name]
    known = " or ".join(rule.tasks)
    require(task.name in rule.tasks, f"--model {name}: is for --task {known}, not for {task.name}")
    dataset, begun = test.open(task), time.monotonic()
    predictions: list[RowPrediction] = []
    with show_progress(len(dataset), quiet) as report:
        for row, sample in enumerate(dataset):
            predictions.append(RowPrediction(row, rule.predict(sample.image)))
            report(1)
    return Result(
        task=task,
        model=name,
        preset="",
        config=None,
        changes=(),
        test_data=dataset.attributes["content_sha256"],
        environment=environment(),
        **scores_of(score_predictions(task, dataset, predictions, begun)),
    )
