"""Pyramid finder: locates the next line in photographs, whose lines may have any height.

The finder for synthetic blocks has a fixed receptive field, which is enough for lines of about one
height. In a photograph, a line may be as high as the image. This finder therefore works at several
resolutions, each half of the one before, and adds them up again (a U-Net): a large line is a small
one at a coarse resolution.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.models.layers import BatchNorm

# Resolutions below the grid's own.
_LEVELS = 3


class PyramidFinder(nn.Module):
    """Predicts where the next line is and whether there is one."""

    def __init__(
        self, channels: int, strides: tuple[tuple[int, int], ...], wide: int, narrow: int
    ) -> None:
        """Set up the layers: `strides` lead from pixels to the grid, `wide` are the channels of
        the image features, `narrow` those of the features that combine image and memory."""
        super().__init__()
        stem: list[nn.Module] = []
        for i, stride in enumerate(strides):
            after = wide if i else wide // 2
            kernel = 5 if i == 0 else 3
            stem.append(_conv(channels, after, kernel, tuple(stride)))
            channels = after
        self.look = nn.Sequential(*stem, Pyramid(wide, wide + wide // 2))
        self.join = _conv(2 * wide + 1, narrow, 3)
        self.think = nn.Sequential(Pyramid(narrow, 2 * narrow), Pyramid(narrow, 2 * narrow))
        self.delta = nn.Conv2d(narrow, 1, 1)
        # Nothing is left if nothing is found: initialised to stop if the maximum is below 0.5.
        self.stop_weight = nn.Parameter(torch.tensor(-10.0))
        self.stop_bias = nn.Parameter(torch.tensor(5.0))

    def forward(self, features: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of Δm (N, h, w) and of stopping (N,), from the output of `look` and
        memories (N, H, W)."""
        size = features.shape[-2:]
        memory = functional.interpolate(memory[:, None].float(), size=size, mode="area")
        memory = memory.to(features.dtype)  # (N, 1, h, w)
        state = self.think(self.join(torch.cat([features, features * (1 - memory), memory], 1)))
        logits: Tensor = self.delta(state)
        # The mean of three cells side by side: a single one is noise, not a line.
        highest = functional.avg_pool2d(logits.sigmoid(), (1, 3), 1).amax((1, 2, 3))
        return logits[:, 0], self.stop_weight * highest + self.stop_bias


class Pyramid(nn.Module):
    """Residual convolutions at several resolutions, added up at the first."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.top = _Residual(channels)
        widths = [channels] + [inner] * _LEVELS
        pairs = list(zip(widths, widths[1:], strict=False))
        self.down = nn.ModuleList(_conv(a, b, 3, (2, 2)) for a, b in pairs)
        self.within = nn.ModuleList(_Residual(inner) for _ in pairs)
        self.up = nn.ModuleList(nn.Conv2d(b, a, 1, bias=False) for a, b in pairs)
        self.last = _Residual(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layers: (N, C, h, w) → (N, C, h, w)."""
        levels = [self.top(x)]
        for down, within in zip(self.down, self.within, strict=True):
            levels.append(within(down(levels[-1])))
        coarse = levels.pop()
        for up in reversed(self.up):
            fine = levels.pop()
            coarse = fine + functional.interpolate(up(coarse), fine.shape[-2:], mode="bilinear")
        out: Tensor = self.last(coarse)
        return out


class _Residual(nn.Module):
    """A convolution with batch normalisation, added to its input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = BatchNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.norm(self.conv(x)))


def _conv(before: int, after: int, kernel: int, stride: tuple[int, ...] = (1, 1)) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, (stride[0], stride[1]), kernel // 2, bias=False),
        BatchNorm(after),
        nn.ReLU(),
    )
