"""Photo counter: counts what photographs show, where some things are objects only perhaps."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, pixel_shuffle, pixel_unshuffle

from benchmark.models.contract import Step
from benchmark.models.counter import LateCounter, enlarged
from benchmark.models.counting_encoders import PhotoEncoder
from benchmark.models.turned import FOLDED, TURNED, Fold, TurnedConv, TurnedPlainUnit

# Where it was not trained a counter is less sure of what is there, by how much depends on the
# photograph, and what is none is taken for something with little certainty everywhere. So a peak
# of a photograph is none if it is much lower than the lowest of those that were counted, or lower
# than any should be. Both limits were chosen on crops of training images that another training
# had not seen (perf/held_out.py).
_SHARE, _LEAST = 0.55, 0.3
# Peaks of the memory are 1 high; what is lower lies between two of them.
_MARK = 0.5


class PhotoCounter(LateCounter):
    """Ours for photographs: what it sees in a turned image is what it sees in the image, turned."""

    fold: ClassVar[int] = 8

    def __init__(
        self, channels: int, fields: Sequence[int], step: int, reach: int, sigma: float = 2.5,
        jitter: float = 1.5, stop_share: float = 0.1, every: bool = True,
    ) -> None:  # fmt: skip
        """`fields` of the encoder's maps, and of what is done at every `step`; a mark in the
        memory is seen from 8 · reach + 4 pixels away."""
        super().__init__(sigma, jitter, stop_share, every)
        self.share, self.least = _SHARE, _LEAST
        self.encoder = PhotoEncoder(channels, fields)
        self.join = TurnedConv(TURNED, fields[1], step, 3, bias=True)
        self.memory = TurnedConv(FOLDED, 1, step, 3)
        self.mix = TurnedPlainUnit(step, reach)
        peaks = TurnedConv(TURNED, step, 1, 1, bias=True)
        # Nearly nothing is a peak, to begin with.
        assert peaks.bias is not None
        nn.init.constant_(peaks.bias, -4.0)
        self.head = nn.Sequential(peaks, Fold())

    def encode(self, images: Tensor) -> Tensor:
        """What is seen, and after it in the channels what there is to count before anything
        was."""
        seen = self.look(images)
        height, width = seen.shape[2:]
        first = self.maps(seen, seen.new_zeros(len(seen), 4 * height, 4 * width)).sigmoid()
        return torch.cat([seen, pixel_unshuffle(first[:, None], 2)], 1)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        seen, first = encoded[:, :-4], pixel_shuffle(encoded[:, -4:], 2)[:, 0]
        heat = self.maps(seen, memory).sigmoid()
        limit = (self.share * lowest_counted(first, memory)).clamp(min=self.least)
        stop = self.stop_weight * (heat.amax((1, 2)) - limit)
        return Step(enlarged(heat, memory), stop.sigmoid())


def lowest_counted(first: Tensor, memory: Tensor) -> Tensor:
    """How high the lowest of the peaks that are in the memory (N, H, W) was at first, when none
    was (N, H/2, W/2, or larger); 0 where none is yet."""
    marks = max_pool2d(memory, 2, ceil_mode=True)
    tops = (marks > _MARK) & (marks == max_pool2d(marks, 3, 1, 1))
    height, width = marks.shape[1:]
    # A mark lies where its peak was highest, but for a fraction of a cell.
    around = max_pool2d(first, 3, 1, 1)[:, :height, :width]
    heights = torch.where(tops, around, torch.inf).amin((1, 2))
    return torch.where(heights.isinf(), 0.0, heights)
