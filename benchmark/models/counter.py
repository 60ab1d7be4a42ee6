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
from benchmark.models.counting_encoders import DrawingEncoder, counting_encoder, pad_to_multiple
from benchmark.models.layers import PlainUnit, initialise
from benchmark.models.peaks import draw_peaks, strongest_peak
from benchmark.models.step import Step
from benchmark.models.step_targets import counting_steps
from benchmark.tasks.task import Kind

# Memory above which a place has been counted already: within two thirds of a peak's sigma.
_COUNTED_THRESHOLD = 0.8


class Counter(InductiveModel):
    """Base class of counters: each step adds one peak to the memory, and the highest value of Δm
    decides whether anything is left."""

    kind: ClassVar[Kind] = "counting"

    def __init__(self, sigma: float) -> None:
        super().__init__()
        self.sigma = sigma
        # Initialised to stop if the highest peak is below 0.5.
        self.stop_weight = nn.Parameter(torch.tensor(-10.0))
        self.stop_bias = nn.Parameter(torch.tensor(5.0))

    def stop_logit(self, delta: Tensor) -> Tensor:
        """Return w · maxpool(Δm) + b, (N,)."""
        return self.stop_weight * delta.amax((1, 2)) + self.stop_bias

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Add a peak where Δm is highest, which is one of the remaining objects.

        Nothing is added where a peak is already, so that a model which ignores its own memory
        stalls instead of counting on.
        """
        n, height, width = memory.shape
        peak = strongest_peak(delta)
        x, y = peak.centre.long().unbind(1)
        current = memory[torch.arange(n, device=memory.device), y, x]
        is_new = (current < _COUNTED_THRESHOLD).to(memory)[:, None]
        sigmas = memory.new_full((n,), self.sigma)
        return memory + draw_peaks(peak.centre[:, None], is_new, sigmas, (height, width))


class PaperCounter(Counter):
    """The paper's counter (appendix): six residual layers encode image and memory at each step."""

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
        """Return Δm, (N, H, W)."""
        features = self.encoder(torch.cat([images, memory[:, None]], 1))
        delta: Tensor = self.delta(features)[:, 0]
        return delta

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        delta = self.maps(encoded, memory)
        return Step(delta, self.stop_logit(delta).sigmoid())

    def loss(self, batch: Batch) -> Tensor:
        """Return -log p(y_t) + γ ‖m_t + Δm_t − m_{t+1}‖² for one step of each sample."""
        assert isinstance(batch, CountingBatch)
        given = counting_steps(batch, every=False)
        delta = self.maps(batch.images, given.memory)
        token = binary_cross_entropy_with_logits(
            self.stop_logit(delta), given.steps.last.float(), reduction="none"
        )
        return token + self.gamma * (delta - given.target).square().sum((1, 2))


class LateCounter(Counter):
    """Base class of our counters, with late fusion of image and memory.

    The image is encoded once, at a quarter of its resolution. A step is therefore cheap, and all
    steps of an image are trained at once.
    """

    encoder: nn.Module  # (N, C, H, W) → (N, features, H/4, W/4), rounded up
    join: nn.Module  # features → input of every step
    memory: nn.Module  # (N, 4, H/4, W/4), 2×2 pixels as channels → added to that input
    mix: nn.Module
    head: nn.Module  # → logits of Δm, (N, 4, H/4, W/4)
    fold: ClassVar[int] = 4
    """Images are padded to a multiple of this number of pixels."""

    def __init__(self, sigma: float, jitter: float, stop_share: float, every: bool) -> None:
        """Set up the model.

        Parameters
        ----------
        sigma
            Width of the memory's peaks in pixels.
        jitter
            Maximal distance in pixels by which peaks of the memory are moved in training.
        stop_share
            Weight of the stopping loss.
        every
            Whether all steps of an image are trained at once, or one at random.
        """
        super().__init__(sigma)
        self.jitter, self.stop_share, self.every = jitter, stop_share, every

    def look(self, images: Tensor) -> Tensor:
        """Return the features of images, (N, step, H/4, W/4)."""
        features: Tensor = self.join(self.encoder(images))
        return features

    def encode(self, images: Tensor) -> Tensor:
        return self.look(images)

    def maps(self, encoded: Tensor, memory: Tensor) -> Tensor:
        """Return logits of Δm, (N, H/2, W/2), whose 2×2 pixels are channels of the layers."""
        padded = pad_to_multiple(memory, self.fold)[:, None]
        folded = pixel_unshuffle(avg_pool2d(padded, 2), 2)
        mixed = self.mix(encoded + self.memory(folded))
        logits: Tensor = pixel_shuffle(self.head(relu(mixed)), 2)[:, 0]
        return logits.float()  # the layers may have run in bfloat16

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        heat = self.maps(encoded, memory).sigmoid()
        return Step(upsample_to(heat, memory), self.stop_logit(heat).sigmoid())

    def loss(self, batch: Batch) -> Tensor:
        """Return the focal loss of the peaks plus the stopping loss, the mean over the steps."""
        assert isinstance(batch, CountingBatch)
        given = counting_steps(batch, self.every, self.jitter)
        logits = self.maps(self.look(batch.images)[given.steps.sample], given.memory)
        target = avg_pool2d(pad_to_multiple(given.target, self.fold)[:, None], 2)[:, 0]
        stop = binary_cross_entropy_with_logits(
            self.stop_logit(logits.sigmoid()), given.steps.last.float(), reduction="none"
        )
        losses = focal_loss(logits, target) + self.stop_share * stop
        return given.steps.mean(losses, len(batch.images))


class FastCounter(LateCounter):
    """Our counter for drawings."""

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
        # Initially, almost no pixel is a peak.
        assert self.head.bias is not None
        nn.init.constant_(self.head.bias, -4.0)


def upsample_to(heat: Tensor, memory: Tensor) -> Tensor:
    """Upsample maps (N, H/2, W/2), rounded up, to the size of the memory (N, H, W)."""
    full = interpolate(heat[:, None], scale_factor=2.0, mode="bilinear")[:, 0]
    _, height, width = memory.shape
    return full[:, :height, :width]


def focal_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Return the cross-entropy weighted by the squared error, (N,): the many background pixels
    that are right already do not outweigh the few peaks."""
    p = logits.sigmoid()
    weights = (p - target).square()
    entropy = -(target * logsigmoid(logits) + (1 - target) * logsigmoid(-logits))
    return (weights * entropy).sum((1, 2))
