"""Decoding: texts from the log-probabilities of CTC, (N, L, 1 + symbols), the blank first.

Greedy decoding takes the most probable symbol of every frame. Prefix beam search sums over all
alignments of a text and keeps the most probable prefixes, frame by frame; a trie defines which
texts are allowed.
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
"""Name of the lexicon that text blocks are generated from."""
WIDTH = 32
"""Default width of the beam."""


@dataclass(frozen=True)
class Decoding:
    """The decoding that a user asks for."""

    lexicon: str | None = None
    """File with the words that lines consist of, or `default`."""
    beam: int | None = None
    """Width of the beam."""

    @property
    def is_greedy(self) -> bool:
        """Whether neither a lexicon nor a beam is set."""
        return self.lexicon is None and self.beam is None

    def apply(self, model: Model) -> None:
        """Set the decoder of a model."""
        if self.is_greedy:
            return
        if not isinstance(model, LineReader | BlockReader):
            raise UserError(
                "--lexicon and --beam are for readers with CTC: the preset fast has one"
            )
        model.decode = make_decoder(model.alphabet, self.lexicon, self.beam)

    @property
    def label(self) -> list[str]:
        """The label of the decoding in tables."""
        lexicon = [f"lexicon {Path(self.lexicon).stem}"] if self.lexicon else []
        return lexicon + ([f"beam {self.beam}"] if self.beam else [])


def make_decoder(alphabet: str, lexicon: str | None = None, beam: int | None = None) -> Decoder:
    """Return a decoder: greedy, or a beam search if a lexicon or the width of a beam is given."""
    require(beam is None or 1 <= beam <= 1000, f"--beam {beam}: between 1 and 1000")
    if lexicon is None and beam is None:
        return lambda scores: greedy_texts(scores, alphabet)
    if lexicon is None:
        trie = any_text(alphabet)
    else:
        trie = lexicon_trie(_read_lexicon(lexicon), alphabet, f"lexicon {lexicon}")
    return lambda scores: beam_texts(scores, alphabet, trie, beam or WIDTH)


def _read_lexicon(name: str) -> tuple[str, ...]:
    from textblocks_gen.words.lexicon import load_lexicon  # imports numba, which is slow

    return load_lexicon(None if name == DEFAULT else Path(name)).words


def lexicon_words(name: str) -> list[str]:
    """Return the words of a lexicon in lower case, without duplicates."""
    return list(dict.fromkeys(word.lower() for word in _read_lexicon(name)))


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
