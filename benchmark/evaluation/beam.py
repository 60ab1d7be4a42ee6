"""Beam search over CTC's log-probabilities, compiled by numba.

`benchmark.evaluation.decoding` imports it when a beam is asked for: importing numba takes a while.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmark.models.ctc import BLANK

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(cache=True)  # type: ignore[untyped-decorator]
def search(
    scores: Reals,  # (L, V)
    first: NDArray[np.int32],
    symbols: NDArray[np.int32],
    targets: NDArray[np.int32],
    final: NDArray[np.bool_],
    width: int,
) -> Integers:
    """The symbols of the likeliest text.

    A beginning of a text is a number, the empty one 0; `before` leads back from it, `after` on.
    Each frame makes at most `width` new ones. Of those in the beam, `kept`, it is known how likely
    all ways to spell it are that end in the blank, and those that end in its last symbol.
    """
    frames, count = scores.shape
    most = frames * width + 1
    before, last = np.zeros(most, np.int64), np.zeros(most, np.int64)
    state = np.zeros(most, np.int64)  # of the trie
    after = np.zeros((most, count), np.int32)  # 0: not made yet
    made = 1
    kept, blank, spoken = np.zeros(1, np.int64), np.zeros(1), np.full(1, -np.inf)
    place = np.full(most, -1, np.int64)  # of a beginning in the beam
    for frame in scores:
        place[kept] = np.arange(len(kept))
        stay_blank, stay_spoken = _stay(frame, kept, blank, spoken, before, last, place)
        stay = np.logaddexp(stay_blank, stay_spoken)
        # What is worse than all that stay, in a full beam, cannot get in.
        least = np.min(stay) if len(kept) >= width else -np.inf
        parents, edges, grown = _grow(
            frame, kept, blank, spoken, last, state, after, place, first, symbols, least
        )
        place[kept] = -1
        everything = np.concatenate((stay, grown))
        best = np.argsort(-everything, kind="mergesort")[:width]
        best = best[everything[best] > -np.inf]
        old, old_blank, old_spoken = kept, stay_blank, stay_spoken
        kept, blank, spoken = np.empty_like(best), np.empty(len(best)), np.empty(len(best))
        for k, i in enumerate(best):
            if i < len(old):
                kept[k], blank[k], spoken[k] = old[i], old_blank[i], old_spoken[i]
                continue
            parent, edge = parents[i - len(old)], edges[i - len(old)]
            if after[parent, symbols[edge]] == 0:
                after[parent, symbols[edge]] = made
                before[made], last[made], state[made] = parent, symbols[edge], targets[edge]
                made += 1
            kept[k] = after[parent, symbols[edge]]
            blank[k], spoken[k] = -np.inf, everything[i]
    text: Integers = _spell(kept, np.logaddexp(blank, spoken), before, last, final[state])
    return text


@njit(cache=True)  # type: ignore[untyped-decorator]
def _stay(
    frame: Reals,
    kept: Integers,
    blank: Reals,
    spoken: Reals,
    before: Integers,
    last: Integers,
    place: Integers,
) -> tuple[Reals, Reals]:
    """How likely each beginning in the beam is after another frame, by how it ends."""
    total = np.logaddexp(blank, spoken)
    stay_blank = total + frame[BLANK]
    stay_spoken = spoken + frame[last[kept]]
    for i, beginning in enumerate(kept):
        j = place[before[beginning]]
        if beginning and j >= 0:  # the one before it may say its last symbol just now
            symbol = last[beginning]
            said = (blank[j] if last[kept[j]] == symbol else total[j]) + frame[symbol]
            stay_spoken[i] = np.logaddexp(stay_spoken[i], said)
    return stay_blank, stay_spoken


@njit(cache=True)  # type: ignore[untyped-decorator]
def _grow(
    frame: Reals,
    kept: Integers,
    blank: Reals,
    spoken: Reals,
    last: Integers,
    state: Integers,
    after: NDArray[np.int32],
    place: Integers,
    first: NDArray[np.int32],
    symbols: NDArray[np.int32],
    least: float,
) -> tuple[Integers, Integers, Reals]:
    """Beginnings longer by a symbol that are not in the beam: what they grow from, the edge of
    the trie, and how likely they are. Those below `least` are left out."""
    total = np.logaddexp(blank, spoken)
    parents, edges, grown = [0][:0], [0][:0], [0.0][:0]  # numba asks what is in an empty list
    for i, beginning in enumerate(kept):
        for edge in range(first[state[beginning]], first[state[beginning] + 1]):
            symbol = symbols[edge]
            # A repeated symbol is another one only after a blank.
            score = (blank[i] if last[beginning] == symbol else total[i]) + frame[symbol]
            known = after[beginning, symbol]
            if score > least and (known == 0 or place[known] < 0):
                parents.append(beginning)
                edges.append(edge)
                grown.append(score)
    return np.array(parents), np.array(edges), np.array(grown)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _spell(
    kept: Integers, total: Reals, before: Integers, last: Integers, whole: NDArray[np.bool_]
) -> Integers:
    """The symbols of the likeliest text in the beam that is whole, or else of the likeliest one
    without its last, cut word."""
    ends = whole[kept] | (kept == 0)
    text = kept[np.argmax(np.where(ends, total, -np.inf) if ends.any() else total)]
    while text and not whole[text]:
        text = before[text]
    spelt = [0][:0]
    while text:
        spelt.append(last[text])
        text = before[text]
    return np.array(spelt[::-1])
