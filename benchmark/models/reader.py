"""Readers: inductive models that read a block line by line (section 4.1 and the appendix)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate

from benchmark.data.alphabets import ALPHABETS
from benchmark.data.batches import Batch, ReadingBatch
from benchmark.models.attention import AttentionLstm, flat
from benchmark.models.contract import InductiveModel
from benchmark.models.drn import drn_encoder
from benchmark.models.layers import BatchNorm, initialise
from benchmark.models.line_reader import LineReader
from benchmark.models.step import Step
from benchmark.models.step_targets import reading_steps
from benchmark.models.tokens import Tokens, pad
from benchmark.tasks.task import Kind, ReadingTask
from ivl_shards import UserError

# Symbols of a line beyond which a decoder is taken to be lost.
_LONGEST = 200


def toy_encoder(inputs: int) -> nn.Sequential:
    """Six convolutions, four of 16 and two of 32 filters, pooled after the second and fourth."""
    layers: list[nn.Module] = []
    for k, filters in enumerate((16, 16, 16, 16, 32, 32)):
        layers += [nn.Conv2d(inputs, filters, 3, padding=1), nn.ReLU()]
        if k in (1, 3):
            layers.append(nn.MaxPool2d(2))
        inputs = filters
    return nn.Sequential(*layers)


def wide_toy_encoder(inputs: int) -> nn.Sequential:
    """The same with more filters and normalised: without, what an LSTM over whole blocks is to
    learn hardly begins in a few thousand samples."""
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
    """How large a reader of the paper's is."""

    encoder: Callable[[int], nn.Module]
    """Channels → what makes features of them."""
    features: int
    state: int
    """Of the LSTM."""
    embedding: int
    """Of the attention."""
    update: int
    """Filters of the two layers before Δm."""


TOY = PaperSize(toy_encoder, features=32, state=128, embedding=128, update=32)


def text_size(shrink: int = 1) -> PaperSize:
    """The sizes of section 4.1; with `shrink`, so many times fewer of everything."""
    return PaperSize(
        lambda inputs: drn_encoder(inputs, shrink),
        features=512 // shrink,
        state=1024 // shrink,
        embedding=512 // shrink,
        update=128 // shrink,
    )


class PaperReader(InductiveModel):
    """The paper's: at every step image and memory are encoded anew, an LSTM with attention says
    the line, and the attention, summed up, becomes the memory's update."""

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
        """`jitter` moves the memory's edges in training, in pixels; the paper speaks of none."""
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
        """Ψ([x ‖ m]), (N, C, h, w)."""
        encoded: Tensor = self.encoder(torch.cat([images, memory[:, None]], 1))
        return encoded

    def locate(self, features: Tensor, attention: Tensor, size: tuple[int, int]) -> Tensor:
        """Δm, (N, H, W), from the attention (N, h·w) summed over a line."""
        summed = attention.view(len(features), 1, *features.shape[2:])
        coarse = self.delta(torch.cat([features, summed], 1))
        return interpolate(coarse, size, mode="bilinear")[:, 0]

    def loss(self, batch: Batch) -> Tensor:
        """-log p(y_t) + γ ‖m_t + Δm_t − m_{t+1}‖², for one step of each sample."""
        assert isinstance(batch, ReadingBatch)
        given = reading_steps(batch, every=False, jitter=self.jitter)
        features = self.features(batch.images, given.memory)
        rows = [
            [self.tokens.end_block] if last else self.tokens.line(text)
            for text, last in zip(given.texts, given.steps.last.tolist(), strict=True)
        ]
        wanted = pad(rows, features.device)  # (N, L)
        logits, attention = self.follow(features, wanted)
        token = cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=-1, reduction="none"
        )
        delta = self.locate(features, attention, given.memory.shape[1:])  # type: ignore[arg-type]
        off = (delta - given.target).square().sum((1, 2))
        return token.view_as(wanted).sum(1) + self.gamma * off

    def follow(self, features: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (N, L, V) of tokens when those before are right, and the attention (N, h·w)
        summed over the symbols of the line."""
        places, state = flat(features), self.decoder.start(len(features), features)
        keys = self.decoder.keys(places)
        previous = torch.full_like(wanted[:, 0], -1)
        logits, attention = [], places.new_zeros(places.shape[:2])
        for k in range(wanted.shape[1]):
            looked = self.decoder(state, places, keys, previous)
            state, previous = looked.state, wanted[:, k]
            logits.append(self.say(state[0]))
            attention = attention + looked.weights * self._symbol(previous)[:, None]
        return torch.stack(logits, 1), attention

    def _symbol(self, token: Tensor) -> Tensor:
        """Whether a token is one of the alphabet's, not an end nor padding."""
        return (token >= 0) & (token < self.tokens.end_line)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        features = self.features(encoded, memory)
        places, state = flat(features), self.decoder.start(len(features), features)
        keys = self.decoder.keys(places)
        previous = torch.full((len(features),), -1, device=features.device)
        going = torch.ones_like(previous, dtype=torch.bool)
        attention, said = places.new_zeros(places.shape[:2]), []
        stop = places.new_zeros(len(features))
        for k in range(_LONGEST):
            looked = self.decoder(state, places, keys, previous)
            state = looked.state
            logits = self.say(state[0])
            if k == 0:
                stop = logits.softmax(1)[:, self.tokens.end_block]
            previous = logits.argmax(1)
            going = going & self._symbol(previous)
            said.append(torch.where(going, previous, self.tokens.end_block))
            attention = attention + looked.weights * going[:, None]
            if not going.any():
                break
        texts = [self.tokens.text(row) for row in torch.stack(said, 1).tolist()]
        delta = self.locate(features, attention, memory.shape[1:])  # type: ignore[arg-type]
        return Step(delta, stop, [lines[0] if lines else "" for lines in texts])

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """m + Δm, kept between 0 and 1."""
        return (memory + delta).clamp(0, 1)


def build_reader(task: ReadingTask, preset: str, options: dict[str, Any]) -> InductiveModel:
    """The reader of a preset: the paper's sees colours, the fast one shades of grey."""
    if preset != "paper":
        others = {name: value for name, value in options.items() if name != "alphabet"}
        return LineReader(1, text_alphabet(task, options), **others)
    if not task.photographs:
        return PaperReader(task.channels, task.alphabet, **options)
    others = {name: value for name, value in options.items() if name != "shrink"}
    size = text_size(int(options.get("shrink", 1)))
    return PaperReader(task.channels, task.alphabet, size, **others)


def alphabet_name(task: ReadingTask, options: Mapping[str, Any]) -> str:
    """The name of a line reader's alphabet; weights that do not state one are older and know
    letters alone."""
    return str(options.get("alphabet", "letters" if task.photographs else ""))


def text_alphabet(task: ReadingTask, options: Mapping[str, Any]) -> str:
    """The symbols of a line reader."""
    name = alphabet_name(task, options)
    if not task.photographs:
        if name:
            raise UserError(f"alphabet '{name}': {task.name} has one of its own")
        return task.alphabet
    if name not in ALPHABETS:
        raise UserError(f"alphabet '{name}': {' or '.join(ALPHABETS)}")
    return ALPHABETS[name]
