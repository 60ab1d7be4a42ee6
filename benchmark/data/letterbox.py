"""Fit: a picture laid on the canvas that a reader knows, and the way back."""

from dataclasses import dataclass

import cv2
import numpy as np

from ivl_shards.format.schema import Array


@dataclass(frozen=True)
class Fitted:
    """A picture, scaled and placed on a canvas."""

    pixels: Array  # (H, W, …) of the canvas
    size: tuple[int, int]
    """Height and width of the picture."""
    scale: tuple[float, float]
    """Pixels of the canvas for one of the picture, in x and y."""
    offset: tuple[int, int]
    """(x, y) of the picture on the canvas."""

    @property
    def window(self) -> tuple[int, int, int, int]:
        """x0, y0, x1, y1 of the picture on the canvas."""
        (left, top), (height, width) = self.offset, self.size
        right, bottom = left + round(width * self.scale[0]), top + round(height * self.scale[1])
        return left, top, right, bottom

    def back(self, points: Array) -> Array:
        """Points (…, 2) of the canvas in the picture, none of them beyond its edges."""
        there = (points - np.array(self.offset)) / self.scale
        inside: Array = np.clip(there, 0, self.size[::-1])
        return inside


def fit(picture: Array, canvas: tuple[int, int], zoom: float = 1.0) -> Fitted:
    """A picture (h, w, …) in the middle of a canvas, as large as fits, or by `zoom` smaller.

    >>> fitted = fit(np.zeros((100, 50), np.uint8), (320, 448))
    >>> fitted.scale, fitted.offset, fitted.back(np.array([144, 320])).tolist()
    ((3.2, 3.2), (144, 0), [0.0, 100.0])
    """
    height, width = picture.shape[:2]
    scale = min(canvas[0] / height, canvas[1] / width) * zoom
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    pixels = cv2.resize(picture, inner, interpolation=how)
    left, top = (canvas[1] - inner[0]) // 2, (canvas[0] - inner[1]) // 2
    below, right = canvas[0] - top - inner[1], canvas[1] - left - inner[0]
    # The edge's own colours go on: a frame of one colour would be an edge to be read.
    laid = cv2.copyMakeBorder(pixels, top, below, left, right, cv2.BORDER_REPLICATE)
    scales = inner[0] / width, inner[1] / height
    return Fitted(np.asarray(laid), (height, width), scales, (left, top))


SIZE = (320, 448)
"""Height and width: those of synthetic blocks."""
_MOST = 4.0
"""Small blocks are enlarged no further."""
_RIM = 4
"""Least distance of a block from the canvas's edge, in pixels."""


def fit_scale(height: int, width: int) -> float:
    """Return how much a block of that size is to be scaled to fill the canvas.

    >>> round(fit_scale(156, 10), 3), round(fit_scale(312, 880), 3), fit_scale(8, 8)
    (2.0, 0.5, 4.0)
    """
    room = (SIZE[0] - 2 * _RIM) / height, (SIZE[1] - 2 * _RIM) / width
    return min(_MOST, *room)


def lay(image: Array, quads: Array, scale: float, warp: Array, place: Array) -> tuple[Array, Array]:
    """A block (H, W, 3) and its quads (L, 4, 2), scaled, changed by a homography (3, 3) about
    its middle, and put where there is room for it; what grew too large is made to fit.

    `place` says where, between -1 and 1 in x and y. The edge's own colours go on around it: a
    frame of one colour would be an edge to be learnt.
    """
    height, width = image.shape[:2]
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    smaller = inner[0] < width
    pixels = cv2.resize(image, inner, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_CUBIC)
    size, canvas = np.array(inner, float), np.array(SIZE[::-1], float)
    centred = warp @ _shift(-size / 2)
    reach = through(centred, size * [[0, 0], [1, 0], [1, 1], [0, 1]])  # (4, 2)
    low, high = reach.min(0), reach.max(0)
    fits = min(1.0, float(((canvas - 2 * _RIM) / (high - low)).min()))
    room = (canvas - fits * (high - low)) / 2 - _RIM
    middle = canvas / 2 + np.asarray(place) * room
    matrix = _shift(middle) @ np.diag([fits, fits, 1]) @ _shift(-(low + high) / 2) @ centred
    # Pixel centres lie at + 0.5 for us and at whole numbers for OpenCV.
    whole = _shift(np.array([-0.5, -0.5])) @ matrix @ _shift(np.array([0.5, 0.5]))
    laid = cv2.warpPerspective(
        pixels, whole, SIZE[::-1], flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    moved = through(matrix, quads * (size / [width, height]))
    return np.asarray(laid), moved.astype(np.float32)


def through(matrix: Array, points: Array) -> Array:
    """Points (…, 2) through a homography."""
    along = points @ matrix[:, :2].T + matrix[:, 2]  # (…, 3)
    moved: Array = along[..., :2] / along[..., 2:]
    return moved


def _shift(by: Array) -> Array:
    return np.array([[1, 0, by[0]], [0, 1, by[1]], [0, 0, 1]])
