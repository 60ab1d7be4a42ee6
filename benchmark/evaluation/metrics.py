"""Metrics: scores of predictions against the ground truth, with confidence intervals."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

Prediction = list[str] | int
"""What a model predicts for one image: the lines it read, or the number of objects."""
Pair = tuple[Prediction, Prediction]
"""A prediction and the ground truth."""

# 95 % of the standard normal distribution lie within ± this.
_Z = 1.959964
_RESAMPLES = 2000


@dataclass(frozen=True)
class Score:
    """A value in the metric's unit, with its 95 % confidence interval."""

    value: float
    low: float
    high: float
    samples: int


def accuracy(right: Sequence[bool]) -> Score:
    """Return the share of samples that are right, with Wilson's interval.

    That interval holds at 0 and 100 % too.

    >>> accuracy([True, True, True, False])
    Score(value=75.0, low=30.06, high=95.44, samples=4)
    """
    n = len(right)
    p = sum(right) / n
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Score(_per_cent(p), _per_cent(low), _per_cent(high), n)


def edits(predicted: str, truth: str) -> int:
    """Return the number of insertions, deletions and replacements between two texts.

    >>> edits("kitten", "sitting")
    3
    """
    return int(Levenshtein.distance(predicted, truth))


def edit_distance(predicted: Sequence[str], truth: Sequence[str]) -> Score:
    """Return edits over the length of the truth, both summed over the samples, in per cent.

    It exceeds 100 where the predictions are much longer. The interval comes from a bootstrap
    over the samples with a fixed seed.

    >>> edit_distance(["abd", "ab"], ["abc", "ab"]).value
    20.0
    """
    wrong = [edits(p, t) for p, t in zip(predicted, truth, strict=True)]
    return ratio(wrong, [len(t) for t in truth])


def ratio(parts: Sequence[float], wholes: Sequence[float]) -> Score:
    """Return parts over wholes, both summed over the samples, with a bootstrap interval.

    >>> ratio([1, 0], [3, 2]).value
    20.0
    """
    part, whole = np.array(parts, float), np.array(wholes, float)
    picks = np.random.default_rng(0).integers(len(part), size=(_RESAMPLES, len(part)))
    drawn = part[picks].sum(1) / np.maximum(whole[picks].sum(1), 1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    value = part.sum() / max(whole.sum(), 1)
    return Score(_per_cent(value), _per_cent(low), _per_cent(high), len(part))


@dataclass(frozen=True)
class WordCounts:
    """The words of one sample, each counted as often as it occurs."""

    correct: int
    """Words that are both predicted and true."""
    predicted: int
    true: int


WordMatcher = Callable[[Sequence[str], Sequence[str]], WordCounts]
"""Compares the predicted lines of a sample with its true ones."""


def match_words(predicted: Sequence[str], true: Sequence[str]) -> WordCounts:
    """Compare the words of predicted and true lines letter by letter.

    >>> match_words(["Mind the the", "gab"], ["Mind the", "gap"])
    WordCounts(correct=2, predicted=4, true=3)
    """
    ours, theirs = Counter(_words(predicted)), Counter(_words(true))
    return WordCounts((ours & theirs).total(), ours.total(), theirs.total())


def spot_words(predicted: Sequence[str], true: Sequence[str]) -> WordCounts:
    """Compare words by the rules of ICDAR's word spotting.

    Only words of three or more letters and digits count, whatever their case. Predictions of
    other true words, such as "24" or "Kohlen-", are ignored: neither right nor wrong.

    >>> spot_words(["mind THE", "kohlen no"], ["Mind the gap", "Kohlen- No."])
    WordCounts(correct=2, predicted=2, true=3)
    """
    wanted = Counter(w.lower() for w in _words(true) if _is_wanted(w))
    ignored = Counter(_bare(w) for w in _words(true) if not _is_wanted(w))
    ours = Counter(bare for w in _words(predicted) if _is_wanted(bare := _bare(w)))
    correct = ours & wanted
    counted = ours - ((ours - correct) & ignored)
    return WordCounts(correct.total(), counted.total(), wanted.total())


def _words(lines: Sequence[str]) -> list[str]:
    return " ".join(lines).split()


def _is_wanted(word: str) -> bool:
    return len(word) >= 3 and word.isascii() and word.isalnum()


def _bare(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())


def precision(samples: Sequence[WordCounts]) -> Score:
    """Return the share of the predicted words that are true.

    >>> precision([WordCounts(2, 4, 3), WordCounts(0, 0, 2)]).value
    50.0
    """
    return ratio([w.correct for w in samples], [w.predicted for w in samples])


def recall(samples: Sequence[WordCounts]) -> Score:
    """Return the share of the true words that were predicted.

    >>> recall([WordCounts(2, 4, 3), WordCounts(0, 0, 2)]).value
    40.0
    """
    return ratio([w.correct for w in samples], [w.true for w in samples])


def f_score(samples: Sequence[WordCounts]) -> Score:
    """Return the harmonic mean of precision and recall.

    >>> f_score([WordCounts(2, 4, 3), WordCounts(0, 0, 2)]).value
    44.44
    """
    return ratio([2 * w.correct for w in samples], [w.predicted + w.true for w in samples])


@dataclass(frozen=True)
class Metric:
    """A way to score predictions. Tasks list their metrics, the most important one first."""

    name: str
    compute: Callable[[Sequence[Pair]], Score]
    """Pairs of prediction and ground truth → their score."""
    lower_is_better: bool = False
    unit: str = "%"


def _exact_counts(pairs: Sequence[Pair]) -> Score:
    return accuracy([predicted == true for predicted, true in pairs])


def _edit_distance(pairs: Sequence[Pair]) -> Score:
    # The paper's table fits texts whose lines are joined by one character: a model that always
    # reads three lines is 102 of 119 characters off at twenty, its 85.71 %.
    return edit_distance([block_text(p) for p, _ in pairs], [block_text(t) for _, t in pairs])


def _line_count(pairs: Sequence[Pair]) -> Score:
    return accuracy([len(lines_of(predicted)) == len(lines_of(true)) for predicted, true in pairs])


def word_metrics(match: WordMatcher) -> dict[str, Metric]:
    """Return precision, recall and F of words, by name, with a rule to compare words by."""
    measures = {"word precision": precision, "word recall": recall, "word F": f_score}

    def metric(name: str, measure: Callable[[Sequence[WordCounts]], Score]) -> Metric:
        return Metric(name, lambda pairs: measure([match(*map(lines_of, pair)) for pair in pairs]))

    return {name: metric(name, measure) for name, measure in measures.items()}


def lines_of(prediction: Prediction) -> list[str]:
    """Return the lines of a reading model's prediction."""
    if not isinstance(prediction, list):
        raise TypeError("a number of objects has no lines")
    return prediction


def block_text(prediction: Prediction) -> str:
    """Return the lines of a block as one text.

    >>> block_text(["stc", "CC"])
    'stc\\nCC'
    """
    return "\n".join(prediction) if isinstance(prediction, list) else str(prediction)


EXACT_COUNTS = Metric("exact counts", _exact_counts)
EDIT_DISTANCE = Metric("edit distance", _edit_distance, lower_is_better=True)
LINE_COUNT = Metric("line count", _line_count)


def _per_cent(share: float) -> float:
    return round(100 * float(share), 2)
