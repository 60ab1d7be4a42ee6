"""The paper's inductive reader (section 4.1 and the appendix)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate

from benchmark.data.batches import Batch, ReadingBatch
from benchmark.models.attention import AttentionLstm, flatten_cells
from benchmark.models.contract import InductiveModel
from benchmark.models.drn import drn_encoder
from benchmark.models.layers import BatchNorm, initialise
from benchmark.models.step import Step
from benchmark.models.step_targets import reading_steps
from benchmark.models.tokens import Tokens, pad_tokens
from benchmark.tasks.task import Kind

# Longest line that is decoded, in symbols: a decoder that has not ended by then will not.
_MAX_SYMBOLS = 200


def toy_encoder(inputs: int) -> nn.Sequential:
    """Build the paper's encoder for toy shapes: six convolutions, four of 16 and two of 32 filters,
    with pooling after the second and fourth."""
    layers: list[nn.Module] = []
    for k, filters in enumerate((16, 16, 16, 16, 32, 32)):
        layers += [nn.Conv2d(inputs, filters, 3, padding=1), nn.ReLU()]
        if k in (1, 3):
            layers.append(nn.MaxPool2d(2))
        inputs = filters
    return nn.Sequential(*layers)


def wide_toy_encoder(inputs: int) -> nn.Sequential:
    """Build the same encoder with more filters and batch normalisation, without which an LSTM over
    whole blocks hardly learns anything from a few thousand samples."""
    layers: list[nn.Module] = []
    for k, filters in enumerate((24, 32, 48, 48, 64, 64)):
        layers += [nn.Conv2d(inputs, filters, 3, padding=1, bias=False), BatchNorm(filters)]
        layers.append(nn.ReLU())
        if k in (1, 3):
            layers.append(nn.MaxPool2d(2))
        inputs = filters
    return nn.Sequential(*layers)


@dataclass(frozen=True)
class PaperSize:
    """The size of a reader of the paper."""

    encoder: Callable[[int], nn.Module]
    """Builds the encoder for a number of input channels."""
    features: int
    state: int
    """Hidden size of the LSTM."""
    embedding: int
    """Embedding size of the attention."""
    update: int
    """Filters of the two layers before Δm."""


TOY = PaperSize(toy_encoder, features=32, state=128, embedding=128, update=32)


def text_size(shrink: int = 1) -> PaperSize:
    """Return the sizes of section 4.1, all divided by `shrink`."""
    return PaperSize(
        lambda inputs: drn_encoder(inputs, shrink),
        features=512 // shrink,
        state=1024 // shrink,
        embedding=512 // shrink,
        update=128 // shrink,
    )


class PaperReader(InductiveModel):
    """The paper's reader.

    At every step, image and memory are encoded, an LSTM with attention predicts the symbols of the
    line, and the memory's update is computed from the attention summed over them.
    """

    kind: ClassVar[Kind] = "reading"

    def __init__(
        self,
        channels: int,
        alphabet: str,
        size: PaperSize = TOY,
        gamma: float = 0.001,
        init: str = "gaussian",
        jitter: float = 0.0,
    ) -> None:
        """Set up the model; `jitter` moves the memory's edges in training, in pixels (the paper has
        none)."""
        super().__init__()
        self.gamma, self.jitter = gamma, jitter
        self.tokens = Tokens(alphabet)
        self.encoder = size.encoder(channels + 1)
        self.decoder = AttentionLstm(size.features, len(self.tokens), size.state, size.embedding)
        self.say = nn.Linear(size.state, len(self.tokens))
        self.delta = nn.Sequential(
            nn.Conv2d(size.features + 1, size.update, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(size.update, size.update, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(size.update, 1, 1),
        )
        initialise(self, init)

    def encode(self, images: Tensor) -> Tensor:
        return images

    def features(self, images: Tensor, memory: Tensor) -> Tensor:
        """Return Ψ([x ‖ m]), (N, C, h, w)."""
        encoded: Tensor = self.encoder(torch.cat([images, memory[:, None]], 1))
        return encoded

    def locate(self, features: Tensor, attention: Tensor, size: tuple[int, int]) -> Tensor:
        """Return Δm, (N, H, W), from the attention (N, h·w) summed over a line."""
        summed = attention.view(len(features), 1, *features.shape[2:])
        coarse = self.delta(torch.cat([features, summed], 1))
        return interpolate(coarse, size, mode="bilinear")[:, 0]

    def loss(self, batch: Batch) -> Tensor:
        """Return -log p(y_t) + γ ‖m_t + Δm_t − m_{t+1}‖² for one step of each sample."""
        assert isinstance(batch, ReadingBatch)
        given = reading_steps(batch, every=False, jitter=self.jitter)
        features = self.features(batch.images, given.memory)
        rows = [
            [self.tokens.end_block] if last else self.tokens.line(text)
            for text, last in zip(given.texts, given.steps.last.tolist(), strict=True)
        ]
        target = pad_tokens(rows, features.device)  # (N, L)
        logits, attention = self.teacher_force(features, target)
        token_loss = cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=-1, reduction="none"
        )
        delta = self.locate(features, attention, given.memory.shape[1:])  # type: ignore[arg-type]
        memory_loss = (delta - given.target).square().sum((1, 2))
        return token_loss.view_as(target).sum(1) + self.gamma * memory_loss

    def teacher_force(self, features: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits (N, L, V) of tokens given the true tokens before them, and the
        attention (N, h·w) summed over the symbols of the line."""
        cells, state = flatten_cells(features), self.decoder.start(len(features), features)
        keys = self.decoder.keys(cells)
        previous = torch.full_like(target[:, 0], -1)
        logits, attention = [], cells.new_zeros(cells.shape[:2])
        for k in range(target.shape[1]):
            decoded = self.decoder(state, cells, keys, previous)
            state, previous = decoded.state, target[:, k]
            logits.append(self.say(state[0]))
            attention = attention + decoded.weights * self._is_symbol(previous)[:, None]
        return torch.stack(logits, 1), attention

    def _is_symbol(self, token: Tensor) -> Tensor:
        """Tell whether tokens are symbols of the alphabet, not ends or padding."""
        return (token >= 0) & (token < self.tokens.end_line)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        features = self.features(encoded, memory)
        cells, state = flatten_cells(features), self.decoder.start(len(features), features)
        keys = self.decoder.keys(cells)
        previous = torch.full((len(features),), -1, device=features.device)
        going = torch.ones_like(previous, dtype=torch.bool)
        attention, predicted = cells.new_zeros(cells.shape[:2]), []
        stop = cells.new_zeros(len(features))
        for k in range(_MAX_SYMBOLS):
            decoded = self.decoder(state, cells, keys, previous)
            state = decoded.state
            logits = self.say(state[0])
            if k == 0:
                stop = logits.softmax(1)[:, self.tokens.end_block]
            previous = logits.argmax(1)
            going = going & self._is_symbol(previous)
            predicted.append(torch.where(going, previous, self.tokens.end_block))
            attention = attention + decoded.weights * going[:, None]
            if not going.any():
                break
        texts = [self.tokens.text(row) for row in torch.stack(predicted, 1).tolist()]
        delta = self.locate(features, attention, memory.shape[1:])  # type: ignore[arg-type]
        return Step(delta, stop, [lines[0] if lines else "" for lines in texts])

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Return m + Δm, clamped to 0 … 1."""
        return (memory + delta).clamp(0, 1)
