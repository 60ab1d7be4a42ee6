"""Counters: inductive models that count by enumeration (section 4.2 of the paper)."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import (
    avg_pool2d,
    binary_cross_entropy_with_logits,
    interpolate,
    logsigmoid,
    max_pool2d,
    pixel_shuffle,
    pixel_unshuffle,
    relu,
)

from benchmark.data import Batch, CountingBatch
from benchmark.models.contract import InductiveModel, Step
from benchmark.models.counting_encoders import counting_encoder, fast_encoder, whole
from benchmark.models.layers import PlainUnit, initialise
from benchmark.models.peaks import draw_peaks, strongest_peak
from benchmark.models.steps import counting_steps
from benchmark.tasks import Task
from benchmark.tasks.task import Kind

# Ways to see an image: whether its axes are swapped, and along which it is turned over then.
View = tuple[bool, tuple[int, ...]]
_VIEWS: tuple[View, ...] = tuple(
    (swapped, over) for swapped in (False, True) for over in ((), (-1,), (-2,), (-2, -1))
)

# Where it was not trained a counter is less sure of what is there, by how much depends on the
# photograph, and what is none is taken for something with little certainty everywhere. So a peak
# of a photograph is none if it is much lower than the lowest of those that were counted, or lower
# than any should be. Both limits were chosen on crops of training images that another training of
# the same length had not seen (perf/held_out.py).
_SHARE, _LEAST = 0.55, 0.3
# Memory beyond which a place is counted already: within two thirds of a peak's sigma of a mark.
_COUNTED = 0.8
# Peaks of the memory are 1 high; what is lower lies between two of them.
_MARK = 0.5


class Counter(InductiveModel):
    """What the two counters share: one peak a step goes into the memory, and the highest says
    whether anything is left."""

    kind: ClassVar[Kind] = "counting"

    def __init__(self, sigma: float) -> None:
        super().__init__()
        self.sigma = sigma
        # Stop where the highest peak is below one half, to begin with.
        self.stop_weight = nn.Parameter(torch.tensor(-10.0))
        self.stop_bias = nn.Parameter(torch.tensor(5.0))

    def stop_logit(self, delta: Tensor) -> Tensor:
        """w · maxpool(Δm) + b, (N,)."""
        return self.stop_weight * delta.amax((1, 2)) + self.stop_bias

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """A peak where Δm is highest: one of those that remain. Where one is already nothing is
        added, so that a model which does not see its own marks stalls instead of going on."""
        n, height, width = memory.shape
        peak = strongest_peak(delta)
        x, y = peak.centre.long().unbind(1)
        there = memory[torch.arange(n, device=memory.device), y, x]
        shown = (there < _COUNTED).to(memory)[:, None]
        sigmas = memory.new_full((n,), self.sigma)
        return memory + draw_peaks(peak.centre[:, None], shown, sigmas, (height, width))


class PaperCounter(Counter):
    """The appendix's: memory and image go through six residual layers, at every step anew."""

    def __init__(
        self, channels: int, sigma: float = 2.5, gamma: float = 0.1, init: str = "gaussian"
    ) -> None:
        super().__init__(sigma)
        self.gamma = gamma
        self.encoder = counting_encoder(channels + 1)
        self.delta = nn.Conv2d(32, 1, 1)
        initialise(self, init)

    def encode(self, images: Tensor) -> Tensor:
        return images

    def maps(self, images: Tensor, memory: Tensor) -> Tensor:
        """Δm, (N, H, W)."""
        features = self.encoder(torch.cat([images, memory[:, None]], 1))
        delta: Tensor = self.delta(features)[:, 0]
        return delta

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        delta = self.maps(encoded, memory)
        return Step(delta, self.stop_logit(delta).sigmoid())

    def loss(self, batch: Batch) -> Tensor:
        """-log p(y_t) + γ ‖m_t + Δm_t − m_{t+1}‖², for one step of each sample."""
        assert isinstance(batch, CountingBatch)
        given = counting_steps(batch, every=False)
        delta = self.maps(batch.images, given.memory)
        token = binary_cross_entropy_with_logits(
            self.stop_logit(delta), given.steps.last.float(), reduction="none"
        )
        return token + self.gamma * (delta - given.target).square().sum((1, 2))


class FastCounter(Counter):
    """Ours: the image is encoded once, at a quarter of its resolution, and the memory joins
    late, so that a step costs little and all steps of an image are trained at once."""

    def __init__(
        self, channels: int, width: int = 48, sigma: float = 2.5, jitter: float = 1.5,
        stop_share: float = 0.1, every: bool = True, photo: bool = False, step: int = 0,
        reach: int = 1,
    ) -> None:  # fmt: skip
        """`jitter` moves what has been counted, in pixels; `every`: all steps of an image are
        trained at once, or one at random; `photo`: the encoder is that for photographs; `step`:
        channels of what is done at every step, by default as many as the encoder's; `reach`: a
        mark in the memory is seen from 8 · reach + 4 pixels away."""
        super().__init__(sigma)
        self.jitter, self.stop_share, self.every = jitter, stop_share, every
        # What is a plane in doubt is one to be seen from several sides.
        self.views = _VIEWS if photo else _VIEWS[:1]
        self.photo, self.share, self.least = photo, _SHARE, _LEAST
        step = step or width
        self.encoder = fast_encoder(channels, width, photo)
        self.join = nn.Conv2d(width, step, 3, padding=1)
        self.memory = nn.Conv2d(4, step, 3, padding=1, bias=False)
        self.mix = PlainUnit(step, 3, reach)
        self.head = nn.Conv2d(step, 4, 1)
        # Nearly nothing is a peak, to begin with.
        assert self.head.bias is not None
        nn.init.constant_(self.head.bias, -4.0)

    def look(self, images: Tensor) -> Tensor:
        """What is seen in an image, (N, step, H/4, W/4)."""
        features: Tensor = self.join(self.encoder(images))
        return features

    def encode(self, images: Tensor) -> Tensor:
        """What is seen in all views of an image, one after the other in the channels, and each
        turned back, since views of an image that is no square differ in shape. Of a photograph,
        also what there is to count before anything was."""
        padded = whole(images)
        seen = torch.cat([unturn(self.look(turn(padded, v)), v) for v in self.views], 1)
        if not self.photo:
            return seen
        first = self.heat(seen, torch.zeros_like(padded[:, 0]))
        return torch.cat([seen, pixel_unshuffle(first[:, None], 2)], 1)

    def maps(self, encoded: Tensor, memory: Tensor) -> Tensor:
        """Logits of Δm, (N, H/2, W/2). Four neighbours there are channels within."""
        fine = pixel_unshuffle(avg_pool2d(whole(memory)[:, None], 2), 2)  # (N, 4, H/4, W/4)
        mixed = self.mix(encoded + self.memory(fine))
        logits: Tensor = pixel_shuffle(self.head(relu(mixed)), 2)[:, 0]
        return logits.float()  # of whatever precision the layers are

    def heat(self, seen: Tensor, memory: Tensor) -> Tensor:
        """Δm, the mean of all views, (N, H/2, W/2)."""
        views = zip(self.views, seen.chunk(len(self.views), 1), strict=True)
        maps = [unturn(self.maps(turn(x, view), turn(memory, view)), view) for view, x in views]
        return torch.stack(maps).mean(0).sigmoid()

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        padded = whole(memory)
        if self.photo:
            seen, first = encoded[:, :-4], pixel_shuffle(encoded[:, -4:], 2)[:, 0]
            heat = self.heat(seen, padded)
            limit = (self.share * lowest_counted(first, padded)).clamp(min=self.least)
            stop = self.stop_weight * (heat.amax((1, 2)) - limit)
        else:
            heat = self.heat(encoded, padded)
            stop = self.stop_logit(heat)
        full = interpolate(heat[:, None], scale_factor=2.0, mode="bilinear")[:, 0]
        _, height, width = memory.shape
        return Step(full[:, :height, :width], stop.sigmoid())

    def loss(self, batch: Batch) -> Tensor:
        """All steps of each sample: a focal loss on the peaks, and whether to stop."""
        assert isinstance(batch, CountingBatch)
        given = counting_steps(batch, self.every, self.jitter)
        logits = self.maps(self.look(batch.images)[given.steps.sample], given.memory)
        target = avg_pool2d(whole(given.target)[:, None], 2)[:, 0]
        stop = binary_cross_entropy_with_logits(
            self.stop_logit(logits.sigmoid()), given.steps.last.float(), reduction="none"
        )
        losses = focal_loss(logits, target) + self.stop_share * stop
        return given.steps.mean(losses, len(batch.images))


def lowest_counted(first: Tensor, memory: Tensor) -> Tensor:
    """How high the lowest of the peaks that are in the memory (N, H, W) was at first, when none
    was (N, H/2, W/2); 0 where none is yet."""
    marks = max_pool2d(memory, 2)
    tops = (marks > _MARK) & (marks == max_pool2d(marks, 3, 1, 1))
    # A mark lies where its peak was highest, but for a fraction of a cell.
    heights = torch.where(tops, max_pool2d(first, 3, 1, 1), torch.inf).amin((1, 2))
    return torch.where(heights.isinf(), 0.0, heights)


def turn(maps: Tensor, view: View) -> Tensor:
    """Images or maps (…, H, W) as a view has them."""
    swapped, over = view
    seen = maps.transpose(-1, -2) if swapped else maps
    return seen.flip(over) if over else seen


def unturn(maps: Tensor, view: View) -> Tensor:
    """The way back."""
    swapped, over = view
    seen = maps.flip(over) if over else maps
    return seen.transpose(-1, -2) if swapped else seen


def focal_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy (N,) that leaves alone what is right already, over the sum of the target's
    peaks: the few peaks outweigh the wide ground."""
    p = logits.sigmoid()
    off = (p - target).square()
    entropy = -(target * logsigmoid(logits) + (1 - target) * logsigmoid(-logits))
    return (off * entropy).sum((1, 2))


def build_counter(task: Task, preset: str, options: dict[str, Any]) -> Counter:
    """The counter of a preset."""
    return (PaperCounter if preset == "paper" else FastCounter)(task.channels, **options)
