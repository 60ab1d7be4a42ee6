"""Photo counter: counts objects in photographs, with thresholds relative to those already counted.

In photographs unlike the training data, confidence is lower, by an amount that differs from
photograph to photograph, and the background has many weak responses. A peak therefore counts as an
object if it is not much lower than the lowest one counted so far, and not lower than an absolute
minimum.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, max_pool2d

from benchmark.models.counter import LateCounter, upsample_to
from benchmark.models.counting_encoders import PhotoEncoder
from benchmark.models.equivariant import (
    EQUIVARIANT,
    FOLDED,
    SYMMETRIES,
    EquivariantConv,
    EquivariantPlainUnit,
    Fold,
)
from benchmark.models.step import Step

# Thresholds and scales were chosen by cross-validation over training images (docs/PROTOCOL.md).
# They are the same at every step: a rule that knows the number counted would not be inductive.
_THRESHOLDS = (0.4, 0.2)
# Training has planes of any size, but not every type of plane at every size: predictions are
# averaged over a slightly smaller and a slightly larger image as well.
_SCALES = (0.8, 1.0, 1.25)
# Peaks of the memory have height 1; a local maximum below this is not one of them.
_PEAK_THRESHOLD = 0.5


class PhotoCounter(LateCounter):
    """Our counter for photographs, equivariant to rotations by right angles and reflections."""

    fold: ClassVar[int] = 8

    def __init__(
        self,
        channels: int,
        fields: Sequence[int],
        step: int,
        reach: int,
        sigma: float = 2.5,
        jitter: float = 1.5,
        stop_share: float = 0.1,
        every: bool = True,
        thresholds: Sequence[float] = _THRESHOLDS,
        scales: Sequence[float] = _SCALES,
    ) -> None:
        """Set up the model.

        Parameters
        ----------
        fields
            Fields of the encoder, see `PhotoEncoder`.
        step
            Fields of the layers of each step.
        reach
            Dilation of these layers: a peak of the memory has an effect up to 8 · reach + 4 pixels
            away.
        thresholds
            A peak counts if it is as high as this fraction of the lowest one counted, and as this
            minimum.
        scales
            Scales of the image at test time, whose predictions are averaged.
        """
        super().__init__(sigma, jitter, stop_share, every)
        self.thresholds, self.scales = tuple(thresholds), tuple(scales)
        self.channels = len(SYMMETRIES) * step
        self.encoder = PhotoEncoder(channels, fields)
        self.join = EquivariantConv(EQUIVARIANT, fields[1], step, 3, bias=True)
        self.memory = EquivariantConv(FOLDED, 1, step, 3)
        self.mix = EquivariantPlainUnit(step, reach)
        peaks = EquivariantConv(EQUIVARIANT, step, 1, 1, bias=True)
        # Initially, almost no pixel is a peak.
        assert peaks.bias is not None
        nn.init.constant_(peaks.bias, -4.0)
        self.head = nn.Sequential(peaks, Fold())

    def encode(self, images: Tensor) -> Tensor:
        """Return the features at each scale and Δm_0, before anything is counted, concatenated,
        (N, …)."""
        height, width = images.shape[2:]
        features = [self.look(resize(images, size)) for size in self.scaled_sizes(height, width)]
        first = self.heat(features, images.new_zeros(len(images), height, width))
        return torch.cat([x.flatten(1) for x in (*features, first)], 1)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        height, width = memory.shape[1:]
        shapes = [(self.channels, h // 4, w // 4) for h, w in self.scaled_sizes(height, width)]
        lengths = [c * h * w for c, h, w in shapes]
        *flat, first = torch.split(encoded, [*lengths, encoded.shape[1] - sum(lengths)], 1)
        features = [x.view(len(x), *shape) for x, shape in zip(flat, shapes, strict=True)]
        heat = self.heat(features, memory)
        relative, absolute = self.thresholds
        threshold = (relative * lowest_counted(first.view_as(heat), memory)).clamp(min=absolute)
        stop = self.stop_weight * (heat.amax((1, 2)) - threshold)
        return Step(upsample_to(heat, memory), stop.sigmoid())

    def heat(self, features: list[Tensor], memory: Tensor) -> Tensor:
        """Return Δm, the mean over the scales, (N, H/2, W/2), rounded up."""
        height, width = memory.shape[1:]
        half, maps = ((height + 1) // 2, (width + 1) // 2), []
        scaled = zip(features, self.scales, self.scaled_sizes(height, width), strict=True)
        for encoded, scale, size in scaled:
            logits = self.maps(encoded, rescale_memory(memory, scale, size))
            maps.append(resize(logits[:, None], half)[:, 0])
        return torch.stack(maps).mean(0).sigmoid()

    def scaled_sizes(self, height: int, width: int) -> list[tuple[int, int]]:
        """Return the size of an image at each scale, rounded so that it needs no padding."""

        def side(pixels: float) -> int:
            return max(1, round(pixels / self.fold)) * self.fold

        return [(side(scale * height), side(scale * width)) for scale in self.scales]


def resize(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Resize images or maps (N, C, H, W)."""
    if images.shape[2:] == size:
        return images
    return interpolate(images, size, mode="bilinear", antialias=True)


def rescale_memory(memory: Tensor, scale: float, size: tuple[int, int]) -> Tensor:
    """Resize a memory (N, H, W) to that of an image at another scale, with peaks as wide as before:
    a power of a gaussian is a gaussian of another width."""
    return resize(memory[:, None], size)[:, 0] ** (scale * scale)


def lowest_counted(first: Tensor, memory: Tensor) -> Tensor:
    """Return the height in Δm_0 of the lowest peak counted so far, (N,), 0 where there is none.

    `first` is Δm_0, (N, H/2, W/2), rounded up; `memory` is m_t, (N, H, W).
    """
    peaks = max_pool2d(memory, 2, ceil_mode=True)
    maxima = (peaks > _PEAK_THRESHOLD) & (peaks == max_pool2d(peaks, 3, 1, 1))
    # The memory's peak is where Δm was highest, up to a fraction of a cell.
    heights = torch.where(maxima, max_pool2d(first, 3, 1, 1), torch.inf).amin((1, 2))
    return torch.where(heights.isinf(), 0.0, heights)
