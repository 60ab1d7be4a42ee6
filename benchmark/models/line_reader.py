"""Line reader: our fast reader, which finds the next line, lays it straight and reads it.

Each step of the induction looks at the image and at the memory m_t of the lines read so far. It
says where the next line is (Δm_t), what it says, and whether nothing is left. Two parts do this:

- The *finder* sees the image once a block and the memory at every step, both on a coarse grid,
  for where lines are is plain from afar. The cells of the grid are wider than high: lines are
  close above each other and long.
- The *strip reader* reads the line that the finder found, cut out of the image and laid straight
  (see `strips`). Nearly all the work is here, and none of it is spent on empty ground.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from benchmark.data.batches import Batch, ReadingBatch, image_batch, spell
from benchmark.models.contract import InductiveModel
from benchmark.models.ctc import BLANK, certainty, greedy_texts
from benchmark.models.layers import BatchNorm, grey
from benchmark.models.pyramid_finder import PyramidFinder
from benchmark.models.step import Step
from benchmark.models.step_targets import ReadingSteps, reading_steps
from benchmark.models.strip_reader import ResidualReader, blank_after
from benchmark.models.strips import (
    Band,
    Strips,
    choose_bands,
    cut_strips,
    mask_bands,
    near_bands,
    quad_bands,
    shake,
)
from benchmark.options import Option, whole, wholes
from benchmark.tasks.task import Kind
from ivl_shards import UserError
from ivl_shards.format.schema import Array

# A line covers some hundredths of an image, so the mean loss over its cells is small.
_CELLS = 20.0
# Lines that are read at once in training; fewer where that leaves less padding.
_AT_ONCE, _FEW_AT_ONCE = 16, 8


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
    """How large a line reader is; the defaults are those for text blocks."""

    strides: tuple[tuple[int, int], ...] = ((2, 2), (2, 2), (1, 2))
    """Down and across, of the layers that lead from pixels to the finder's grid."""
    finder: int = 32
    """Channels of what the finder sees in the image."""
    step: int = 16
    """Channels of what it makes of that and the memory."""
    rows: int = 24
    """Height of a strip; a multiple of 8."""
    extent: float = 0.0
    """Height in pixels that every line is taken to have; 0: its own. Where size tells two symbols
    apart, all lines must be seen at one scale."""
    squeeze: float = 1.0
    """How many times farther apart columns are than rows."""
    columns: int = 720
    """Greatest length of a strip."""
    layers: str = "plain"
    """Those of the strip reader: `plain` or `residual`."""
    reader: tuple[int, ...] = (32, 64, 96, 128, 160)
    """Channels of the strip reader's five layers, or of its stem, three stages and sequence."""
    hidden: int = 160
    """Of its LSTM, in each direction."""
    momentum: float = 0.1
    """How fast the finder's normalisations forget earlier batches."""
    scales: str = "one"
    """`one`: the finder knows lines of about one height; `many`: of any height, up to that of the
    image."""


class LineReader(InductiveModel):
    """Finds and reads the next line of a block, given the memory of those before.

    Colours are taken as shades of grey: letters have none of their own.
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
        **size: Any,
    ) -> None:
        """`jitter` moves the memory's edges in training, in pixels; `error` where lines are cut
        out, over their height, `along` times as much along the line and in its height: both as
        the model's own mistakes will at the time of reading."""
        super().__init__()
        self.alphabet, self.jitter = alphabet, jitter
        self.errors = error * np.array([along, 1, along, 1, along])
        self.size = ReaderSize(**size)
        self.stride = _product(self.size.strides)
        self.finder = _finder(channels, self.size)
        for module in self.finder.modules():
            if isinstance(module, BatchNorm):
                module.momentum = self.size.momentum
        self.reader = _strip_reader(channels, len(alphabet), self.size)
        # From log-probabilities (N, L, 1 + symbols) to texts; another may take its place.
        self.decode: Callable[[Tensor], list[str]] = partial(greedy_texts, alphabet=alphabet)

    def encode(self, images: Tensor) -> Tensor:
        """What all steps of a block share, (N, D, h, w).

        The pixels themselves are part of it, folded into the channels, since strips are cut
        out of them once it is known where.
        """
        whole = pad_to_cells(grey(images), self.stride)
        return torch.cat([self.finder.look(whole), _fold(whole, self.stride)], 1)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        step = self.find(encoded, memory)
        assert step.band is not None
        pixels = _unfold(encoded[:, self.size.finder :], self.stride)
        texts, confidence = self.read(pixels, step.band)
        return replace(step, outputs=texts, confidence=confidence)

    def find(self, encoded: Tensor, memory: Tensor) -> Step:
        """Find the next line without reading it; the bands are in pixels of the image."""
        whole = pad_to_cells(memory, self.stride)
        logits, stop = self.finder(encoded[:, : self.size.finder], whole)
        found = logits.sigmoid()
        full = functional.interpolate(found[:, None], whole.shape[1:], mode="bilinear")[:, 0]
        _, height, width = memory.shape
        delta = full[:, :height, :width]
        return Step(delta, stop.sigmoid(), band=mask_bands(found, self.stride))

    def read(self, images: Tensor, band: Band) -> tuple[list[str], Tensor]:
        """Read the lines in N bands of N grey images (N, 1, H, W); the texts, and the confidence
        in each, (N,)."""
        characters, _ = self.reader(self._cut(images, band))
        return self.decode(characters), certainty(characters)

    @torch.no_grad()
    def read_lines(self, picture: Array, band: Band) -> list[tuple[str, float]]:
        """Read the lines in bands of a picture (H, W) or (H, W, 3), each with its confidence."""
        pixels = grey(image_batch(picture[None]))
        found = [("", 0.0)] * len(band.left)
        for rows in _of_like_length(band, together=False):
            texts, confidence = self.read(pixels.expand(len(rows), -1, -1, -1), band[rows])
            for row, read in zip(
                rows.tolist(), zip(texts, confidence.tolist(), strict=True), strict=True
            ):
                found[row] = read
        return found

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """m + Δm, kept between 0 and 1."""
        return (memory + delta).clamp(0, 1)

    def loss(self, batch: Batch) -> Tensor:
        """Of finding and of stopping, the mean over a block's steps, and of reading, the mean
        over its characters.

        The two parts learn side by side: lines are cut out where they truly are, but for an
        error as the finder will make, so reading does not wait for finding. Lines that the
        finder has just found well enough are cut out where it found them.
        """
        assert isinstance(batch, ReadingBatch)
        batch = replace(batch, images=grey(batch.images))
        if not batch.train_finder:
            return self._reading(batch, None)
        given = reading_steps(batch, every=True, jitter=self.jitter)
        losses, found = self._finding(batch.images, given)
        return given.steps.mean(losses, len(batch.images)) + self._reading(batch, found)

    def _finding(self, images: Tensor, given: ReadingSteps) -> tuple[Tensor, Band]:
        """Losses of the steps, (M,), and where the lines of all but the last steps are found."""
        whole = pad_to_cells(images, self.stride)
        seen = self.finder.look(whole)[given.steps.sample]
        logits, stop = self.finder(seen, pad_to_cells(given.memory, self.stride))
        logits, stop = logits.float(), stop.float()
        wanted = _coarse(pad_to_cells(given.target, self.stride), logits)
        entropy = functional.binary_cross_entropy_with_logits
        where = entropy(logits, wanted, reduction="none").mean((1, 2))
        found = mask_bands(logits.detach().sigmoid()[~given.steps.last], self.stride)
        return where * _CELLS + entropy(stop, given.steps.last.to(stop), reduction="none"), found

    def _reading(self, batch: ReadingBatch, found: Band | None) -> Tensor:
        """Losses of the samples, (N,), over their lines, or their words where there are any."""
        device = batch.images.device
        texts, corners = batch.texts, batch.quads
        if batch.word_texts is not None and batch.word_quads is not None:
            texts, corners, found = batch.word_texts, batch.word_quads, None
        texts = [[spell(text, self.alphabet) for text in said] for said in texts]
        pairs = [(i, k) for i, said in enumerate(texts) for k in range(len(said))]
        image = torch.tensor([i for i, _ in pairs], device=device)
        number = {symbol: k for k, symbol in enumerate(self.alphabet, 1)}
        labels = [[number[c] for c in texts[i][k]] for i, k in pairs]
        counts = torch.tensor([len(line) for line in labels], device=device)
        drawn = [
            rng.normal(0, self.errors, (len(t), 5))
            for rng, t in zip(batch.rngs, texts, strict=True)
        ]
        errors = torch.from_numpy(np.concatenate(drawn)).to(batch.images)
        quads = torch.cat([q[: len(t)] for q, t in zip(corners, texts, strict=True)])
        true = quad_bands(quads)
        band = shake(true, errors)
        if found is not None:
            band = choose_bands(near_bands(found, true), found, band)
        losses = batch.images.new_zeros(len(batch.images))
        for rows in _of_like_length(band, self.size.layers == "plain"):
            strips = self._cut(batch.images[image[rows]], band[rows])
            characters, frames = self.reader(strips)  # (n, L, V), (n,)
            wanted = torch.tensor([c for r in rows.tolist() for c in labels[r]], device=device)
            loss = functional.ctc_loss(
                characters.transpose(0, 1),
                wanted,
                frames,
                counts[rows],
                blank=BLANK,
                reduction="none",
                zero_infinity=True,
            )
            losses = losses.index_add(0, image[rows], loss)
        characters_of = torch.zeros_like(losses).index_add(0, image, counts.to(losses))
        return losses / characters_of.clamp(min=1)

    def _cut(self, images: Tensor, band: Band) -> Strips:
        if self.size.extent:
            band = band.of_height(self.size.extent)
        return cut_strips(images, band, self.size.rows, self.size.columns, self.size.squeeze)


class Finder(nn.Module):
    """Says where the next line is and whether there is one."""

    def __init__(self, channels: int, size: ReaderSize) -> None:
        super().__init__()
        wide, narrow = size.finder, size.step
        stem: list[nn.Module] = []
        for i, stride in enumerate(size.strides):
            after = wide if i else wide // 2
            stem.append(_conv(channels, after, 5 if i == 0 else 3, stride))
            channels = after
        near = ((1, 1), (1, 2), (2, 4))
        self.look = nn.Sequential(*stem, *(Dilated(wide, d) for d in near))
        self.join = _conv(2 * wide + 1, narrow, 3)
        # Whether a line is the next one depends on all that is above any part of it, and a line
        # may be as long as the image and tilted: far across, less far down.
        reach = ((1, 1), (1, 2), (2, 4), (2, 8), (3, 16), (1, 1))
        self.think = nn.Sequential(*(Dilated(narrow, d) for d in reach))
        self.delta = nn.Conv2d(narrow, 1, 1)
        # Nothing is left where nothing is found; stop below one half, to begin with.
        self.stop_weight = nn.Parameter(torch.tensor(-10.0))
        self.stop_bias = nn.Parameter(torch.tensor(5.0))

    def forward(self, seen: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of Δm (N, h, w) and of the end (N,), from `look` and memories (N, H, W)."""
        memory = _coarse(memory, seen)[:, None].to(seen.dtype)  # (N, 1, h, w)
        state = self.think(self.join(torch.cat([seen, seen * (1 - memory), memory], 1)))
        logits: Tensor = self.delta(state)
        # Three cells side by side: a single one is noise, not a line.
        found = functional.avg_pool2d(logits.sigmoid(), (1, 3), 1).amax((1, 2, 3))
        return logits[:, 0], self.stop_weight * found + self.stop_bias


class StripReader(nn.Module):
    """Reads strips: layers that halve the height to nothing, then an LSTM along the line."""

    # A frame for each two columns, so that narrow letters get some, but a step of the network,
    # which is dear, only for each four.
    _COLUMNS, _FRAMES = 4, 2

    def __init__(self, channels: int, symbols: int, size: ReaderSize) -> None:
        super().__init__()
        a, b, c, d, e = size.reader
        self.layers = nn.Sequential(
            _conv(channels, a, 5, (2, 2)),
            _conv(a, b, 3),
            nn.MaxPool2d(2, ceil_mode=True),
            _conv(b, c, 3),
            _conv(c, d, 3),
            nn.MaxPool2d((2, 1)),
            _conv(d, e, 3),
        )  # (N, e, rows / 8, columns / 4)
        self.flatten = nn.Sequential(
            nn.Conv1d(e * (size.rows // 8), e, 1, bias=False), BatchNorm(e), nn.ReLU()
        )
        self.along = nn.LSTM(e, size.hidden, bidirectional=True, batch_first=True)
        self.characters = nn.Linear(2 * size.hidden, self._FRAMES * (1 + symbols))

    def forward(self, strips: Strips) -> tuple[Tensor, Tensor]:
        """Log-probabilities for CTC (N, L, V), and how many frames of each are in use (N,).

        After its end a line is blank with certainty.
        """
        x = self.layers(strips.pixels.contiguous(memory_format=torch.channels_last))
        x = self.flatten(x.flatten(1, 2))  # (N, e, steps)
        x, _ = self.along(x.transpose(1, 2))  # (N, steps, 2 · hidden)
        logits = self.characters(x).unflatten(2, (self._FRAMES, -1)).flatten(1, 2)  # (N, L, V)
        frames = -(-strips.columns // self._COLUMNS) * self._FRAMES
        return blank_after(logits, frames).log_softmax(2), frames


def _finder(channels: int, size: ReaderSize) -> "Finder | PyramidFinder":
    if size.scales == "one":
        return Finder(channels, size)
    if size.scales == "many":
        return PyramidFinder(channels, size.strides, size.finder, size.step)
    raise UserError(f"scales '{size.scales}': one or many")


def _strip_reader(channels: int, symbols: int, size: ReaderSize) -> nn.Module:
    if size.layers == "plain":
        return StripReader(channels, symbols, size)
    if size.layers == "residual":
        return ResidualReader(channels, symbols, size.rows, tuple(size.reader), size.hidden)
    raise UserError(f"layers '{size.layers}': plain or residual")


class Dilated(nn.Module):
    """A layer that looks some way down and across, added to what was there."""

    def __init__(self, channels: int, dilation: tuple[int, int]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            channels, channels, 3, padding=dilation, dilation=dilation, bias=False
        )
        self.norm = BatchNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, h, w) to the same."""
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
    """Maps (…, H, W) padded below and to the right to multiples of the grid's cells."""
    below, right = -maps.shape[-2] % stride[0], -maps.shape[-1] % stride[1]
    return functional.pad(maps, (0, right, 0, below)) if below or right else maps


def _coarse(maps: Tensor, like: Tensor) -> Tensor:
    """Maps (N, H, W) as how much of each cell they cover, on the grid of (…, h, w)."""
    size = like.shape[-2:]
    return functional.interpolate(maps[:, None].float(), size=size, mode="area")[:, 0]


def _fold(images: Tensor, stride: tuple[int, int]) -> Tensor:
    """The pixels of each cell as channels: (N, C, H, W) to (N, C · down · across, h, w)."""
    n, c, height, width = images.shape
    down, across = stride
    cells = images.reshape(n, c, height // down, down, width // across, across)
    return cells.permute(0, 1, 3, 5, 2, 4).reshape(
        n, c * down * across, height // down, width // across
    )


def _unfold(folded: Tensor, stride: tuple[int, int]) -> Tensor:
    """The inverse of `_fold`."""
    n, c, h, w = folded.shape
    down, across = stride
    cells = folded.reshape(n, c // (down * across), down, across, h, w)
    return cells.permute(0, 1, 4, 2, 5, 3).reshape(n, -1, h * down, w * across)


def _of_like_length(band: Band, together: bool) -> Iterator[Tensor]:
    """Rows of lines that take about as many columns each, so that little is padding.

    Processes that normalise `together` must all go through the layers equally often.
    """
    order = (band.length / band.heights.mean(1)).argsort()
    if together:
        yield from torch.split(order, len(order) if dist.is_initialized() else _AT_ONCE)
    else:  # none of them so small that its statistics are noise
        yield from torch.tensor_split(order, -(-len(order) // _FEW_AT_ONCE))
