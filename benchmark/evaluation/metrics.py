"""Metrics: how right the answers to a test set are, and how sure we can be of it."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

# Of the standard normal distribution: 95 % lie within.
_Z = 1.959964
_RESAMPLES = 2000


@dataclass(frozen=True)
class Score:
    """A figure in per cent with its 95 % confidence interval."""

    value: float
    low: float
    high: float
    samples: int


def accuracy(right: Sequence[bool]) -> Score:
    """Share of samples that are right, with Wilson's interval, which holds at 0 and 100 % too.

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
    """Insertions, deletions and replacements that make one text the other.

    >>> edits("kitten", "sitting")
    3
    """
    return int(Levenshtein.distance(predicted, truth))


def edit_distance(predicted: Sequence[str], truth: Sequence[str]) -> Score:
    """Edits over the length of the truth, both summed over the samples, in per cent.

    It exceeds 100 where much more is said than there is. The interval is from resampling the
    samples, always with the same numbers.

    >>> edit_distance(["abd", "ab"], ["abc", "ab"]).value
    20.0
    """
    wrong = [edits(p, t) for p, t in zip(predicted, truth, strict=True)]
    return ratio(wrong, [len(t) for t in truth])


def ratio(parts: Sequence[int], wholes: Sequence[int]) -> Score:
    """Parts over wholes, both summed over the samples, with the interval from resampling these.

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
class Words:
    """The words of one sample, counted: each as often as it stands there."""

    right: int
    """Both said and there."""
    said: int
    there: int


def match_words(said: Sequence[str], there: Sequence[str]) -> Words:
    """Words of the lines that were said, and of those that are there, to the letter.

    >>> match_words(["Mind the the", "gab"], ["Mind the", "gap"])
    Words(right=2, said=4, there=3)
    """
    ours, theirs = Counter(_words(said)), Counter(_words(there))
    return Words((ours & theirs).total(), ours.total(), theirs.total())


def spot_words(said: Sequence[str], there: Sequence[str]) -> Words:
    """The same by the rules of ICDAR's word spotting.

    Only words of three or more letters and digits are to be found, in any case. Others, such as
    "24" or "Kohlen-", are not asked for: whoever says one, with or without its marks, is neither
    right nor wrong.

    >>> spot_words(["mind THE", "kohlen no"], ["Mind the gap", "Kohlen- No."])
    Words(right=2, said=2, there=3)
    """
    wanted = Counter(w.lower() for w in _words(there) if _is_wanted(w))
    others = Counter(_bare(w) for w in _words(there) if not _is_wanted(w))
    ours = Counter(bare for w in _words(said) if _is_wanted(bare := _bare(w)))
    right = ours & wanted
    held = ours - ((ours - right) & others)
    return Words(right.total(), held.total(), wanted.total())


def _words(lines: Sequence[str]) -> list[str]:
    return " ".join(lines).split()


def _is_wanted(word: str) -> bool:
    return len(word) >= 3 and word.isascii() and word.isalnum()


def _bare(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())


def precision(samples: Sequence[Words]) -> Score:
    """Share of the words said that are there.

    >>> precision([Words(2, 4, 3), Words(0, 0, 2)]).value
    50.0
    """
    return ratio([w.right for w in samples], [w.said for w in samples])


def recall(samples: Sequence[Words]) -> Score:
    """Share of the words there that were said.

    >>> recall([Words(2, 4, 3), Words(0, 0, 2)]).value
    40.0
    """
    return ratio([w.right for w in samples], [w.there for w in samples])


def f_score(samples: Sequence[Words]) -> Score:
    """The harmonic mean of precision and recall.

    >>> f_score([Words(2, 4, 3), Words(0, 0, 2)]).value
    44.44
    """
    return ratio([2 * w.right for w in samples], [w.said + w.there for w in samples])


def _per_cent(share: float) -> float:
    return round(100 * float(share), 2)
