"""Block reader: the end-to-end twin of the line reader.

It has the same two parts, one that locates lines and one that reads a strip, but no spatial memory.
Instead, the state of an LSTM keeps track of which line comes next: it controls an attention over
the image, and the attended features are the input of the next state. All steps of a block are
trained at once, and the gradient of the reading loss flows back through the strips, the attention
and the state into the encoder.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.data.batches import Batch, ReadingBatch
from benchmark.evaluation.metrics import Prediction
from benchmark.models.attention import POSITION_CHANNELS, encode_positions
from benchmark.models.contract import Model
from benchmark.models.ctc import greedy_texts
from benchmark.models.layers import PlainUnit, to_grey
from benchmark.models.line_reader import Dilated, LineReader, pad_to_cells
from benchmark.models.reading_loss import group_by_length, line_targets, reading_loss
from benchmark.models.strips import Band, Strips, are_close, cut_strips, mask_bands
from benchmark.tasks.task import Kind

# Weight of the loss of the attention: a line covers a few per cent of an image, so the mean over
# the cells is small.
_ATTENTION_WEIGHT = 20.0
# Subtracted from the logits: most of an image is not part of the attended line.
_LOGIT_OFFSET = 3.0
# Reading ends if the probability that no line is left exceeds the threshold, or after the number of
# lines of the minimal height (in pixels) that fit into the image.
_STOP_THRESHOLD, _MIN_LINE_HEIGHT = 0.5, 4
# Vertical and horizontal dilations, in cells: which line of a block a cell belongs to depends on
# all that is above it.
_DILATIONS = ((1, 2), (2, 4), (4, 8), (8, 4), (16, 2), (1, 1))


class BlockReader(Model):
    """An end-to-end reader: predicts the lines of a block one after the other."""

    kind: ClassVar[Kind] = "reading"
    encoder_parts: ClassVar[dict[str, str]] = {"look": "finder.look", "reader": "reader"}
    """Submodules that can be initialised from a trained line reader, and their names there."""

    def __init__(
        self,
        channels: int,
        alphabet: str,
        state: int = 128,
        step: int = 16,
        error: float = 0.055,
        along: float = 2.0,
        **size: Any,
    ) -> None:
        """Set up the model.

        Parameters
        ----------
        state
            Hidden size of the LSTM.
        step
            Channels of the attention's features.
        error, along, size
            As for `LineReader`.
        """
        super().__init__()
        twin = LineReader(channels, alphabet, error=error, along=along, **size)
        self.alphabet, self.size, self.stride = alphabet, twin.size, twin.stride
        self.errors = twin.errors
        self.look, self.reader = twin.finder.look, twin.reader
        self.attention = LineAttention(twin.size.finder, state, step)
        # From log-probabilities (N, L, 1 + symbols) to texts; `Decoding.apply` may replace it.
        self.decode: Callable[[Tensor], list[str]] = partial(greedy_texts, alphabet=alphabet)

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of attention and stopping, the mean over a block's steps, plus that of
        reading, the mean over its characters.

        The attention is supervised with the locations of the lines. A line is cut out where the
        attention located it; if that is far off, at its true location with a small error.
        """
        assert isinstance(batch, ReadingBatch)
        images = pad_to_cells(to_grey(batch.images), self.stride)
        features = self.attention.contextualise(self.look(images))
        state = self.attention.start(features)
        steps = pad_to_cells(batch.steps, self.stride)[:, None]
        entropy = functional.binary_cross_entropy_with_logits
        losses, masks = batch.images.new_zeros(len(images)), []
        for t in range(int(batch.lengths.max()) + 1):
            attended = self.attention(features, state)
            target = functional.interpolate(
                (steps == t + 1).float(), attended.logits.shape[1:], mode="area"
            )[:, 0]
            located = entropy(attended.logits, target, reduction="none").mean((1, 2))
            stopped = entropy(
                attended.stop, (batch.lengths == t).to(attended.stop), reduction="none"
            )
            losses = losses + (located * _ATTENTION_WEIGHT + stopped) * (batch.lengths >= t)
            masks.append(attended.logits.sigmoid())
            state = attended.state
        losses = losses / (batch.lengths + 1)
        if not batch.train_reader:
            return losses
        return losses + self._reading(batch, images, torch.stack(masks[:-1], 1))

    def _reading(self, batch: ReadingBatch, images: Tensor, masks: Tensor) -> Tensor:
        """Return the reading loss of each sample, (N,), over the lines in masks (N, T, h, w)."""
        targets = line_targets(batch.texts, batch.quads, self.alphabet, self.errors, batch.rngs)
        masks = masks[targets.image, targets.line]
        band = self._band(masks, targets.true, targets.perturbed)
        return reading_loss(
            images,
            targets,
            band,
            group_by_length(band),
            lambda images, cut: self.reader(self._cut(images, cut)),
        )

    def _band(self, masks: Tensor, true: Band, fallback: Band) -> Band:
        """Return the bands of masks (M, h, w), or `fallback` for those far from the truth."""
        with torch.no_grad():
            good = are_close(mask_bands(masks, self.stride), true).nonzero()[:, 0]
        # Only these: gradients of masks that show no line may be NaN.
        band = mask_bands(masks[good], self.stride)
        return Band(
            fallback.left.index_copy(0, good, band.left),
            fallback.right.index_copy(0, good, band.right),
            fallback.heights.index_copy(0, good, band.heights),
        )

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Prediction]:
        """Read the lines of each image until no line is left."""
        images = pad_to_cells(to_grey(images), self.stride)
        features = self.attention.contextualise(self.look(images))
        state = self.attention.start(features)
        active = torch.arange(len(images), device=images.device)
        lines: list[list[str]] = [[] for _ in range(len(images))]
        for _ in range(images.shape[2] // _MIN_LINE_HEIGHT):
            attended = self.attention(features, state)
            going = attended.stop.sigmoid() <= _STOP_THRESHOLD
            if not going.any():
                break
            active, images, features = active[going], images[going], features[going]
            state = attended.state[0][going], attended.state[1][going]
            band = mask_bands(attended.logits[going].sigmoid(), self.stride)
            characters, _ = self.reader(self._cut(images, band))
            for i, text in zip(active.tolist(), self.decode(characters), strict=True):
                lines[i].append(text)
        return [*lines]

    def _cut(self, images: Tensor, band: Band) -> Strips:
        return cut_strips(images, band, self.size.strip)


@dataclass(frozen=True)
class AttendedLine:
    """The result of one step of the attention."""

    logits: Tensor  # (N, h, w) where the line is
    stop: Tensor  # (N,) logits that no line is left
    state: tuple[Tensor, Tensor]  # (N, S) each: hidden and cell state of the LSTM after the step


class LineAttention(nn.Module):
    """An LSTM that attends to one line at each step."""

    def __init__(self, features: int, state: int, step: int) -> None:
        super().__init__()
        self.place = nn.Conv2d(POSITION_CHANNELS, features, 1)
        self.think = nn.Sequential(*(Dilated(features, dilation) for dilation in _DILATIONS))
        self.begin = nn.Linear(features, 2 * state)
        self.query = nn.Linear(state, 2 * step)
        self.key = nn.Conv2d(features, step, 1)
        # Without normalisation: statistics over the steps of a block would mix different inputs.
        self.find = PlainUnit(step)
        self.score = nn.Conv2d(step, 1, 1)
        self.cell = nn.LSTMCell(features, state)
        self.end = nn.Linear(state + 1, 1)

    def contextualise(self, features: Tensor) -> Tensor:
        """Return the features that all steps attend to, (N, C, h, w), with position and context."""
        contextual: Tensor = self.think(features + self.place(encode_positions(features)))
        return contextual

    def start(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return the state before the first line, from the mean over all cells."""
        hidden, cell = self.begin(features.float().mean((2, 3))).chunk(2, 1)
        return torch.tanh(hidden).float(), cell.float()

    def forward(self, features: Tensor, state: tuple[Tensor, Tensor]) -> AttendedLine:
        """Take one step."""
        scale, shift = self.query(state[0])[..., None, None].chunk(2, 1)  # (N, step, 1, 1)
        modulated = self.find(self.key(features) * (1 + scale) + shift)
        logits = self.score(modulated)[:, 0].float() - _LOGIT_OFFSET  # (N, h, w)
        mask = logits.sigmoid()
        # The mean of three cells side by side: a single one is noise, not a line.
        highest = functional.avg_pool2d(mask[:, None], (1, 3), 1).amax((1, 2, 3))  # (N,)
        stop = self.end(torch.cat([state[0], highest[:, None]], 1))[:, 0].float()
        weights = mask / mask.sum((1, 2), keepdim=True).clamp(min=1e-3)
        context = torch.einsum("nhw,nchw->nc", weights, features.float())
        hidden, cell = self.cell(context, state)
        return AttendedLine(logits, stop, (hidden.float(), cell.float()))
