"""Prefix beam search over the log-probabilities of CTC, compiled by numba.

`benchmark.evaluation.decoding` imports this module only when it is needed: importing numba is slow.

A prefix of a text is an integer, the empty one is 0. `parent` leads from a prefix to the one that
is shorter by a symbol, `child` to those that are longer. For the prefixes in the beam, two
log-probabilities are kept: of all alignments that end in the blank (`blank`), and of those that end
in the last symbol (`symbol`).
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
    """Return the symbols of the most probable text in a `Trie`, given by its four arrays."""
    frames, count = scores.shape
    most = frames * width + 1  # each frame creates at most `width` prefixes
    parent, last = np.zeros(most, np.int64), np.zeros(most, np.int64)
    state = np.zeros(most, np.int64)  # state of the trie
    child = np.zeros((most, count), np.int32)  # 0: not created yet
    created = 1
    beam, blank, symbol = np.zeros(1, np.int64), np.zeros(1), np.full(1, -np.inf)
    position = np.full(most, -1, np.int64)  # position of a prefix in the beam, -1: not in it
    for frame in scores:
        position[beam] = np.arange(len(beam))
        stay_blank, stay_symbol = _stay(frame, beam, blank, symbol, parent, last, position)
        stay = np.logaddexp(stay_blank, stay_symbol)
        # With a full beam, extensions that are worse than all prefixes in it are pruned.
        threshold = np.min(stay) if len(beam) >= width else -np.inf
        sources, edges, extended = _extend(
            frame, beam, blank, symbol, last, state, child, position, first, symbols, threshold
        )
        position[beam] = -1
        candidates = np.concatenate((stay, extended))
        best = np.argsort(-candidates, kind="mergesort")[:width]
        best = best[candidates[best] > -np.inf]
        previous = beam
        beam, blank, symbol = np.empty_like(best), np.empty(len(best)), np.empty(len(best))
        for k, i in enumerate(best):
            if i < len(previous):
                beam[k], blank[k], symbol[k] = previous[i], stay_blank[i], stay_symbol[i]
                continue
            source, edge = sources[i - len(previous)], edges[i - len(previous)]
            if child[source, symbols[edge]] == 0:
                child[source, symbols[edge]] = created
                parent[created], last[created] = source, symbols[edge]
                state[created] = targets[edge]
                created += 1
            beam[k] = child[source, symbols[edge]]
            blank[k], symbol[k] = -np.inf, candidates[i]
    text: Integers = _spell(beam, np.logaddexp(blank, symbol), parent, last, final[state])
    return text


@njit(cache=True)  # type: ignore[untyped-decorator]
def _stay(
    frame: Reals,
    beam: Integers,
    blank: Reals,
    symbol: Reals,
    parent: Integers,
    last: Integers,
    position: Integers,
) -> tuple[Reals, Reals]:
    """Return the two log-probabilities of each prefix in the beam after another frame."""
    total = np.logaddexp(blank, symbol)
    stay_blank = total + frame[BLANK]
    stay_symbol = symbol + frame[last[beam]]
    for i, prefix in enumerate(beam):
        j = position[parent[prefix]]
        if prefix and j >= 0:  # its parent is also in the beam and may be extended to it
            added = last[prefix]
            extended = (blank[j] if last[beam[j]] == added else total[j]) + frame[added]
            stay_symbol[i] = np.logaddexp(stay_symbol[i], extended)
    return stay_blank, stay_symbol


@njit(cache=True)  # type: ignore[untyped-decorator]
def _extend(
    frame: Reals,
    beam: Integers,
    blank: Reals,
    symbol: Reals,
    last: Integers,
    state: Integers,
    child: NDArray[np.int32],
    position: Integers,
    first: NDArray[np.int32],
    symbols: NDArray[np.int32],
    threshold: float,
) -> tuple[Integers, Integers, Reals]:
    """Return the extensions by a symbol that are not in the beam: the prefix that is extended, the
    edge of the trie, and the log-probability, if it is above the threshold."""
    total = np.logaddexp(blank, symbol)
    sources, edges, extended = [0][:0], [0][:0], [0.0][:0]  # numba needs typed empty lists
    for i, prefix in enumerate(beam):
        for edge in range(first[state[prefix]], first[state[prefix] + 1]):
            added = symbols[edge]
            # A symbol is repeated only after a blank.
            score = (blank[i] if last[prefix] == added else total[i]) + frame[added]
            known = child[prefix, added]
            if score > threshold and (known == 0 or position[known] < 0):
                sources.append(prefix)
                edges.append(edge)
                extended.append(score)
    return np.array(sources), np.array(edges), np.array(extended)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _spell(
    beam: Integers, total: Reals, parent: Integers, last: Integers, complete: NDArray[np.bool_]
) -> Integers:
    """Return the symbols of the most probable complete text in the beam, or else of the most
    probable prefix without its last, incomplete word."""
    allowed = complete[beam] | (beam == 0)
    text = beam[np.argmax(np.where(allowed, total, -np.inf) if allowed.any() else total)]
    while text and not complete[text]:
        text = parent[text]
    spelt = [0][:0]
    while text:
        spelt.append(last[text])
        text = parent[text]
    return np.array(spelt[::-1])
