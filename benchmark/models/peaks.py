"""Peaks: the memory of counters, gaussians at the centres of the objects counted so far."""

from dataclasses import dataclass

import torch
from torch import Tensor


def draw_peaks(centres: Tensor, drawn: Tensor, sigmas: Tensor, size: tuple[int, int]) -> Tensor:
    """Return sums of gaussian peaks of height 1, (N, H, W).

    Centres are (N, K, 2), x and y in pixels (pixel centres lie at + 0.5); `drawn`, (N, K), selects
    those to draw; sigmas are (N,) in pixels.
    """
    height, width = size
    scale = 2 * sigmas[:, None, None] ** 2
    columns = torch.arange(width, device=centres.device) + 0.5
    rows = torch.arange(height, device=centres.device) + 0.5
    # A gaussian is a product of one in x and one in y.
    across = torch.exp(-((columns - centres[..., :1]) ** 2) / scale)  # (N, K, W)
    down = torch.exp(-((rows - centres[..., 1:]) ** 2) / scale)  # (N, K, H)
    # Two factors: with three, einsum would allocate a map for every peak.
    return torch.einsum("nkh,nkw->nhw", down * drawn.to(down)[..., None], across)


@dataclass(frozen=True)
class Peak:
    """The highest point of each map."""

    centre: Tensor  # (N, 2) x and y in pixels of the map
    height: Tensor  # (N,)


def strongest_peak(maps: Tensor) -> Peak:
    """Return the highest point of each map (N, H, W), with subpixel accuracy.

    >>> peak = strongest_peak(draw_peaks(torch.tensor([[[3.4, 1.5]]]), torch.ones(1, 1),
    ...                                  torch.ones(1), (5, 8)))
    >>> [round(float(v), 1) for v in peak.centre[0]]
    [3.4, 1.5]
    """
    n, height, width = maps.shape
    highest = maps.flatten(1).argmax(1)
    y, x = highest // width, highest % width
    index = torch.arange(n, device=maps.device)
    centre_x = x + 0.5 + _subpixel_offset(maps, index, y, x, 0, 1)
    centre_y = y + 0.5 + _subpixel_offset(maps, index, y, x, 1, 0)
    return Peak(torch.stack([centre_x, centre_y], 1), maps[index, y, x])


def _subpixel_offset(maps: Tensor, index: Tensor, y: Tensor, x: Tensor, dy: int, dx: int) -> Tensor:
    """Return the offset of the maximum of the parabola through a pixel and its neighbours."""
    _, height, width = maps.shape
    inside = (y >= dy) & (y < height - dy) & (x >= dx) & (x < width - dx)
    before = maps[index, (y - dy).clamp(min=0), (x - dx).clamp(min=0)]
    after = maps[index, (y + dy).clamp(max=height - 1), (x + dx).clamp(max=width - 1)]
    curvature = before + after - 2 * maps[index, y, x]
    offset = 0.5 * (before - after) / curvature.clamp(max=-1e-6)
    return torch.where(inside, offset.clamp(-0.5, 0.5), torch.zeros_like(offset))
