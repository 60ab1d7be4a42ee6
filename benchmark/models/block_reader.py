"""Block reader: the end-to-end twin of the line reader.

It has the same two parts, what sees where lines are and what reads a strip, but no memory in the
image. An LSTM goes from line to line instead. Its state, which it is free to choose, says which
line comes next: it steers an attention over the image, and what the attention sees goes into the
next state. All steps of a block are trained at once, and the loss of the text that is read goes
back through the strips that were cut out, the attention and the state into the encoder.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.data.batches import Batch, ReadingBatch, spell
from benchmark.evaluation.metrics import Prediction
from benchmark.models.attention import POSITIONS, positions
from benchmark.models.contract import Model
from benchmark.models.ctc import BLANK, greedy_texts
from benchmark.models.layers import PlainUnit, grey
from benchmark.models.line_reader import Dilated, LineReader, pad_to_cells
from benchmark.models.strips import (
    Band,
    Strips,
    cut_strips,
    mask_bands,
    near_bands,
    quad_bands,
    shake,
)
from benchmark.tasks.task import Kind

# A line covers some hundredths of an image, so the mean loss over its cells is small.
_CELLS = 20.0
# Most of an image is no line: where scores begin.
_FEW = 3.0
# Lines that are read at once in training: of like length, so that little is padding.
_AT_ONCE = 8
# Beyond this probability that no line is left, reading ends; so it does when there are as many
# lines as images of that height can hold, one in so many pixels.
_STOP, _LEAST = 0.5, 4
# Down and across, in cells: which line of a block a place is in depends on all that is above it.
_REACH = ((1, 2), (2, 4), (4, 8), (8, 4), (16, 2), (1, 1))


class BlockReader(Model):
    """Reads the lines of a block one after the other, by a state of its own."""

    kind: ClassVar[Kind] = "reading"
    encoder_parts: ClassVar[dict[str, str]] = {"look": "finder.look", "reader": "reader"}
    """Parts that may begin with a trained line reader's, and what they are called there."""

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
        """`state` is the size of the LSTM's, `step` the channels of what the attention makes of it
        and the image; `error` and `along` are those of the line reader."""
        super().__init__()
        twin = LineReader(channels, alphabet, error=error, along=along, **size)
        self.alphabet, self.size, self.stride = alphabet, twin.size, twin.stride
        self.errors = twin.errors
        self.look, self.reader = twin.finder.look, twin.reader
        self.attention = LineAttention(twin.size.finder, state, step)
        # From log-probabilities (N, L, 1 + symbols) to texts; another may take its place.
        self.decode: Callable[[Tensor], list[str]] = partial(greedy_texts, alphabet=alphabet)

    def loss(self, batch: Batch) -> Tensor:
        """Of attention and end, the mean over a block's steps, and of reading, the mean over its
        characters.

        The attention is told in training where lines are. A line is read where the attention
        found it; as long as that is far off, where it truly is, but for a small error.
        """
        assert isinstance(batch, ReadingBatch)
        images = pad_to_cells(grey(batch.images), self.stride)
        seen = self.attention.survey(self.look(images))
        state = self.attention.start(seen)
        steps = pad_to_cells(batch.steps, self.stride)[:, None]
        entropy = functional.binary_cross_entropy_with_logits
        losses, found = batch.images.new_zeros(len(images)), []
        for t in range(int(batch.lengths.max()) + 1):
            looked = self.attention(seen, state)
            wanted = functional.interpolate(
                (steps == t + 1).float(), looked.scores.shape[1:], mode="area"
            )[:, 0]
            where = entropy(looked.scores, wanted, reduction="none").mean((1, 2))
            ended = entropy(looked.end, (batch.lengths == t).to(looked.end), reduction="none")
            losses = losses + (where * _CELLS + ended) * (batch.lengths >= t)
            found.append(looked.scores.sigmoid())
            state = looked.state
        losses = losses / (batch.lengths + 1)
        if not batch.train_reader:
            return losses
        return losses + self._reading(batch, images, torch.stack(found[:-1], 1))

    def _reading(self, batch: ReadingBatch, images: Tensor, masks: Tensor) -> Tensor:
        """Losses of the samples, (N,), over the lines that masks (N, T, h, w) show."""
        texts = [[spell(text, self.alphabet) for text in lines] for lines in batch.texts]
        pairs = [(i, k) for i, lines in enumerate(texts) for k in range(len(lines))]
        image, line = torch.tensor(pairs, device=images.device).T
        number = {symbol: k for k, symbol in enumerate(self.alphabet, 1)}
        labels = [
            torch.tensor([number[c] for c in texts[i][k]], dtype=torch.long) for i, k in pairs
        ]
        counts = torch.tensor([len(label) for label in labels], device=images.device)
        drawn = [
            rng.normal(0, self.errors, (len(lines), 5))
            for rng, lines in zip(batch.rngs, texts, strict=True)
        ]
        errors = torch.from_numpy(np.concatenate(drawn)).to(images)
        true = quad_bands(batch.quads[image, line])
        band = self._band(masks[image, line], true, shake(true, errors))
        losses = images.new_zeros(len(images))
        for rows in _of_like_length(band):
            characters, frames = self.reader(self._cut(images[image[rows]], band[rows]))
            wanted = torch.cat([labels[row] for row in rows.tolist()]).to(images.device)
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

    def _band(self, masks: Tensor, true: Band, near: Band) -> Band:
        """Where the masks (M, h, w) show lines, or, where that is far from the truth, `near`."""
        with torch.no_grad():
            found = near_bands(mask_bands(masks, self.stride), true).nonzero()[:, 0]
        # Gradients of masks that show no line may be no numbers: these are left out before.
        band = mask_bands(masks[found], self.stride)
        return Band(
            near.left.index_copy(0, found, band.left),
            near.right.index_copy(0, found, band.right),
            near.heights.index_copy(0, found, band.heights),
        )

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Prediction]:
        images = pad_to_cells(grey(images), self.stride)
        seen = self.attention.survey(self.look(images))
        state = self.attention.start(seen)
        active = torch.arange(len(images), device=images.device)
        lines: list[list[str]] = [[] for _ in range(len(images))]
        for _ in range(images.shape[2] // _LEAST):
            looked = self.attention(seen, state)
            going = looked.end.sigmoid() <= _STOP
            if not going.any():
                break
            active, images, seen = active[going], images[going], seen[going]
            state = looked.state[0][going], looked.state[1][going]
            band = mask_bands(looked.scores[going].sigmoid(), self.stride)
            characters, _ = self.reader(self._cut(images, band))
            for i, text in zip(active.tolist(), self.decode(characters), strict=True):
                lines[i].append(text)
        return [*lines]

    def _cut(self, images: Tensor, band: Band) -> Strips:
        return cut_strips(images, band, self.size.rows, self.size.columns, self.size.squeeze)


@dataclass(frozen=True)
class LookedAtLine:
    """One step of the attention."""

    scores: Tensor  # (N, h, w) logits of where the line is
    end: Tensor  # (N,) logits of there being none
    state: tuple[Tensor, Tensor]  # (N, S) each: the LSTM's after the step


class LineAttention(nn.Module):
    """An LSTM that looks at one line at each step."""

    def __init__(self, features: int, state: int, step: int) -> None:
        super().__init__()
        self.place = nn.Conv2d(POSITIONS, features, 1)
        self.think = nn.Sequential(*(Dilated(features, reach) for reach in _REACH))
        self.begin = nn.Linear(features, 2 * state)
        self.query = nn.Linear(state, 2 * step)
        self.key = nn.Conv2d(features, step, 1)
        # Not normalised: the steps of a block differ in what they see.
        self.find = PlainUnit(step)
        self.score = nn.Conv2d(step, 1, 1)
        self.cell = nn.LSTMCell(features, state)
        self.end = nn.Linear(state + 1, 1)

    def survey(self, seen: Tensor) -> Tensor:
        """What all steps look at, (N, C, h, w): what is seen, where, and what is around it."""
        surveyed: Tensor = self.think(seen + self.place(positions(seen)))
        return surveyed

    def start(self, surveyed: Tensor) -> tuple[Tensor, Tensor]:
        """The state before the first line, from the mean of all places."""
        hidden, cell = self.begin(surveyed.float().mean((2, 3))).chunk(2, 1)
        return torch.tanh(hidden).float(), cell.float()

    def forward(self, surveyed: Tensor, state: tuple[Tensor, Tensor]) -> LookedAtLine:
        scale, shift = self.query(state[0])[..., None, None].chunk(2, 1)  # (N, step, 1, 1)
        asked = self.find(self.key(surveyed) * (1 + scale) + shift)
        scores = self.score(asked)[:, 0].float() - _FEW  # (N, h, w)
        weights = scores.sigmoid()
        # Three cells side by side: a single one is noise, not a line.
        most = functional.avg_pool2d(weights[:, None], (1, 3), 1).amax((1, 2, 3))  # (N,)
        end = self.end(torch.cat([state[0], most[:, None]], 1))[:, 0].float()
        shares = weights / weights.sum((1, 2), keepdim=True).clamp(min=1e-3)
        context = torch.einsum("nhw,nchw->nc", shares, surveyed.float())
        hidden, cell = self.cell(context, state)
        return LookedAtLine(scores, end, (hidden.float(), cell.float()))


def _of_like_length(band: Band) -> Iterator[Tensor]:
    """Rows of lines that take about as many columns each, some at a time, never a few alone:
    their statistics would be noise."""
    order = (band.length / band.heights.mean(1)).argsort()
    yield from torch.tensor_split(order, -(-len(order) // _AT_ONCE))
