"""CTC: greedy decoding of frames, each a symbol or the blank, and the confidence in the text."""

from torch import Tensor
from torch.nn import functional

BLANK = 0
"""Class of the blank; the symbols of an alphabet are numbered from 1."""


def greedy_texts(scores: Tensor, alphabet: str) -> list[str]:
    """Decode scores (N, L, 1 + symbols): take the best class of each frame, then merge repeats.

    >>> import torch
    >>> greedy_texts(torch.eye(3)[[1, 1, 0, 1, 2]][None], "ab")
    ['aab']
    """
    texts = []
    for frames in scores.argmax(2).tolist():
        previous = [BLANK, *frames[:-1]]
        kept = (k for k, p in zip(frames, previous, strict=True) if k not in (p, BLANK))
        texts.append("".join(alphabet[k - 1] for k in kept))
    return texts


def text_confidence(scores: Tensor) -> Tensor:
    """Return the confidence in each greedily decoded text, (N,), from log-probabilities
    (N, L, 1 + symbols): the mean probability of the first frame of each symbol, 0 for no text.

    >>> import torch
    >>> frames = torch.tensor([[[0.1, 0.9], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]]])
    >>> [round(c, 3) for c in text_confidence(frames.log()).tolist()]  # the mean of 0.9 and 0.7
    [0.8]
    """
    highest, symbol = scores.max(2)  # (N, L)
    previous = functional.pad(symbol, (1, -1), value=BLANK)
    is_first = (symbol != BLANK) & (symbol != previous)
    return (highest.exp() * is_first).sum(1) / is_first.sum(1).clamp(min=1)
