"""Decoders of CTC: texts from log-probabilities (N, L, 1 + symbols), the blank first.

Greedy decoding takes the most probable symbol of every frame. Prefix beam search sums over all
alignments of a text and keeps the most probable prefixes, frame by frame; a trie defines which
texts are allowed.
"""

from collections.abc import Callable

from torch import Tensor

from benchmark.evaluation.trie import Trie, any_text
from benchmark.models.ctc import greedy_texts

Decoder = Callable[[Tensor], list[str]]

WIDTH = 32
"""Default width of the beam."""


def greedy_decoder(alphabet: str) -> Decoder:
    """Return a greedy decoder."""
    return lambda scores: greedy_texts(scores, alphabet)


def beam_decoder(alphabet: str, width: int = WIDTH, trie: Trie | None = None) -> Decoder:
    """Return a decoder by beam search, over any text unless a trie is given."""
    allowed = any_text(alphabet) if trie is None else trie
    return lambda scores: beam_texts(scores, alphabet, allowed, width)


def beam_texts(scores: Tensor, alphabet: str, trie: Trie, width: int = WIDTH) -> list[str]:
    """Return the most probable text that the trie allows, or an empty one, for each of the
    log-probabilities (N, L, V).

    >>> import torch
    >>> frames = torch.tensor([[[0.4, 0.6], [0.4, 0.6]]]).log()
    >>> beam_texts(frames, "a", any_text("a"))  # three alignments give 'a', none gives 'aa'
    ['a']
    """
    from benchmark.evaluation.beam import search  # imports numba, which is slow

    arrays = trie.first, trie.symbols, trie.targets, trie.final
    texts = [search(line, *arrays, width) for line in scores.detach().double().cpu().numpy()]
    return ["".join(alphabet[k - 1] for k in text) for text in texts]
