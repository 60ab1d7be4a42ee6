"""End to end: soft-attention LSTMs over whole sequences, with the encoders of the others.

They have no memory but the LSTM's state, and are trained on all steps of a sequence at once. The
fast one for text is in `block_reader`.
"""

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, binary_cross_entropy_with_logits, cross_entropy

from benchmark.data.batches import Batch, CountingBatch, ReadingBatch
from benchmark.evaluation.metrics import Prediction
from benchmark.models.attention import POSITIONS, AttentionLstm, flat, positions
from benchmark.models.block_reader import BlockReader
from benchmark.models.contract import Model
from benchmark.models.counting_encoders import DrawingEncoder, PhotoEncoder, counting_encoder
from benchmark.models.equivariant import WAYS
from benchmark.models.layers import initialise
from benchmark.models.reader import TOY, PaperSize, text_alphabet, text_size, wide_toy_encoder
from benchmark.models.tokens import Tokens, pad
from benchmark.tasks.task import Kind, ReadingTask, Task

# Symbols and objects beyond which a model is taken to be lost.
_LONGEST = 1000
_MOST = 200
_STOP = 0.5
_SPARSE = 32.0


class EndToEndCounter(Model):
    """Says 0 for each object and 1 at the end."""

    kind: ClassVar[Kind] = "counting"

    def __init__(self, encoder: nn.Module, features: int, init: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.begin = nn.Linear(features, 2 * 128)
        self.decoder = AttentionLstm(features, 2, state=128, embedding=128)
        self.say = nn.Linear(128, 1)
        initialise(self, init)

    def start(self, images: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Features (N, h·w, C), and the first state, from their mean."""
        places = flat(self.encoder(images))
        # Objects are few and small, so the mean over all places is too.
        hidden, cell = self.begin(_SPARSE * places.mean(1)).chunk(2, 1)
        return places, (torch.tanh(hidden), cell)

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy of the whole sequence."""
        assert isinstance(batch, CountingBatch)
        places, state = self.start(batch.images)
        keys = self.decoder.keys(places)
        previous = torch.full_like(batch.lengths, -1)
        total = places.new_zeros(len(places))
        for k in range(int(batch.lengths.max()) + 1):
            looked = self.decoder(state, places, keys, previous)
            state, previous = looked.state, torch.zeros_like(previous)
            end = (batch.lengths == k).float()
            entropy = binary_cross_entropy_with_logits(
                self.say(state[0])[:, 0], end, reduction="none"
            )
            total = total + entropy * (batch.lengths >= k)
        return total

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Prediction]:
        places, state = self.start(images)
        keys = self.decoder.keys(places)
        previous = torch.full((len(images),), -1, device=images.device)
        counts = torch.full((len(images),), _MOST, device=images.device)
        for k in range(_MOST):
            looked = self.decoder(state, places, keys, previous)
            state, previous = looked.state, torch.zeros_like(previous)
            ends = (self.say(state[0])[:, 0].sigmoid() > _STOP) & (counts == _MOST)
            counts[ends] = k
            if (counts < _MOST).all():
                break
        return counts.tolist()


class EndToEndReader(Model):
    """Says the symbols of all lines in one go."""

    kind: ClassVar[Kind] = "reading"

    def __init__(
        self, channels: int, alphabet: str, size: PaperSize, init: str, placed: bool, pool: int
    ) -> None:
        """`placed`: attention also knows where a feature is, not only what it is; `pool`:
        features are averaged over squares of so many places."""
        super().__init__()
        self.tokens, self.placed, self.pool = Tokens(alphabet), placed, pool
        self.encoder = size.encoder(channels)
        features = size.features + (POSITIONS if placed else 0)
        self.decoder = AttentionLstm(features, len(self.tokens), size.state, size.embedding)
        self.say = nn.Linear(size.state, len(self.tokens))
        initialise(self, init)

    def look(self, images: Tensor) -> Tensor:
        """Features, (N, h·w, C)."""
        seen: Tensor = self.encoder(images)
        if self.pool > 1:
            seen = avg_pool2d(seen, self.pool, ceil_mode=True)
        if self.placed:
            where = positions(seen).expand(len(seen), -1, -1, -1)
            seen = torch.cat([seen, where], 1)
        return flat(seen)

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy of the whole sequence, each token given those before."""
        assert isinstance(batch, ReadingBatch)
        wanted = pad([self.tokens.block(lines) for lines in batch.texts], batch.images.device)
        places = self.look(batch.images)
        keys, state = self.decoder.keys(places), self.decoder.start(len(places), places)
        previous = torch.full_like(wanted[:, 0], -1)
        total = places.new_zeros(len(places))
        for k in range(wanted.shape[1]):
            looked = self.decoder(state, places, keys, previous)
            state, previous = looked.state, wanted[:, k]
            total = total + cross_entropy(
                self.say(state[0]), previous, ignore_index=-1, reduction="none"
            )
        return total

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Prediction]:
        places = self.look(images)
        keys, state = self.decoder.keys(places), self.decoder.start(len(places), places)
        previous = torch.full((len(images),), -1, device=images.device)
        ended = torch.zeros_like(previous, dtype=torch.bool)
        said = []
        for _ in range(_LONGEST):
            looked = self.decoder(state, places, keys, previous)
            state = looked.state
            previous = self.say(state[0]).argmax(1)
            said.append(previous)
            ended = ended | (previous == self.tokens.end_block)
            if ended.all():
                break
        return [self.tokens.text(row) for row in torch.stack(said, 1).tolist()]


def build_end_to_end(task: Task, preset: str, options: dict[str, Any]) -> Model:
    """Build the end-to-end twin of an inductive model: the same encoder, without a memory."""
    init = str(options.get("init", "gaussian" if preset == "paper" else "own"))
    if not isinstance(task, ReadingTask):
        encoder, features = _counting_encoder(task, preset, options)
        return EndToEndCounter(encoder, features, init)
    if task.photographs and preset == "fast":
        others = {name: value for name, value in options.items() if name != "alphabet"}
        return BlockReader(1, text_alphabet(task, options), **others)
    # For shapes a quarter of the places is enough, and soon searched.
    pool = 2 if preset == "fast" else 1
    size = _size(task, preset, options)
    return EndToEndReader(task.channels, task.alphabet, size, init, preset == "fast", pool)


def _counting_encoder(task: Task, preset: str, options: dict[str, Any]) -> tuple[nn.Module, int]:
    """Return the encoder and its number of features."""
    if preset == "paper":
        return counting_encoder(task.channels), 32
    if task.photographs:
        fields = options["fields"]
        return PhotoEncoder(task.channels, fields), len(WAYS) * fields[1]
    width = int(options.get("width", 48))
    return DrawingEncoder(task.channels, width), width


def _size(task: Task, preset: str, options: dict[str, Any]) -> PaperSize:
    """Of a reader that says one symbol after the other."""
    if task.photographs:
        return text_size(int(options.get("shrink", 1)))
    return TOY if preset == "paper" else replace(TOY, encoder=wide_toy_encoder, features=64)
