"""End-to-end models: soft-attention LSTMs over whole sequences, with the encoders of the inductive
models.

They have no memory but the LSTM's state, and are trained on all steps of a sequence at once. The
fast one for text is in `block_reader`.
"""

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, binary_cross_entropy_with_logits, cross_entropy

from benchmark.data.alphabets import reader_alphabet
from benchmark.data.batches import Batch, CountingBatch, ReadingBatch
from benchmark.evaluation.metrics import Prediction
from benchmark.models.attention import (
    POSITION_CHANNELS,
    AttentionLstm,
    encode_positions,
    flatten_cells,
)
from benchmark.models.block_reader import BlockReader
from benchmark.models.contract import Model
from benchmark.models.counting_encoders import DrawingEncoder, PhotoEncoder, counting_encoder
from benchmark.models.equivariant import SYMMETRIES
from benchmark.models.layers import initialise
from benchmark.models.paper_reader import TOY, PaperSize, text_size, wide_toy_encoder
from benchmark.models.tokens import Tokens, pad_tokens
from benchmark.tasks.task import Kind, ReadingTask, Task

# Longest sequences that are decoded: a model that has not ended by then will not.
_MAX_SYMBOLS = 1000
_MAX_OBJECTS = 200
_STOP_THRESHOLD = 0.5
# Objects are few and small, so the mean of the features over all cells is scaled up.
_MEAN_SCALE = 32.0


class EndToEndCounter(Model):
    """Predicts the token 0 for each object and 1 at the end."""

    kind: ClassVar[Kind] = "counting"

    def __init__(self, encoder: nn.Module, features: int, init: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.begin = nn.Linear(features, 2 * 128)
        self.decoder = AttentionLstm(features, 2, state=128, embedding=128)
        self.say = nn.Linear(128, 1)
        initialise(self, init)

    def start(self, images: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the features (N, h·w, C), and the first state, from their mean."""
        cells = flatten_cells(self.encoder(images))
        hidden, cell = self.begin(_MEAN_SCALE * cells.mean(1)).chunk(2, 1)
        return cells, (torch.tanh(hidden), cell)

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy of the whole sequence."""
        assert isinstance(batch, CountingBatch)
        cells, state = self.start(batch.images)
        keys = self.decoder.keys(cells)
        previous = torch.full_like(batch.lengths, -1)
        total = cells.new_zeros(len(cells))
        for k in range(int(batch.lengths.max()) + 1):
            state = self.decoder(state, cells, keys, previous).state
            previous = torch.zeros_like(previous)
            end = (batch.lengths == k).float()
            entropy = binary_cross_entropy_with_logits(
                self.say(state[0])[:, 0], end, reduction="none"
            )
            total = total + entropy * (batch.lengths >= k)
        return total

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Prediction]:
        """Count until the model predicts the end."""
        cells, state = self.start(images)
        keys = self.decoder.keys(cells)
        previous = torch.full((len(images),), -1, device=images.device)
        counts = torch.full((len(images),), _MAX_OBJECTS, device=images.device)
        for k in range(_MAX_OBJECTS):
            state = self.decoder(state, cells, keys, previous).state
            previous = torch.zeros_like(previous)
            stop = self.say(state[0])[:, 0].sigmoid() > _STOP_THRESHOLD
            counts[stop & (counts == _MAX_OBJECTS)] = k
            if (counts < _MAX_OBJECTS).all():
                break
        return counts.tolist()


class EndToEndReader(Model):
    """Predicts the symbols of all lines as one sequence."""

    kind: ClassVar[Kind] = "reading"

    def __init__(
        self, channels: int, alphabet: str, size: PaperSize, init: str, positional: bool, pool: int
    ) -> None:
        """Set up the model: `positional` adds a positional encoding to the features, `pool` is the
        side of the squares over which they are averaged."""
        super().__init__()
        self.tokens, self.positional, self.pool = Tokens(alphabet), positional, pool
        self.encoder = size.encoder(channels)
        features = size.features + (POSITION_CHANNELS if positional else 0)
        self.decoder = AttentionLstm(features, len(self.tokens), size.state, size.embedding)
        self.say = nn.Linear(size.state, len(self.tokens))
        initialise(self, init)

    def features(self, images: Tensor) -> Tensor:
        """Return the features that the decoder attends to, (N, h·w, C)."""
        encoded: Tensor = self.encoder(images)
        if self.pool > 1:
            encoded = avg_pool2d(encoded, self.pool, ceil_mode=True)
        if self.positional:
            positions = encode_positions(encoded).expand(len(encoded), -1, -1, -1)
            encoded = torch.cat([encoded, positions], 1)
        return flatten_cells(encoded)

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy of the whole sequence, each token given those before."""
        assert isinstance(batch, ReadingBatch)
        rows = [self.tokens.block(lines) for lines in batch.texts]
        target = pad_tokens(rows, batch.images.device)
        cells = self.features(batch.images)
        keys, state = self.decoder.keys(cells), self.decoder.start(len(cells), cells)
        previous = torch.full_like(target[:, 0], -1)
        total = cells.new_zeros(len(cells))
        for k in range(target.shape[1]):
            state = self.decoder(state, cells, keys, previous).state
            previous = target[:, k]
            total = total + cross_entropy(
                self.say(state[0]), previous, ignore_index=-1, reduction="none"
            )
        return total

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Prediction]:
        """Decode each block greedily until its end."""
        cells = self.features(images)
        keys, state = self.decoder.keys(cells), self.decoder.start(len(cells), cells)
        previous = torch.full((len(images),), -1, device=images.device)
        ended = torch.zeros_like(previous, dtype=torch.bool)
        predicted = []
        for _ in range(_MAX_SYMBOLS):
            state = self.decoder(state, cells, keys, previous).state
            previous = self.say(state[0]).argmax(1)
            predicted.append(previous)
            ended = ended | (previous == self.tokens.end_block)
            if ended.all():
                break
        return [self.tokens.text(row) for row in torch.stack(predicted, 1).tolist()]


def build_end_to_end(task: Task, preset: str, options: dict[str, Any]) -> Model:
    """Build the end-to-end twin of an inductive model: the same encoder, without a memory."""
    init = str(options.get("init", "gaussian" if preset == "paper" else "own"))
    if not isinstance(task, ReadingTask):
        encoder, features = _counting_encoder(task, preset, options)
        return EndToEndCounter(encoder, features, init)
    if task.photographs and preset != "paper":
        others = {name: value for name, value in options.items() if name != "alphabet"}
        return BlockReader(1, reader_alphabet(task, options), **others)
    # A quarter of the cells is enough for shapes, and attention over them is fast.
    pool = 1 if preset == "paper" else 2
    size = _size(task, preset, options)
    return EndToEndReader(task.channels, task.alphabet, size, init, preset != "paper", pool)


def _counting_encoder(task: Task, preset: str, options: dict[str, Any]) -> tuple[nn.Module, int]:
    """Return the encoder and its number of features."""
    if preset == "paper":
        return counting_encoder(task.channels), 32
    if task.photographs:
        fields = options["fields"]
        return PhotoEncoder(task.channels, fields), len(SYMMETRIES) * fields[1]
    width = int(options.get("width", 48))
    return DrawingEncoder(task.channels, width), width


def _size(task: Task, preset: str, options: dict[str, Any]) -> PaperSize:
    """Return the size of a reader that predicts one symbol after the other."""
    if task.photographs:
        return text_size(int(options.get("shrink", 1)))
    return TOY if preset == "paper" else replace(TOY, encoder=wide_toy_encoder, features=64)
