"""Metrics: scores of predictions against the ground truth, with confidence intervals."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

from ivl_shards.format.schema import Array

Prediction = list[str] | int
"""What a model predicts for one image: the lines it read, or the number of objects."""
Pair = tuple[Prediction, Prediction]
"""A prediction and the ground truth."""

# 95 % of the standard normal distribution lie within ± this.
_Z = 1.959964
_RESAMPLES = 2000
# Units of several resamples that are drawn at once, which bounds the memory.
_DRAWN_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Score:
    """A value in the metric's unit, with its 95 % confidence interval."""

    value: float
    low: float
    high: float
    samples: int
    images: int | None = None
    """The number of photographs that the samples were cut from; None: not known, or not cut."""

    def to_json(self) -> dict[str, float | int]:
        """Return what is known, as it is stored."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Tally:
    """What each sample adds to a score: the score is the sum of `parts` over that of `wholes`."""

    parts: Array
    wholes: Array | None = None
    """None: 1 for each sample, and `parts` say which samples are right."""

    @property
    def denominators(self) -> Array:
        """The wholes, (N,)."""
        return np.ones(len(self.parts)) if self.wholes is None else self.wholes

    def take(self, places: Sequence[int]) -> "Tally":
        """Return the tally of some of the samples."""
        wholes = None if self.wholes is None else self.wholes[places]
        return Tally(self.parts[places], wholes)

    @property
    def value(self) -> float:
        """The score in per cent."""
        return _per_cent(self.parts.sum() / max(self.denominators.sum(), 1))


def tally_right(right: Sequence[bool]) -> Tally:
    """Return the tally of a share of samples that are right."""
    return Tally(np.array(right, float))


def tally_ratio(parts: Sequence[float], wholes: Sequence[float]) -> Tally:
    """Return the tally of parts over wholes, both summed over the samples."""
    return Tally(np.array(parts, float), np.array(wholes, float))


def score_tally(tally: Tally, images: Array | None = None) -> Score:
    """Return a score with its 95 % interval.

    Samples of one image are not independent, so where it is known which `images` they are from,
    images are drawn in the bootstrap, not samples. Without images, a share of samples has
    Wilson's interval and all other scores a bootstrap over the samples.

    >>> score_tally(tally_right([True, True, False, False]), np.array([7, 7, 8, 8]))
    Score(value=50.0, low=0.0, high=100.0, samples=4, images=2)
    """
    samples = len(tally.parts)
    if images is None and tally.wholes is None:
        low, high = wilson(tally.parts.sum() / samples, samples)
        return Score(tally.value, _per_cent(low), _per_cent(high), samples)
    (parts,), (wholes,), units = sum_by_image([tally], images)
    drawn = draw_ratios(parts[None], wholes[None])[0]
    low, high = np.percentile(drawn, [2.5, 97.5])
    share = parts.sum() / max(wholes.sum(), 1)
    if images is not None and low == high and share <= 1:
        # All images agree, or there is but one: that is no certainty about other images.
        low, high = wilson(share, units)
    count = None if images is None else units
    return Score(tally.value, _per_cent(low), _per_cent(high), samples, count)


def sum_by_image(tallies: Sequence[Tally], images: Array | None) -> tuple[Array, Array, int]:
    """Return the parts and wholes that a bootstrap draws from, (K, U), for K tallies of the same
    samples, and their number U: those of samples, or sums over the samples of each image."""
    parts = np.stack([tally.parts for tally in tallies])
    wholes = np.stack([tally.denominators for tally in tallies])
    if images is not None:
        _, place = np.unique(images, return_inverse=True)
        parts, wholes = (
            np.stack([np.bincount(place.ravel(), row) for row in table])
            for table in (parts, wholes)
        )
    return parts, wholes, parts.shape[1]


def draw_ratios(parts: Array, wholes: Array) -> Array:
    """Return K ratios of sums, (K, R), of R resamples that all K share, with a fixed seed."""
    units = parts.shape[1]
    rng = np.random.default_rng(0)
    drawn = []
    for start in range(0, _RESAMPLES, step := max(1, _DRAWN_AT_ONCE // units)):
        count = min(step, _RESAMPLES - start)
        picks = rng.integers(units, size=(count, units))
        # How often each unit was drawn, (R, U): sums become one matrix product for all ratios.
        picks += units * np.arange(count)[:, None]
        times = np.bincount(picks.ravel(), minlength=count * units).reshape(count, units)
        weights = times.astype(float)
        drawn.append((weights @ parts.T) / np.maximum(weights @ wholes.T, 1))
    return np.concatenate(drawn).T


def wilson(p: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share `p` of `n`; it holds at 0 and 1 too."""
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def accuracy(right: Sequence[bool]) -> Score:
    """Return the share of samples that are right, with Wilson's interval.

    >>> accuracy([True, True, True, False])
    Score(value=75.0, low=30.06, high=95.44, samples=4, images=None)
    """
    return score_tally(tally_right(right))


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
    return score_tally(tally_edits(predicted, truth))


def tally_edits(predicted: Sequence[str], truth: Sequence[str]) -> Tally:
    """Return the tally of edits over the length of the truth."""
    wrong = [edits(p, t) for p, t in zip(predicted, truth, strict=True)]
    return tally_ratio(wrong, [len(t) for t in truth])


def ratio(parts: Sequence[float], wholes: Sequence[float]) -> Score:
    """Return parts over wholes, both summed over the samples, with a bootstrap interval.

    >>> ratio([1, 0], [3, 2]).value
    20.0
    """
    return score_tally(tally_ratio(parts, wholes))


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


def precision(samples: Sequence[WordCounts]) -> Tally:
    """Return the share of the predicted words that are true.

    >>> precision([WordCounts(2, 4, 3), WordCounts(0, 0, 2)]).value
    50.0
    """
    return tally_ratio([w.correct for w in samples], [w.predicted for w in samples])


def recall(samples: Sequence[WordCounts]) -> Tally:
    """Return the share of the true words that were predicted.

    >>> recall([WordCounts(2, 4, 3), WordCounts(0, 0, 2)]).value
    40.0
    """
    return tally_ratio([w.correct for w in samples], [w.true for w in samples])


def f_score(samples: Sequence[WordCounts]) -> Tally:
    """Return the harmonic mean of precision and recall.

    >>> f_score([WordCounts(2, 4, 3), WordCounts(0, 0, 2)]).value
    44.44
    """
    return tally_ratio([2 * w.correct for w in samples], [w.predicted + w.true for w in samples])


@dataclass(frozen=True)
class Metric:
    """A way to score predictions. Tasks list their metrics, the most important one first."""

    name: str
    compute: Callable[[Sequence[Pair]], Tally | Score]
    """Pairs of prediction and ground truth → what each of them adds to the score. A metric that is
    no ratio of sums returns its score instead; two models cannot be compared by it."""
    lower_is_better: bool = False
    unit: str = "%"

    def scores(
        self, pairs: Sequence[Pair], parts: Sequence[Sequence[int]], images: Array | None = None
    ) -> list[Score]:
        """Return the score of each of several parts of the samples, given by their places.

        `images` says which photograph each sample is from.
        """
        found = self.compute(pairs)
        if isinstance(found, Score):
            return [self._score([pairs[k] for k in part]) for part in parts]
        return [
            score_tally(found.take(part), None if images is None else images[part])
            for part in parts
        ]

    def _score(self, pairs: Sequence[Pair]) -> Score:
        found = self.compute(pairs)
        return found if isinstance(found, Score) else score_tally(found)


def _exact_counts(pairs: Sequence[Pair]) -> Tally:
    return tally_right([predicted == true for predicted, true in pairs])


def _edit_distance(pairs: Sequence[Pair]) -> Tally:
    # The paper's table fits texts whose lines are joined by one character: a model that always
    # reads three lines is 102 of 119 characters off at twenty, its 85.71 %.
    return tally_edits([block_text(p) for p, _ in pairs], [block_text(t) for _, t in pairs])


def _line_count(pairs: Sequence[Pair]) -> Tally:
    return tally_right([len(lines_of(found)) == len(lines_of(true)) for found, true in pairs])


def word_metrics(match: WordMatcher) -> dict[str, Metric]:
    """Return precision, recall and F of words, by name, with a rule to compare words by."""
    measures = {"word precision": precision, "word recall": recall, "word F": f_score}

    def metric(name: str, measure: Callable[[Sequence[WordCounts]], Tally]) -> Metric:
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
