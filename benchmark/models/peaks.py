"""Peaks: the memory of counting, gaussians at the centres of what has been counted."""

from dataclasses import dataclass

import torch
from torch import Tensor


def draw_peaks(centres: Tensor, shown: Tensor, sigmas: Tensor, size: tuple[int, int]) -> Tensor:
    """Sums of gaussian peaks of height 1, (N, H, W).

    Centres are (N, K, 2), x and y in pixels (pixel centres lie at + 0.5); `shown`, (N, K), says
    which of them count; sigmas are (N,) in pixels.
    """
    height, width = size
    scale = 2 * sigmas[:, None, None] ** 2
    columns = torch.arange(width, device=centres.device) + 0.5
    rows = torch.arange(height, device=centres.device) + 0.5
    # A gaussian is a product of one in x and one in y.
    across = torch.exp(-((columns - centres[..., :1]) ** 2) / scale)  # (N, K, W)
    down = torch.exp(-((rows - centres[..., 1:]) ** 2) / scale)  # (N, K, H)
    # Two factors: of three, einsum would write out a map for every peak.
    return torch.einsum("nkh,nkw->nhw", down * shown.to(down)[..., None], across)


@dataclass(frozen=True)
class Peak:
    """The one place of each map that is added to the memory."""

    centre: Tensor  # (N, 2) x and y in pixels of the map
    height: Tensor  # (N,)


def strongest_peak(maps: Tensor) -> Peak:
    """The highest point of each map (N, H, W), to a fraction of a pixel.

    >>> peak = strongest_peak(draw_peaks(torch.tensor([[[3.4, 1.5]]]), torch.ones(1, 1),
    ...                                  torch.ones(1), (5, 8)))
    >>> [round(float(v), 1) for v in peak.centre[0]]
    [3.4, 1.5]
    """
    n, height, width = maps.shape
    place = maps.flatten(1).argmax(1)
    y, x = place // width, place % width
    index = torch.arange(n, device=maps.device)
    return Peak(
        torch.stack(
            [x + 0.5 + _lean(maps, index, y, x, 0, 1), y + 0.5 + _lean(maps, index, y, x, 1, 0)], 1
        ),
        maps[index, y, x],
    )


def _lean(maps: Tensor, index: Tensor, y: Tensor, x: Tensor, dy: int, dx: int) -> Tensor:
    """By how much the top of the parabola through three neighbours lies off the middle one."""
    _, height, width = maps.shape
    inside = (y >= dy) & (y < height - dy) & (x >= dx) & (x < width - dx)
    before = maps[index, (y - dy).clamp(min=0), (x - dx).clamp(min=0)]
    after = maps[index, (y + dy).clamp(max=height - 1), (x + dx).clamp(max=width - 1)]
    curve = before + after - 2 * maps[index, y, x]
    lean = 0.5 * (before - after) / curve.clamp(max=-1e-6)
    return torch.where(inside, lean.clamp(-0.5, 0.5), torch.zeros_like(lean))
