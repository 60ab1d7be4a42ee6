"""Attention: an LSTM that looks at a part of the image's features at each step (section 3.1)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

# Of wavelengths 4, 16, 64 and 256 places.
_WAVES = 4
POSITIONS = 4 * _WAVES
"""Channels of `positions`."""


@dataclass(frozen=True)
class Looked:
    """One step of the decoder."""

    state: tuple[Tensor, Tensor]  # (N, S) each: the LSTM's
    weights: Tensor  # (N, h·w) α, which sum to 1


class AttentionLstm(nn.Module):
    """Φ: state, context and previous token → the next state."""

    def __init__(self, features: int, tokens: int, state: int, embedding: int) -> None:
        super().__init__()
        self.tokens, self.size = tokens, state
        self.query = nn.Linear(state, embedding)
        self.key = nn.Linear(features, embedding, bias=False)
        self.score = nn.Linear(embedding, 1, bias=False)
        self.cell = nn.LSTMCell(features + tokens, state)

    def start(self, n: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """The state before the first step."""
        return like.new_zeros(n, self.size), like.new_zeros(n, self.size)

    def keys(self, features: Tensor) -> Tensor:
        """W'Ψ of features (N, h·w, C): the same at every step."""
        embedded: Tensor = self.key(features)
        return embedded

    def forward(
        self, state: tuple[Tensor, Tensor], features: Tensor, keys: Tensor, previous: Tensor
    ) -> Looked:
        """One step; `previous` are tokens (N,), -1 for none yet."""
        scores = self.score(torch.tanh(self.query(state[0])[:, None] + keys))[..., 0]  # (N, h·w)
        weights = scores.softmax(1)
        context = torch.einsum("np,npc->nc", weights, features)
        said = nn.functional.one_hot(previous.clamp(min=0), self.tokens) * (previous >= 0)[:, None]
        state = self.cell(torch.cat([context, said.to(context)], 1), state)
        return Looked(state, weights)


def positions(features: Tensor) -> Tensor:
    """Where each place of features (N, C, h, w) is, (1, 4 · waves, h, w): sines and cosines of
    its row and column, of wavelengths from a few places to more than any image has."""
    waves = 2 * math.pi / 4.0 ** torch.arange(1, _WAVES + 1, device=features.device)
    rows = torch.arange(features.shape[2], device=features.device)[:, None] * waves  # (h, waves)
    columns = torch.arange(features.shape[3], device=features.device)[:, None] * waves
    down = torch.cat([rows.sin(), rows.cos()], 1)[:, None].expand(-1, len(columns), -1)
    across = torch.cat([columns.sin(), columns.cos()], 1)[None].expand(len(rows), -1, -1)
    return torch.cat([down, across], 2).permute(2, 0, 1)[None].to(features)


def flat(features: Tensor) -> Tensor:
    """(N, C, h, w) → (N, h·w, C)."""
    return features.flatten(2).transpose(1, 2)
