"""Strips: lines of text cut out of an image and rectified.

A line that a model found is a soft mask, one of the ground truth is a quad. Both are converted to
a `Band`. The pixels of a band are sampled on a grid along its direction, with the same number of
rows for tall letters and for small ones. A reader of strips therefore need not know where in the
image a line was, how large or how tilted.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

# Height of a strip over that of its line: room for small errors of localisation.
_MARGIN = 1.25
# Margin before and after the line, over its height.
_END_MARGIN = 0.3
# The length of a batch of strips is a multiple of this number of columns.
_COLUMN_MULTIPLE = 32
# Columns of padding after the longest strip. All others of a batch have such padding in training,
# so a line that is read alone needs it, too.
_PADDING = 32
# Cells of a mask with lower values are ignored when its band is fitted.
_MASK_THRESHOLD = 0.25


@dataclass(frozen=True)
class Band:
    """The straight bands around N lines, in pixels of the image."""

    left: Tensor
    """Middle of the left edge, (N, 2) as x, y."""
    right: Tensor
    """Middle of the right edge, (N, 2)."""
    heights: Tensor
    """Heights of the left and the right edge, (N, 2)."""

    def __getitem__(self, rows: Tensor) -> "Band":
        return Band(self.left[rows], self.right[rows], self.heights[rows])

    def __truediv__(self, factor: float) -> "Band":
        """Return the same bands in an image that is smaller by a factor."""
        return Band(self.left / factor, self.right / factor, self.heights / factor)

    @property
    def length(self) -> Tensor:
        """Distance from the left edge to the right, (N,); at least one pixel."""
        across, down = (self.right - self.left).unbind(1)
        return torch.hypot(across, down).clamp(min=1.0)

    def with_height(self, pixels: float) -> "Band":
        """Return the same bands, all of one height."""
        return Band(self.left, self.right, torch.full_like(self.heights, pixels))


@dataclass(frozen=True)
class StripShape:
    """How lines are cut out."""

    rows: int
    columns: int
    """Maximal length of a strip; longer lines are squeezed to fit."""
    squeeze: float = 1.0
    """Distance between columns over that between rows."""
    padding: str = "border"
    """What lies outside of the image: `border`, the nearest pixels of the image, or `zeros`."""


@dataclass(frozen=True)
class Strips:
    """The rectified pixels of N bands."""

    pixels: Tensor
    """(N, C, rows, columns), padded with zeros on the right."""
    columns: Tensor
    """Number of columns in use, (N,)."""


def quad_bands(quads: Tensor) -> Band:
    """Return the bands of quads, (N, 4, 2), clockwise from the upper left.

    >>> band = quad_bands(torch.tensor([[[0.0, 0], [8, 0], [8, 4], [0, 2]]]))
    >>> band.left.tolist(), band.right.tolist(), band.heights.tolist()
    ([[0.0, 1.0]], [[8.0, 2.0]], [[2.0, 4.0]])
    """
    tops, bottoms = quads[:, :2], quads[:, [3, 2]]  # (N, 2, 2): left and right
    middles = (tops + bottoms) / 2
    return Band(middles[:, 0], middles[:, 1], (bottoms - tops).norm(dim=2))


def band_quads(band: Band) -> Tensor:
    """Return the corners of bands, (N, 4, 2), clockwise from the upper left.

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
    """Fit bands to soft masks, (N, h, w), whose values are the covered fraction of each cell.

    Straight lines are fitted to the middle and to the height of the mask over its columns, which
    is robust to ragged edges and holes.
    """
    masks = masks * (masks > _MASK_THRESHOLD)
    masks = masks * _near(masks, *_fit(masks)[:2])  # removes fragments of other lines
    middle, height, mass = _fit(masks)  # (N, w) each
    left, right = _extent(mass / height.clamp(min=0.5))  # (N,) each, in cells
    ends = torch.stack([left, right], 1)  # (N, 2)
    y, heights = _at(middle, ends) + 0.5, _at(height, ends)
    down, across = stride
    points = torch.stack([ends * across, y * down], 2)  # (N, 2 ends, 2)
    return Band(points[:, 0], points[:, 1], heights.clamp(min=0.5) * down)


def _fit(masks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the fitted middle and height at every column, and its mass, (N, w) each."""
    rows = torch.arange(masks.shape[1], dtype=masks.dtype, device=masks.device)
    mass = masks.sum(1)  # (N, w)
    middle = (masks * rows[:, None]).sum(1) / mass.clamp(min=1e-6)
    # The first and last columns are partly covered: their mass does not measure the height.
    full = mass * (mass > 0.6 * mass.amax(1, keepdim=True))
    return _fit_line(middle, mass), _fit_line(mass, full), mass


def _fit_line(values: Tensor, weights: Tensor) -> Tensor:
    """Fit a straight line to values (N, w) by weighted least squares; return its values."""
    x = torch.arange(values.shape[1], dtype=values.dtype, device=values.device)
    total = weights.sum(1, keepdim=True).clamp(min=1e-6)  # (N, 1)
    centre = (weights * x).sum(1, keepdim=True) / total
    mean = (weights * values).sum(1, keepdim=True) / total
    offset = x - centre  # (N, w)
    # Regularised by the constant: the slope of a line of few columns is nearly 0.
    variance = (weights * offset**2).sum(1, keepdim=True) + total
    return mean + offset * (weights * offset * (values - mean)).sum(1, keepdim=True) / variance


def _near(masks: Tensor, middle: Tensor, height: Tensor) -> Tensor:
    """Tell which cells lie within one height of the middle, (N, h, w)."""
    rows = torch.arange(masks.shape[1], dtype=masks.dtype, device=masks.device)
    reach = height.clamp(min=1.0)[:, None]  # (N, 1, w)
    return (rows[:, None] - middle[:, None]).abs() <= reach


def _extent(covered: Tensor) -> tuple[Tensor, Tensor]:
    """Return where each line begins and ends, (N,) in cells, from the covered fraction of each
    column."""
    covered = functional.pad(covered.clamp(0, 1), (1, 1))  # (N, w + 2)
    half = covered >= 0.5
    first = half.float().argmax(1, keepdim=True)  # (N, 1); the first of equal values
    last = half.shape[1] - 1 - half.flip(1).float().argmax(1, keepdim=True)
    empty = ~half.any(1, keepdim=True)
    first, last = first.masked_fill(empty, 1), last.masked_fill(empty, half.shape[1] - 2)
    # The covered fraction of the outermost column and of the next one.
    left = first - covered.gather(1, first) - covered.gather(1, first - 1)
    right = last - 1 + covered.gather(1, last) + covered.gather(1, last + 1)
    return left[:, 0], right[:, 0]


def _at(line: Tensor, ends: Tensor) -> Tensor:
    """Extrapolate straight lines, given at the middles of the columns, (N, w), to ends (N, 2)."""
    slope = (line[:, -1:] - line[:, :1]) / max(line.shape[1] - 1, 1)
    return line[:, :1] + slope * (ends - 0.5)


def perturb_bands(band: Band, errors: Tensor) -> Band:
    """Return bands as a model might have found them: moved, tilted, longer or taller.

    `errors`, (N, 5), are those of the two ends (x, y) and of the height, over the line's height.
    """
    size = band.heights.mean(1, keepdim=True)  # (N, 1)
    return Band(
        band.left + size * errors[:, 0:2],
        band.right + size * errors[:, 2:4],
        band.heights * (1 + errors[:, 4:]).clamp(0.7, 1.4),
    )


def are_close(found: Band, true: Band) -> Tensor:
    """Tell which bands are so close to the true ones that their lines can be read, (N,)."""
    height = true.heights.mean(1)  # (N,)
    errors = torch.stack(
        [(found.left - true.left).norm(dim=1), (found.right - true.right).norm(dim=1)]
    )
    ratio = found.heights.mean(1) / height
    return (errors < 0.6 * height).all(0) & (ratio > 0.7) & (ratio < 1.4)


def select_bands(condition: Tensor, band: Band, other: Band) -> Band:
    """Return `band` where the condition (N,) holds, else `other`."""
    chosen = condition[:, None]
    return Band(
        torch.where(chosen, band.left, other.left),
        torch.where(chosen, band.right, other.right),
        torch.where(chosen, band.heights, other.heights),
    )


def cut_strips(images: Tensor, band: Band, shape: StripShape, lead: float = 0.0) -> Strips:
    """Cut N bands out of N images (N, C, H, W), one of each, and rectify them.

    Strips begin `lead` columns earlier than usual. Tall lines are cut out of an image at half the
    resolution, a quarter and so on, because sampling single pixels would cause aliasing.
    """
    pitch = band.heights.mean(1) * _MARGIN / shape.rows  # pixels from row to row, (N,)
    levels = pitch.clamp(min=1.0).log2().floor().long()
    if not levels.any():
        return _cut_level(images, band, shape, lead)
    parts = []
    for level in sorted(set(levels.tolist())):
        index = torch.nonzero(levels == level)[:, 0]
        factor = 2**level
        smaller = functional.avg_pool2d(images[index], factor, ceil_mode=True)
        strips = _cut_level(smaller, band[index] / factor, shape, lead)
        parts.append((index, strips))
    return _merge_strips(parts)


def _merge_strips(parts: list[tuple[Tensor, Strips]]) -> Strips:
    """Merge strips, given with their indices, into one batch, padded to the longest."""
    n = sum(len(index) for index, _ in parts)
    first = parts[0][1].pixels
    columns = max(strips.pixels.shape[3] for _, strips in parts)
    pixels = first.new_zeros(n, first.shape[1], first.shape[2], columns)
    used = parts[0][1].columns.new_zeros(n)
    for index, strips in parts:
        pixels[index, :, :, : strips.pixels.shape[3]] = strips.pixels
        used[index] = strips.columns
    return Strips(pixels, used)


def _cut_level(images: Tensor, band: Band, shape: StripShape, lead: float) -> Strips:
    """Cut bands out of images in which their lines are about `rows` pixels high."""
    height, length = band.heights.mean(1), band.length  # (N,) each
    margin = _END_MARGIN * height
    pitch = height * _MARGIN / shape.rows * shape.squeeze  # pixels from column to column
    before = margin + lead * pitch
    total = length + 2 * margin + lead * pitch
    used = (total / pitch).clamp(shape.rows, shape.columns).ceil().long()
    # Few different shapes, so that the kernels that the backend prepares for a shape are reused.
    columns = -(-(int(used.max()) + _PADDING) // _COLUMN_MULTIPLE) * _COLUMN_MULTIPLE
    index = torch.arange(columns, device=images.device) + 0.5
    distance = index * (total / used)[:, None] - before[:, None]  # (N, columns)
    size = torch.tensor([images.shape[3], images.shape[2]], device=images.device)
    grid = _points(band, distance, shape.rows) / size * 2 - 1  # (N, rows, columns, 2)
    pixels = functional.grid_sample(images, grid, padding_mode=shape.padding, align_corners=False)
    return Strips(_standardise(pixels, index < used[:, None]), used)


def _points(band: Band, distance: Tensor, rows: int) -> Tensor:
    """Return the points x, y of a strip's grid, (N, rows, columns, 2), from the distances of its
    columns from the left edge, (N, columns) in pixels."""
    length = band.length[:, None]  # (N, 1)
    along = ((band.right - band.left) / length)[:, None]  # (N, 1, 2)
    middle = band.left[:, None] + distance[..., None] * along  # (N, columns, 2)
    down = torch.stack([-along[..., 1], along[..., 0]], 2)  # across the line, (N, 1, 2)
    height = band.heights[:, :1] + distance / length * band.heights.diff(dim=1)  # (N, columns)
    offset = ((torch.arange(rows, device=height.device) + 0.5) / rows - 0.5) * _MARGIN
    return middle[:, None] + offset[:, None, None] * (height[..., None] * down)[:, None]


def _standardise(pixels: Tensor, used: Tensor) -> Tensor:
    """Scale each strip to mean 0 and variance 1: the text depends on neither brightness nor
    contrast."""
    used = used[:, None, None]  # (N, 1, 1, columns)
    count = used.sum((1, 2, 3), keepdim=True) * pixels.shape[1] * pixels.shape[2]
    mean = (pixels * used).sum((1, 2, 3), keepdim=True) / count
    variance = ((pixels - mean) ** 2 * used).sum((1, 2, 3), keepdim=True) / count
    return (pixels - mean) / (variance + 1e-4).sqrt() * used
