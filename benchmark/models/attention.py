"""Attention: an LSTM decoder with soft attention over image features (section 3.1)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

# Wavelengths of the positional encoding: 4, 16, 64 and 256 cells.
_WAVES = 4
POSITION_CHANNELS = 4 * _WAVES
"""Number of channels that `encode_positions` returns."""


@dataclass(frozen=True)
class DecoderStep:
    """The result of one step of the decoder."""

    state: tuple[Tensor, Tensor]  # (N, S) each: hidden and cell state of the LSTM
    weights: Tensor  # (N, h·w) attention α, sums to 1


class AttentionLstm(nn.Module):
    """Φ: maps state, attended features and previous token to the next state."""

    def __init__(self, features: int, tokens: int, state: int, embedding: int) -> None:
        super().__init__()
        self.tokens, self.size = tokens, state
        self.query = nn.Linear(state, embedding)
        self.key = nn.Linear(features, embedding, bias=False)
        self.score = nn.Linear(embedding, 1, bias=False)
        self.cell = nn.LSTMCell(features + tokens, state)

    def start(self, n: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return the state before the first step."""
        return like.new_zeros(n, self.size), like.new_zeros(n, self.size)

    def keys(self, features: Tensor) -> Tensor:
        """Return W'Ψ for features (N, h·w, C); it is the same at every step."""
        embedded: Tensor = self.key(features)
        return embedded

    def forward(
        self, state: tuple[Tensor, Tensor], features: Tensor, keys: Tensor, previous: Tensor
    ) -> DecoderStep:
        """Take one step; `previous` are the last tokens (N,), -1 before the first."""
        scores = self.score(torch.tanh(self.query(state[0])[:, None] + keys))[..., 0]  # (N, h·w)
        weights = scores.softmax(1)
        context = torch.einsum("np,npc->nc", weights, features)
        token = nn.functional.one_hot(previous.clamp(min=0), self.tokens) * (previous >= 0)[:, None]
        state = self.cell(torch.cat([context, token.to(context)], 1), state)
        return DecoderStep(state, weights)


def encode_positions(features: Tensor) -> Tensor:
    """Return a sinusoidal positional encoding for features (N, C, h, w), (1, 4 · waves, h, w).

    The wavelengths of the sines and cosines of row and column range from a few cells to more than
    any image has.
    """
    waves = 2 * math.pi / 4.0 ** torch.arange(1, _WAVES + 1, device=features.device)
    rows = torch.arange(features.shape[2], device=features.device)[:, None] * waves  # (h, waves)
    columns = torch.arange(features.shape[3], device=features.device)[:, None] * waves
    down = torch.cat([rows.sin(), rows.cos()], 1)[:, None].expand(-1, len(columns), -1)
    across = torch.cat([columns.sin(), columns.cos()], 1)[None].expand(len(rows), -1, -1)
    return torch.cat([down, across], 2).permute(2, 0, 1)[None].to(features)


def flatten_cells(features: Tensor) -> Tensor:
    """Flatten the grid of features: (N, C, h, w) → (N, h·w, C)."""
    return features.flatten(2).transpose(1, 2)
