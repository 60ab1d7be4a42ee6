"""Decoding: texts out of CTC's log-probabilities, (N, L, 1 + symbols), the blank first.

Greedy decoding takes the likeliest symbol of every frame. Beam search adds up all ways to spell a
text and keeps the likeliest beginnings, frame by frame; a trie says which texts there are at all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from benchmark.evaluation.trie import Trie, any_text, lexicon_trie
from benchmark.models.block_reader import BlockReader
from benchmark.models.contract import Model
from benchmark.models.ctc import greedy_texts
from benchmark.models.line_reader import LineReader
from ivl_shards import UserError
from ivl_shards.generation.recipe import require

Decoder = Callable[[Tensor], list[str]]

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
    from textblocks_gen.words.lexicon import (
        load_lexicon,  # imports numba: needed with a lexicon alone
    )

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
    from benchmark.evaluation.beam import search  # imports numba: needed with a beam alone

    parts = trie.first, trie.symbols, trie.targets, trie.final
    found = [search(line, *parts, width) for line in scores.detach().double().cpu().numpy()]
    return ["".join(alphabet[k - 1] for k in text) for text in found]
