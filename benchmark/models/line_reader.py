"""Line reader: our fast reader, which finds the next line, rectifies it and reads it.

The input of each inductive step is the image and the memory m_t of the lines read so far. The step
predicts where the next line is (Δm_t), its text, and whether nothing is left. Two parts do this:

- The *finder* encodes the image once and the memory at every step, both on a coarse grid: a low
  resolution is enough to locate lines. The cells of the grid are wider than high, because lines
  are long and close to the next.
- The *strip reader* reads the line that the finder found, cut out of the image and rectified (see
  `strips`). Nearly all the computation is here, and none of it is spent on background.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.data.batches import Batch, ReadingBatch, image_batch
from benchmark.models.contract import InductiveModel
from benchmark.models.ctc import greedy_texts, text_confidence
from benchmark.models.layers import BatchNorm, to_grey
from benchmark.models.pyramid_finder import PyramidFinder
from benchmark.models.reading_loss import group_by_length, line_targets, reading_loss
from benchmark.models.step import Step
from benchmark.models.step_targets import ReadingSteps, reading_steps
from benchmark.models.strip_reader import COLUMNS, ResidualReader, StripReader
from benchmark.models.strips import (
    Band,
    Strips,
    StripShape,
    are_close,
    cut_strips,
    mask_bands,
    select_bands,
)
from benchmark.options import Option, whole, wholes
from benchmark.tasks.task import Kind
from ivl_shards import UserError
from ivl_shards.format.schema import Array

# Weight of the loss of Δm: a line covers a few per cent of an image, so the mean over the cells is
# small.
_DELTA_WEIGHT = 20.0


_STRIDE = wholes(2, 1, 4)
STRIDES = Option(
    "a list of 1 to 4 pairs of whole numbers from 1 to 4",
    lambda value: (
        isinstance(value, (list, tuple)) and 1 <= len(value) <= 4 and all(map(_STRIDE.fits, value))
    ),
)
ROWS = Option(
    "a multiple of 8 from 8 to 128", lambda value: whole(8, 128).fits(value) and value % 8 == 0
)


@dataclass(frozen=True)
class ReaderSize:
    """The size of a line reader; the defaults are those for text blocks."""

    strides: tuple[tuple[int, int], ...] = ((2, 2), (2, 2), (1, 2))
    """Vertical and horizontal strides of the layers from pixels to the finder's grid."""
    finder: int = 32
    """Channels of the finder's image features."""
    step: int = 16
    """Channels of the features that combine image and memory."""
    rows: int = 24
    """Height of a strip; a multiple of 8."""
    extent: float = 0.0
    """Height in pixels at which every line is cut out; 0: its own. All lines need one scale where
    two symbols differ in size alone."""
    squeeze: float = 1.0
    """Distance between columns over that between rows."""
    columns: int = 720
    """Maximal length of a strip."""
    padding: str = "border"
    """What lies outside of the image, for strips: `border`, the nearest pixels of the image, as
    suits photographs, or `zeros`, the ground of drawings."""
    layers: str = "plain"
    """Architecture of the strip reader: `plain` or `residual`."""
    reader: tuple[int, ...] = (32, 64, 96, 128, 160)
    """Channels of the strip reader's five layers, or of its stem, three stages and sequence."""
    hidden: int = 160
    """Hidden size of its LSTM in each direction."""
    momentum: float = 0.1
    """Momentum of the running statistics in the finder's batch normalisation."""
    scales: str = "one"
    """`one`: the finder is made for lines of about one height; `many`: for lines of any height, up
    to that of the image."""

    @property
    def strip(self) -> StripShape:
        """The shape of the strips."""
        return StripShape(self.rows, self.columns, self.squeeze, self.padding)


@dataclass(frozen=True)
class Reading:
    """What was read in a strip."""

    text: str
    probability: float
    """That of the best alignment."""
    confidence: float


def most_probable(readings: Sequence[Reading]) -> Reading:
    """Return the reading of a line whose text has the highest total probability.

    >>> views = [Reading("a", 0.5, 0.7), Reading("b", 0.6, 0.8), Reading("a", 0.4, 0.6)]
    >>> most_probable(views).text
    'a'
    """
    total: dict[str, float] = defaultdict(float)
    for each in readings:
        total[each.text] += each.probability
    return max(readings, key=lambda each: (total[each.text], each.probability))


class LineReader(InductiveModel):
    """An inductive reader that finds the next line of a block, then reads it.

    Images are converted to grey: colour does not distinguish letters.
    """

    kind: ClassVar[Kind] = "reading"
    encoder_parts: ClassVar[dict[str, str]] = {"reader": "reader"}

    def __init__(
        self,
        channels: int,
        alphabet: str,
        jitter: float = 1.3,
        error: float = 0.06,
        along: float = 1.0,
        views: int = 1,
        **size: Any,
    ) -> None:
        """Set up the model.

        Parameters
        ----------
        jitter
            Standard deviation in pixels by which the edges of the memory are moved in training.
        error
            Standard deviation of the error with which lines are cut out in training, over their
            height. Both noises imitate the errors that the model itself makes when it reads.
        along
            The same along the line and for its height, over `error`.
        views
            How many times a line is cut out and read at test time, see `read`.
        size
            Fields of `ReaderSize`.
        """
        super().__init__()
        self.alphabet, self.jitter = alphabet, jitter
        self.errors = error * np.array([along, 1, along, 1, along])
        self.size, self.views = ReaderSize(**size), views
        self.stride = _product(self.size.strides)
        self.finder = _finder(channels, self.size)
        for module in self.finder.modules():
            if isinstance(module, BatchNorm):
                module.momentum = self.size.momentum
        self.reader = _strip_reader(channels, len(alphabet), self.size)
        # From log-probabilities (N, L, 1 + symbols) to texts; `Decoding.apply` may replace it.
        self.decode: Callable[[Tensor], list[str]] = partial(greedy_texts, alphabet=alphabet)

    def encode(self, images: Tensor) -> Tensor:
        """Return the features that all steps of a block share, (N, D, h, w).

        They include the pixels themselves, folded into channels, because strips are cut out of
        them later.
        """
        padded = pad_to_cells(to_grey(images), self.stride)
        return torch.cat([self.finder.look(padded), _fold(padded, self.stride)], 1)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        step = self.find(encoded, memory)
        assert step.band is not None
        pixels = _unfold(encoded[:, self.size.finder :], self.stride)
        texts, confidence = self.read(pixels, step.band)
        return replace(step, outputs=texts, confidence=confidence)

    def find(self, encoded: Tensor, memory: Tensor) -> Step:
        """Find the next line without reading it; the bands are in pixels of the image."""
        padded = pad_to_cells(memory, self.stride)
        logits, stop = self.finder(encoded[:, : self.size.finder], padded)
        coarse = logits.sigmoid()
        full = functional.interpolate(coarse[:, None], padded.shape[1:], mode="bilinear")[:, 0]
        _, height, width = memory.shape
        delta = full[:, :height, :width]
        return Step(delta, stop.sigmoid(), band=mask_bands(coarse, self.stride))

    def read(self, images: Tensor, band: Band) -> tuple[list[str], Tensor]:
        """Read N bands of N grey images (N, 1, H, W), one of each.

        Each line is cut out `views` times, each time a fraction of an LSTM step earlier, and the
        text with the highest total probability is kept. A symbol between two frames may be left
        out, or read in both of them; in another view it lies in one frame.

        Returns the texts and the confidence in each, (N,).
        """
        leads = [COLUMNS * k / self.views for k in range(self.views)]
        views = [self._read_view(images, band, lead) for lead in leads]
        chosen = [most_probable(readings) for readings in zip(*views, strict=True)]
        confidence = torch.tensor([each.confidence for each in chosen], device=images.device)
        return [each.text for each in chosen], confidence

    def _read_view(self, images: Tensor, band: Band, lead: float) -> list[Reading]:
        scores, _ = self.reader(self._cut(images, band, lead))
        probability, confidence = scores.amax(2).sum(1).exp(), text_confidence(scores)
        parts = self.decode(scores), probability.tolist(), confidence.tolist()
        return [Reading(*each) for each in zip(*parts, strict=True)]

    @torch.no_grad()
    def read_lines(self, picture: Array, band: Band) -> list[tuple[str, float]]:
        """Read the lines in bands of a picture (H, W) or (H, W, 3), each with its confidence."""
        pixels = to_grey(image_batch(picture[None]))
        lines = [("", 0.0)] * len(band.left)
        for rows in group_by_length(band):
            texts, confidence = self.read(pixels.expand(len(rows), -1, -1, -1), band[rows])
            for row, text, score in zip(rows.tolist(), texts, confidence.tolist(), strict=True):
                lines[row] = text, score
        return lines

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Return m + Δm, clamped to 0 … 1."""
        return (memory + delta).clamp(0, 1)

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of finding and stopping, the mean over a block's steps, plus that of
        reading, the mean over its characters.

        The two parts are trained in parallel: lines are cut out at their true locations with
        errors like the finder's, so that reading does not wait for finding. Lines that the finder
        locates well enough are cut out where it found them.
        """
        assert isinstance(batch, ReadingBatch)
        batch = replace(batch, images=to_grey(batch.images))
        if not batch.train_finder:
            return self._reading(batch, None)
        given = reading_steps(batch, every=True, jitter=self.jitter)
        losses, found = self._finding(batch.images, given)
        return given.steps.mean(losses, len(batch.images)) + self._reading(batch, found)

    def _finding(self, images: Tensor, given: ReadingSteps) -> tuple[Tensor, Band]:
        """Return the losses of the steps, (M,), and the bands found in all but the last steps."""
        padded = pad_to_cells(images, self.stride)
        features = self.finder.look(padded)[given.steps.sample]
        logits, stop = self.finder(features, pad_to_cells(given.memory, self.stride))
        logits, stop = logits.float(), stop.float()
        target = _coarse(pad_to_cells(given.target, self.stride), logits)
        entropy = functional.binary_cross_entropy_with_logits
        delta_loss = entropy(logits, target, reduction="none").mean((1, 2))
        stop_loss = entropy(stop, given.steps.last.to(stop), reduction="none")
        found = mask_bands(logits.detach().sigmoid()[~given.steps.last], self.stride)
        return delta_loss * _DELTA_WEIGHT + stop_loss, found

    def _reading(self, batch: ReadingBatch, found: Band | None) -> Tensor:
        """Return the reading loss of each sample, (N,), over its lines, or over its words where
        training begins with them."""
        texts, quads = batch.texts, batch.quads
        if batch.word_texts is not None and batch.word_quads is not None:
            texts, quads, found = batch.word_texts, batch.word_quads, None
        targets = line_targets(texts, quads, self.alphabet, self.errors, batch.rngs)
        band = targets.perturbed
        if found is not None:
            band = select_bands(are_close(found, targets.true), found, band)
        groups = group_by_length(band, synchronised=self.size.layers == "plain")
        return reading_loss(
            batch.images,
            targets,
            band,
            groups,
            lambda images, cut: self.reader(self._cut(images, cut)),
        )

    def _cut(self, images: Tensor, band: Band, lead: float = 0.0) -> Strips:
        if self.size.extent:
            band = band.with_height(self.size.extent)
        return cut_strips(images, band, self.size.strip, lead)


class Finder(nn.Module):
    """Predicts where the next line is and whether there is one."""

    def __init__(self, channels: int, size: ReaderSize) -> None:
        super().__init__()
        wide, narrow = size.finder, size.step
        stem: list[nn.Module] = []
        for i, stride in enumerate(size.strides):
            after = wide if i else wide // 2
            stem.append(_conv(channels, after, 5 if i == 0 else 3, stride))
            channels = after
        self.look = nn.Sequential(*stem, *(Dilated(wide, d) for d in ((1, 1), (1, 2), (2, 4))))
        self.join = _conv(2 * wide + 1, narrow, 3)
        # Whether a line is the next one depends on all that is above any part of it, and a line
        # may be tilted and as long as the image: the receptive field is wider than high.
        dilations = ((1, 1), (1, 2), (2, 4), (2, 8), (3, 16), (1, 1))
        self.think = nn.Sequential(*(Dilated(narrow, d) for d in dilations))
        self.delta = nn.Conv2d(narrow, 1, 1)
        # Nothing is left if nothing is found: initialised to stop if the maximum is below 0.5.
        self.stop_weight = nn.Parameter(torch.tensor(-10.0))
        self.stop_bias = nn.Parameter(torch.tensor(5.0))

    def forward(self, features: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of Δm (N, h, w) and of stopping (N,), from the output of `look` and
        memories (N, H, W)."""
        memory = _coarse(memory, features)[:, None].to(features.dtype)  # (N, 1, h, w)
        state = self.think(self.join(torch.cat([features, features * (1 - memory), memory], 1)))
        logits: Tensor = self.delta(state)
        # The mean of three cells side by side: a single one is noise, not a line.
        highest = functional.avg_pool2d(logits.sigmoid(), (1, 3), 1).amax((1, 2, 3))
        return logits[:, 0], self.stop_weight * highest + self.stop_bias


def _finder(channels: int, size: ReaderSize) -> "Finder | PyramidFinder":
    if size.scales == "one":
        return Finder(channels, size)
    if size.scales == "many":
        return PyramidFinder(channels, size.strides, size.finder, size.step)
    raise UserError(f"scales '{size.scales}': one or many")


def _strip_reader(channels: int, symbols: int, size: ReaderSize) -> nn.Module:
    if size.layers == "plain":
        return StripReader(channels, symbols, size.rows, tuple(size.reader), size.hidden)
    if size.layers == "residual":
        return ResidualReader(channels, symbols, size.rows, tuple(size.reader), size.hidden)
    raise UserError(f"layers '{size.layers}': plain or residual")


class Dilated(nn.Module):
    """A residual layer with a dilated convolution."""

    def __init__(self, channels: int, dilation: tuple[int, int]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            channels, channels, 3, padding=dilation, dilation=dilation, bias=False
        )
        self.norm = BatchNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer: (N, C, h, w) → (N, C, h, w)."""
        return functional.relu(x + self.norm(self.conv(x)))


def _conv(before: int, after: int, kernel: int, stride: tuple[int, int] = (1, 1)) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False),
        BatchNorm(after),
        nn.ReLU(),
    )


def _product(strides: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    down = across = 1
    for d, a in strides:
        down, across = down * d, across * a
    return down, across


def pad_to_cells(maps: Tensor, stride: tuple[int, int]) -> Tensor:
    """Pad maps (…, H, W) below and on the right to multiples of the grid's cells."""
    below, right = -maps.shape[-2] % stride[0], -maps.shape[-1] % stride[1]
    return functional.pad(maps, (0, right, 0, below)) if below or right else maps


def _coarse(maps: Tensor, like: Tensor) -> Tensor:
    """Average maps (N, H, W) over the cells of the grid of `like`, (…, h, w)."""
    size = like.shape[-2:]
    return functional.interpolate(maps[:, None].float(), size=size, mode="area")[:, 0]


def _fold(images: Tensor, stride: tuple[int, int]) -> Tensor:
    """Fold the pixels of each cell into channels: (N, C, H, W) → (N, C · down · across, h, w)."""
    n, c, height, width = images.shape
    down, across = stride
    cells = images.reshape(n, c, height // down, down, width // across, across)
    return cells.permute(0, 1, 3, 5, 2, 4).reshape(
        n, c * down * across, height // down, width // across
    )


def _unfold(folded: Tensor, stride: tuple[int, int]) -> Tensor:
    """Invert `_fold`."""
    n, c, h, w = folded.shape
    down, across = stride
    cells = folded.reshape(n, c // (down * across), down, across, h, w)
    return cells.permute(0, 1, 4, 2, 5, 3).reshape(n, -1, h * down, w * across)
