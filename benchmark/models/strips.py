"""Strips: lines of text cut out of an image and laid straight.

A line that a model found is a soft mask, one that it learns from is a quad. Both become a
`Band`, and what lies in a band is sampled into rows and columns along its direction, as many
for tall letters as for small ones. So whatever reads a strip need not know where in the image
the line was, how large or how tilted.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

# Half a height above and below the middle is the line itself; the rest is room for an estimate
# that is a little off.
_MARGIN = 1.25
# Room before and after the line, over its height.
_ENDS = 0.3
# Strips are padded to a multiple of so many columns.
_ROUND = 32
# Empty columns after the longest strip. All but the longest of a batch end in such; without them
# a line alone would be read by what came after it in training.
_TAIL = 32
# Cells that a mask covers by less do not say where its line is.
_NOTICED = 0.25


@dataclass(frozen=True)
class Band:
    """The straight bands around N lines, in pixels of the image."""

    left: Tensor
    """Middle of the left edge, (N, 2) as x, y."""
    right: Tensor
    """Middle of the right edge, (N, 2)."""
    heights: Tensor
    """Of the left and the right edge, (N, 2)."""

    def __getitem__(self, rows: Tensor) -> "Band":
        return Band(self.left[rows], self.right[rows], self.heights[rows])

    def __truediv__(self, factor: float) -> "Band":
        """Return the same bands in an image that is so many times smaller."""
        return Band(self.left / factor, self.right / factor, self.heights / factor)

    @property
    def length(self) -> Tensor:
        """From left to right, (N,); at least a pixel."""
        across, down = (self.right - self.left).unbind(1)
        return torch.hypot(across, down).clamp(min=1.0)

    def of_height(self, pixels: float) -> "Band":
        """The same lines, all so high."""
        return Band(self.left, self.right, torch.full_like(self.heights, pixels))


@dataclass(frozen=True)
class Strips:
    """What lies in N bands."""

    pixels: Tensor
    """(N, C, rows, columns), zeros after the end of each."""
    columns: Tensor
    """How many of each are in use, (N,)."""


def quad_bands(quads: Tensor) -> Band:
    """Bands of quads, (N, 4, 2), clockwise from the upper left.

    >>> band = quad_bands(torch.tensor([[[0.0, 0], [8, 0], [8, 4], [0, 2]]]))
    >>> band.left.tolist(), band.right.tolist(), band.heights.tolist()
    ([[0.0, 1.0]], [[8.0, 2.0]], [[2.0, 4.0]])
    """
    tops, bottoms = quads[:, :2], quads[:, [3, 2]]  # (N, 2, 2): left and right
    middles = (tops + bottoms) / 2
    return Band(middles[:, 0], middles[:, 1], (bottoms - tops).norm(dim=2))


def band_quads(band: Band) -> Tensor:
    """Quads of bands, (N, 4, 2): rectangles, but for edges that differ in height.

    >>> band_quads(Band(torch.tensor([[0.0, 1]]), torch.tensor([[8.0, 1]]), torch.ones(1, 2) * 2))
    tensor([[[0., 0.],
             [8., 0.],
             [8., 2.],
             [0., 2.]]])
    """
    along = (band.right - band.left) / band.length[:, None]  # (N, 2)
    down = torch.stack([-along[:, 1], along[:, 0]], 1)
    left, right = (band.heights[:, k, None] / 2 * down for k in range(2))
    corners = band.left - left, band.right - right, band.right + right, band.left + left
    return torch.stack(corners, 1)


def mask_bands(masks: Tensor, stride: tuple[int, int]) -> Band:
    """Bands of soft masks, (N, h, w), whose values say how much of a cell the line covers.

    The middle and the height at each column follow from the mass there, and a straight line is
    laid through each: a ragged edge or a hole moves it little.
    """
    masks = masks * (masks > _NOTICED)
    masks = masks * _near(masks, *_fit(masks)[:2])  # bits of other lines fall away
    middle, height, mass = _fit(masks)  # (N, w) each
    left, right = _extent(mass / height.clamp(min=0.5))  # (N,) each, in cells
    ends = torch.stack([left, right], 1)  # (N, 2)
    y, heights = _at(middle, ends) + 0.5, _at(height, ends)
    down, across = stride
    points = torch.stack([ends * across, y * down], 2)  # (N, 2 ends, 2)
    return Band(points[:, 0], points[:, 1], heights.clamp(min=0.5) * down)


def _fit(masks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Straight middle and height at every column, and the mass that is there, (N, w) each."""
    rows = torch.arange(masks.shape[1], dtype=masks.dtype, device=masks.device)
    mass = masks.sum(1)  # (N, w)
    middle = (masks * rows[:, None]).sum(1) / mass.clamp(min=1e-6)
    # The first and last columns are covered in part: their mass says little about the height.
    whole = mass * (mass > 0.6 * mass.amax(1, keepdim=True))
    return _straight(middle, mass), _straight(mass, whole), mass


def _straight(values: Tensor, weights: Tensor) -> Tensor:
    """Values (N, w) on the line of least squares through them."""
    x = torch.arange(values.shape[1], dtype=values.dtype, device=values.device)
    total = weights.sum(1, keepdim=True).clamp(min=1e-6)  # (N, 1)
    centre = (weights * x).sum(1, keepdim=True) / total
    mean = (weights * values).sum(1, keepdim=True) / total
    away = x - centre  # (N, w)
    # A line of few columns is taken as level: the constant outweighs its spread.
    spread = (weights * away**2).sum(1, keepdim=True) + total
    return mean + away * (weights * away * (values - mean)).sum(1, keepdim=True) / spread


def _near(masks: Tensor, middle: Tensor, height: Tensor) -> Tensor:
    """Which cells lie within one height of the middle, (N, h, w)."""
    rows = torch.arange(masks.shape[1], dtype=masks.dtype, device=masks.device)
    reach = height.clamp(min=1.0)[:, None]  # (N, 1, w)
    return (rows[:, None] - middle[:, None]).abs() <= reach


def _extent(covered: Tensor) -> tuple[Tensor, Tensor]:
    """Where the line begins and ends, (N,) in cells, from how much each column is covered."""
    covered = functional.pad(covered.clamp(0, 1), (1, 1))  # (N, w + 2)
    half = covered >= 0.5
    first = half.float().argmax(1, keepdim=True)  # (N, 1); the first of equals
    last = half.shape[1] - 1 - half.flip(1).float().argmax(1, keepdim=True)
    empty = ~half.any(1, keepdim=True)
    first, last = first.masked_fill(empty, 1), last.masked_fill(empty, half.shape[1] - 2)
    # The part of the outermost column that is covered, and what spills into the next.
    left = first - covered.gather(1, first) - covered.gather(1, first - 1)
    right = last - 1 + covered.gather(1, last) + covered.gather(1, last + 1)
    return left[:, 0], right[:, 0]


def _at(line: Tensor, ends: Tensor) -> Tensor:
    """Values at the ends, (N, 2), of straight lines given at the middles of the columns, (N, w)."""
    slope = (line[:, -1:] - line[:, :1]) / max(line.shape[1] - 1, 1)
    return line[:, :1] + slope * (ends - 0.5)


def shake(band: Band, errors: Tensor) -> Band:
    """Bands as a model might have found them: a little moved, tilted, longer or taller.

    `errors`, (N, 5), are those of the two ends and of the height, over the height of the line.
    """
    size = band.heights.mean(1, keepdim=True)  # (N, 1)
    return Band(
        band.left + size * errors[:, 0:2],
        band.right + size * errors[:, 2:4],
        band.heights * (1 + errors[:, 4:]).clamp(0.7, 1.4),
    )


def near_bands(found: Band, true: Band) -> Tensor:
    """Whether bands are about where they should be, (N,), so that their lines can be read."""
    size = true.heights.mean(1)  # (N,)
    off = torch.stack(
        [(found.left - true.left).norm(dim=1), (found.right - true.right).norm(dim=1)]
    )
    ratio = found.heights.mean(1) / size
    return (off < 0.6 * size).all(0) & (ratio > 0.7) & (ratio < 1.4)


def choose_bands(which: Tensor, one: Band, other: Band) -> Band:
    """The bands of `one` where `which`, (N,), says so, else those of `other`."""
    here = which[:, None]
    return Band(
        torch.where(here, one.left, other.left),
        torch.where(here, one.right, other.right),
        torch.where(here, one.heights, other.heights),
    )


def cut_strips(images: Tensor, band: Band, rows: int, most: int, squeeze: float = 1.0) -> Strips:
    """Lay N bands of N images (N, C, H, W) straight: `rows` high and up to `most` columns long.

    Columns are `squeeze` times as far apart as rows are; a line that needs more than `most` is
    squeezed further. Tall lines are cut out of an image of half the size, a quarter and so on:
    taking one pixel of several would leave ragged letters.
    """
    pitch = band.heights.mean(1) * _MARGIN / rows  # pixels from row to row, (N,)
    levels = pitch.clamp(min=1.0).log2().floor().long()
    if not levels.any():
        return _cut_level(images, band, rows, most, squeeze)
    pieces = []
    for level in sorted(set(levels.tolist())):
        which = torch.nonzero(levels == level)[:, 0]
        factor = 2**level
        smaller = functional.avg_pool2d(images[which], factor, ceil_mode=True)
        pieces.append((which, _cut_level(smaller, band[which] / factor, rows, most, squeeze)))
    return _merge_strips(pieces)


def _merge_strips(pieces: list[tuple[Tensor, Strips]]) -> Strips:
    """Strips of several sets of rows as one, all padded to the longest."""
    n = sum(len(which) for which, _ in pieces)
    first = pieces[0][1].pixels
    columns = max(strips.pixels.shape[3] for _, strips in pieces)
    pixels = first.new_zeros(n, first.shape[1], first.shape[2], columns)
    used = pieces[0][1].columns.new_zeros(n)
    for which, strips in pieces:
        pixels[which, :, :, : strips.pixels.shape[3]] = strips.pixels
        used[which] = strips.columns
    return Strips(pixels, used)


def _cut_level(images: Tensor, band: Band, rows: int, most: int, squeeze: float) -> Strips:
    """Cut bands out of images in which their lines have about the wanted size."""
    height, length = band.heights.mean(1), band.length  # (N,) each
    room = _ENDS * height
    pitch = height * _MARGIN / rows  # pixels from row to row
    used = ((length + 2 * room) / (pitch * squeeze)).clamp(rows, most).ceil().long()  # (N,)
    # Few different lengths: what the backend prepares for a shape is used again.
    columns = -(-(int(used.max()) + _TAIL) // _ROUND) * _ROUND
    index = torch.arange(columns, device=images.device) + 0.5
    distance = index * ((length + 2 * room) / used)[:, None] - room[:, None]  # (N, columns)
    size = torch.tensor([images.shape[3], images.shape[2]], device=images.device)
    grid = _points(band, distance, rows) / size * 2 - 1  # (N, rows, columns, 2)
    pixels = functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
    return Strips(_even(pixels, index < used[:, None]), used)


def _points(band: Band, distance: Tensor, rows: int) -> Tensor:
    """Points x, y of a strip, (N, rows, columns, 2), whose columns lie so far along, in pixels."""
    length = band.length[:, None]  # (N, 1)
    along = ((band.right - band.left) / length)[:, None]  # (N, 1, 2)
    middle = band.left[:, None] + distance[..., None] * along  # (N, columns, 2)
    down = torch.stack([-along[..., 1], along[..., 0]], 2)  # across the line, (N, 1, 2)
    height = band.heights[:, :1] + distance / length * band.heights.diff(dim=1)  # (N, columns)
    offset = ((torch.arange(rows, device=height.device) + 0.5) / rows - 0.5) * _MARGIN
    return middle[:, None] + offset[:, None, None] * (height[..., None] * down)[:, None]


def _even(pixels: Tensor, used: Tensor) -> Tensor:
    """Strips of mean 0 and variance 1 each: neither brightness nor contrast says what is read."""
    used = used[:, None, None]  # (N, 1, 1, columns)
    count = used.sum((1, 2, 3), keepdim=True) * pixels.shape[1] * pixels.shape[2]
    mean = (pixels * used).sum((1, 2, 3), keepdim=True) / count
    variance = ((pixels - mean) ** 2 * used).sum((1, 2, 3), keepdim=True) / count
    return (pixels - mean) / (variance + 1e-4).sqrt() * used
