"""Time of scoring: 10,000 predictions with all metrics and confidence intervals.

.venv/bin/python perf/scoring.py

The test sets are made up, so nothing is generated or read: what is measured is the metrics and the
bootstrap, and for reading the edit distances.
"""

import random
import time

import numpy as np
from measure import Figure, at_most, show

from benchmark.evaluation.compare import compare_tallies
from benchmark.evaluation.evaluate import Predicted, score
from benchmark.evaluation.metrics import Prediction, Tally
from benchmark.registry import find_task
from benchmark.tasks.task import Task

SAMPLES = 10_000
# Seconds; for all 10,000 predictions.
MOST = 10.0
_LENGTHS = 10
# Photographs that the samples were cut from.
_IMAGES = 1000


def made_up(task: Task) -> list[Predicted]:
    """Return predictions, a tenth of them wrong in a letter or by one."""
    rng = random.Random(0)
    return [Predicted(row, *_pair(task, 1 + row % _LENGTHS, rng)) for row in range(SAMPLES)]


def _pair(task: Task, length: int, rng: random.Random) -> tuple[Prediction, Prediction]:
    wrong = rng.random() < 0.1
    if task.kind == "counting":
        return length + wrong, length
    words = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(4 * length)]
    lines = [" ".join(words[4 * k : 4 * k + 4]) for k in range(length)]
    return [*lines[:-1], lines[-1][:-1] + "!" if wrong else lines[-1]], lines


def score_seconds(name: str) -> float:
    """Return the time to score predictions, with photographs where the task has them."""
    task = find_task(name)
    predictions = made_up(task)
    lengths = np.array([1 + row % _LENGTHS for row in range(SAMPLES)])
    images = np.arange(SAMPLES) % _IMAGES if task.image_field else None
    begun = time.perf_counter()
    score(task, lengths, predictions, images)
    return time.perf_counter() - begun


def compare_seconds() -> float:
    """Return the time to compare two models by one metric."""
    task = find_task("coloured-shapes")
    pairs = [(each.prediction, each.truth) for each in made_up(task)]
    tally = task.metric.compute(pairs)
    assert isinstance(tally, Tally)
    begun = time.perf_counter()
    compare_tallies(task.metric, "all", tally, tally, None)
    return time.perf_counter() - begun


def figures() -> list[Figure]:
    """Measure everything."""
    names = ("toy-shapes", "coloured-shapes", "text-blocks", "icdar-blocks", "dota-planes")
    what = f"score {SAMPLES:,} predictions of"
    scored = [at_most(f"{what} {name}", score_seconds(name), "s", MOST) for name in names]
    what = f"compare two models by one metric, {SAMPLES:,} samples"
    return [*scored, at_most(what, compare_seconds(), "s", MOST)]


if __name__ == "__main__":
    show("Scoring predictions", figures())
