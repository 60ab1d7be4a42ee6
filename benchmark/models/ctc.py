"""CTC: texts out of frames that each name a symbol, or none (the blank)."""

import torch
from torch import Tensor

BLANK = 0
"""Between symbols; those of an alphabet are numbered from 1."""


def greedy_texts(scores: Tensor, alphabet: str) -> list[str]:
    """The likeliest symbol of each frame of scores (N, L, 1 + symbols); repeats are one.

    >>> import torch
    >>> greedy_texts(torch.eye(3)[[1, 1, 0, 1, 2]][None], "ab")
    ['aab']
    """
    texts = []
    for frames in scores.argmax(2).tolist():
        before = [BLANK, *frames[:-1]]
        kept = (k for k, b in zip(frames, before, strict=True) if k not in (b, BLANK))
        texts.append("".join(alphabet[k - 1] for k in kept))
    return texts


def certainty(scores: Tensor) -> Tensor:
    """How sure a model is of the letters that it says, (N,): the mean probability of their first
    frames, of log-probabilities (N, L, 1 + symbols); 0 where it says nothing.

    >>> frames = torch.tensor([[[0.1, 0.9], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]]])
    >>> [round(sure, 3) for sure in certainty(frames.log()).tolist()]  # of 0.9 and 0.7
    [0.8]
    """
    highest, symbol = scores.max(2)  # (N, L)
    before = torch.nn.functional.pad(symbol, (1, -1), value=BLANK)
    said = (symbol != BLANK) & (symbol != before)
    return (highest.exp() * said).sum(1) / said.sum(1).clamp(min=1)
