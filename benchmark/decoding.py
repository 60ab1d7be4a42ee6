"""Decoding: texts out of CTC's log-probabilities, (N, L, 1 + symbols), the blank first.

Greedy decoding takes the likeliest symbol of every frame. Beam search adds up all ways to spell a
text and keeps the likeliest beginnings, frame by frame; a trie says which texts there are at all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from benchmark.models.block_reader import BlockReader
from benchmark.models.contract import Model
from benchmark.models.ctc import BLANK, greedy_texts
from benchmark.models.line_reader import LineReader
from benchmark.trie import Trie, any_text, lexicon_trie
from ivl_shards import UserError
from ivl_shards.recipe import require
from textblocks_gen.lexicon import load_lexicon

Decoder = Callable[[Tensor], list[str]]
Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

DEFAULT = "default"
"""The lexicon that text blocks are made of."""
WIDTH = 32
"""Of the beam, where nothing else is asked for."""


@dataclass(frozen=True)
class Decoding:
    """How texts are to be made out of what a reader sees."""

    lexicon: str | None = None
    """A file of words that lines consist of, or `default`."""
    beam: int | None = None
    """How many beginnings of a text are kept; greedy decoding keeps one."""

    @property
    def is_greedy(self) -> bool:
        """Whether nothing else was asked for."""
        return self.lexicon is None and self.beam is None

    def apply(self, model: Model) -> None:
        """Make a model decode so."""
        if self.is_greedy:
            return
        if not isinstance(model, LineReader | BlockReader):
            raise UserError(
                "--lexicon and --beam are for readers with CTC: the preset fast has one"
            )
        model.decode = make_decoder(model.alphabet, self.lexicon, self.beam)

    @property
    def label(self) -> list[str]:
        """For tables, beside other changes."""
        lexicon = [f"lexicon {Path(self.lexicon).stem}"] if self.lexicon else []
        return lexicon + ([f"beam {self.beam}"] if self.beam else [])


def make_decoder(alphabet: str, lexicon: str | None = None, beam: int | None = None) -> Decoder:
    """What a user asks for: greedy by default; a beam so wide; lines of a lexicon's words."""
    require(beam is None or 1 <= beam <= 1000, f"--beam {beam}: between 1 and 1000")
    if lexicon is None and beam is None:
        return lambda scores: greedy_texts(scores, alphabet)
    trie = any_text(alphabet) if lexicon is None else _lexicon(lexicon, alphabet)
    return lambda scores: beam_texts(scores, alphabet, trie, beam or WIDTH)


def _lexicon(name: str, alphabet: str) -> Trie:
    return lexicon_trie(_read_lexicon(name), alphabet, f"lexicon {name}")


def _read_lexicon(name: str) -> tuple[str, ...]:
    return load_lexicon(None if name == DEFAULT else Path(name)).words


def lexicon_words(name: str) -> list[str]:
    """The words of a lexicon in lower case, each once, for those who do without a trie."""
    return list(dict.fromkeys(word.lower() for word in _read_lexicon(name)))


def beam_texts(scores: Tensor, alphabet: str, trie: Trie, width: int = WIDTH) -> list[str]:
    """The likeliest text that the trie allows, or none at all, for each of scores (N, L, V).

    >>> import torch
    >>> frames = torch.tensor([[[0.4, 0.6], [0.4, 0.6]]]).log()
    >>> beam_texts(frames, "a", any_text("a"))  # 'a' in three ways, 'aa' in none
    ['a']
    """
    parts = trie.first, trie.symbols, trie.targets, trie.final
    found = [_search(line, *parts, width) for line in scores.detach().double().cpu().numpy()]
    return ["".join(alphabet[k - 1] for k in text) for text in found]


@njit(cache=True)  # type: ignore[untyped-decorator]
def _search(
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
    frame: Reals, kept: Integers, blank: Reals, spoken: Reals, before: Integers, last: Integers,
    place: Integers,
) -> tuple[Reals, Reals]:  # fmt: skip
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
    frame: Reals, kept: Integers, blank: Reals, spoken: Reals, last: Integers, state: Integers,
    after: NDArray[np.int32], place: Integers, first: NDArray[np.int32],
    symbols: NDArray[np.int32], least: float,
) -> tuple[Integers, Integers, Reals]:  # fmt: skip
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
