"""Counters: inductive models that count by enumeration (section 4.2 of the paper)."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import (
    avg_pool2d,
    binary_cross_entropy_with_logits,
    interpolate,
    logsigmoid,
    pixel_shuffle,
    pixel_unshuffle,
    relu,
)

from benchmark.data.batches import Batch, CountingBatch
from benchmark.models.contract import InductiveModel
from benchmark.models.counting_encoders import DrawingEncoder, counting_encoder, whole
from benchmark.models.layers import PlainUnit, initialise
from benchmark.models.peaks import draw_peaks, strongest_peak
from benchmark.models.step import Step
from benchmark.models.step_targets import counting_steps
from benchmark.tasks.task import Kind

# Memory beyond which a place is counted already: within two thirds of a peak's sigma of a mark.
_COUNTED = 0.8


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


class LateCounter(Counter):
    """What our counters share: the image is encoded once, at a quarter of its resolution, and the
    memory joins late, so that a step costs little and all steps of an image are trained at
    once."""

    encoder: nn.Module  # (N, C, H, W) → (N, features, H/4, W/4), rounded up
    join: nn.Module  # features → what every step begins with
    memory: nn.Module  # (N, 4, H/4, W/4), four neighbours as channels → added to that
    mix: nn.Module
    head: nn.Module  # → logits of Δm, (N, 4, H/4, W/4)
    fold: ClassVar[int] = 4
    """Images are padded to multiples of so many pixels."""

    def __init__(self, sigma: float, jitter: float, stop_share: float, every: bool) -> None:
        """`jitter` moves what has been counted, in pixels; `every`: all steps of an image are
        trained at once, or one at random."""
        super().__init__(sigma)
        self.jitter, self.stop_share, self.every = jitter, stop_share, every

    def look(self, images: Tensor) -> Tensor:
        """What is seen in an image, (N, step, H/4, W/4)."""
        features: Tensor = self.join(self.encoder(images))
        return features

    def encode(self, images: Tensor) -> Tensor:
        return self.look(images)

    def maps(self, encoded: Tensor, memory: Tensor) -> Tensor:
        """Logits of Δm, (N, H/2, W/2). Four neighbours there are channels within."""
        fine = pixel_unshuffle(avg_pool2d(whole(memory, self.fold)[:, None], 2), 2)
        mixed = self.mix(encoded + self.memory(fine))
        logits: Tensor = pixel_shuffle(self.head(relu(mixed)), 2)[:, 0]
        return logits.float()  # of whatever precision the layers are

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        heat = self.maps(encoded, memory).sigmoid()
        return Step(enlarged(heat, memory), self.stop_logit(heat).sigmoid())

    def loss(self, batch: Batch) -> Tensor:
        """All steps of each sample: a focal loss on the peaks, and whether to stop."""
        assert isinstance(batch, CountingBatch)
        given = counting_steps(batch, self.every, self.jitter)
        logits = self.maps(self.look(batch.images)[given.steps.sample], given.memory)
        target = avg_pool2d(whole(given.target, self.fold)[:, None], 2)[:, 0]
        stop = binary_cross_entropy_with_logits(
            self.stop_logit(logits.sigmoid()), given.steps.last.float(), reduction="none"
        )
        losses = focal_loss(logits, target) + self.stop_share * stop
        return given.steps.mean(losses, len(batch.images))


class FastCounter(LateCounter):
    """Ours for drawings."""

    def __init__(
        self,
        channels: int,
        width: int = 48,
        sigma: float = 2.5,
        jitter: float = 1.5,
        stop_share: float = 0.1,
        every: bool = True,
    ) -> None:
        super().__init__(sigma, jitter, stop_share, every)
        self.encoder = DrawingEncoder(channels, width)
        self.join = nn.Conv2d(width, width, 3, padding=1)
        self.memory = nn.Conv2d(4, width, 3, padding=1, bias=False)
        self.mix = PlainUnit(width)
        self.head = nn.Conv2d(width, 4, 1)
        # Nearly nothing is a peak, to begin with.
        assert self.head.bias is not None
        nn.init.constant_(self.head.bias, -4.0)


def enlarged(heat: Tensor, memory: Tensor) -> Tensor:
    """Maps (N, H/2, W/2), rounded up, as large as the memory (N, H, W)."""
    full = interpolate(heat[:, None], scale_factor=2.0, mode="bilinear")[:, 0]
    _, height, width = memory.shape
    return full[:, :height, :width]


def focal_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy (N,) that leaves alone what is right already, over the sum of the target's
    peaks: the few peaks outweigh the wide ground."""
    p = logits.sigmoid()
    off = (p - target).square()
    entropy = -(target * logsigmoid(logits) + (1 - target) * logsigmoid(-logits))
    return (off * entropy).sum((1, 2))
