"""Letterboxing: pictures of any size scaled and placed on a canvas, and the way back."""

from dataclasses import dataclass

import cv2
import numpy as np

from ivl_shards.format.schema import Array

SIZE = (320, 448)
"""Height and width of the canvas: those of synthetic blocks."""
_MAX_ENLARGEMENT = 4.0
# Smallest distance of a block from the canvas's edge: in pixels in training, and over the size of
# the canvas when pictures are read.
_MARGIN, _MARGIN_FRACTION = 4, 0.025


@dataclass(frozen=True)
class Letterboxed:
    """A picture, scaled and placed on a canvas."""

    pixels: Array  # (H, W, …) the canvas
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
        """Return points (…, 2) of the canvas in pixels of the picture, clipped to its edges."""
        there = (points - np.array(self.offset)) / self.scale
        inside: Array = np.clip(there, 0, self.size[::-1])
        return inside


def letterbox(picture: Array, canvas: tuple[int, int], scale: float = 1.0) -> Letterboxed:
    """Place a picture (h, w, …) in the middle of a canvas, at a scale over the largest that fits.

    >>> boxed = letterbox(np.zeros((100, 50), np.uint8), (320, 448))
    >>> boxed.scale, boxed.offset, boxed.back(np.array([144, 320])).tolist()
    ((3.2, 3.2), (144, 0), [0.0, 100.0])
    """
    height, width = picture.shape[:2]
    pixel = min(canvas[0] / height, canvas[1] / width) * scale
    inner = max(1, round(width * pixel)), max(1, round(height * pixel))
    how = cv2.INTER_AREA if pixel < 1 else cv2.INTER_CUBIC
    pixels = cv2.resize(picture, inner, interpolation=how)
    left, top = (canvas[1] - inner[0]) // 2, (canvas[0] - inner[1]) // 2
    below, right = canvas[0] - top - inner[1], canvas[1] - left - inner[0]
    # The border repeats the picture's edge: a frame of one colour would look like text.
    laid = cv2.copyMakeBorder(pixels, top, below, left, right, cv2.BORDER_REPLICATE)
    scales = inner[0] / width, inner[1] / height
    return Letterboxed(np.asarray(laid), (height, width), scales, (left, top))


def letterbox_at_scale(picture: Array, canvas: tuple[int, int], scale: float) -> Letterboxed:
    """Letterbox a picture to be read: as in training, with a margin and not enlarged too much."""
    largest = min(canvas[0] / picture.shape[0], canvas[1] / picture.shape[1])
    return letterbox(
        picture, canvas, min(scale * (1 - _MARGIN_FRACTION), _MAX_ENLARGEMENT / largest)
    )


def training_scale(height: int, width: int) -> float:
    """Return the scale at which a block of that size fills the canvas in training.

    >>> round(training_scale(156, 10), 3), round(training_scale(312, 880), 3), training_scale(8, 8)
    (2.0, 0.5, 4.0)
    """
    room = (SIZE[0] - 2 * _MARGIN) / height, (SIZE[1] - 2 * _MARGIN) / width
    return min(_MAX_ENLARGEMENT, *room)


def warp_onto_canvas(
    image: Array, quads: Array, scale: float, warp: Array, place: Array
) -> tuple[Array, Array]:
    """Letterbox an augmented block (H, W, 3) with its quads (L, 4, 2): scaled, changed by a
    homography (3, 3) about its middle, and placed where there is room; if it grew too large, it is
    scaled down.

    `place` is the position, between -1 and 1 in x and y.
    """
    height, width = image.shape[:2]
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    smaller = inner[0] < width
    pixels = cv2.resize(image, inner, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_CUBIC)
    size, canvas = np.array(inner, float), np.array(SIZE[::-1], float)
    centred = warp @ _shift(-size / 2)
    reach = apply_homography(centred, size * [[0, 0], [1, 0], [1, 1], [0, 1]])  # (4, 2)
    low, high = reach.min(0), reach.max(0)
    fits = min(1.0, float(((canvas - 2 * _MARGIN) / (high - low)).min()))
    room = (canvas - fits * (high - low)) / 2 - _MARGIN
    middle = canvas / 2 + np.asarray(place) * room
    matrix = _shift(middle) @ np.diag([fits, fits, 1]) @ _shift(-(low + high) / 2) @ centred
    # Pixel centres lie at + 0.5 for us and at whole numbers for OpenCV.
    whole = _shift(np.array([-0.5, -0.5])) @ matrix @ _shift(np.array([0.5, 0.5]))
    laid = cv2.warpPerspective(
        pixels, whole, SIZE[::-1], flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    moved = apply_homography(matrix, quads * (size / [width, height]))
    return np.asarray(laid), moved.astype(np.float32)


def apply_homography(matrix: Array, points: Array) -> Array:
    """Apply a homography to points (…, 2)."""
    along = points @ matrix[:, :2].T + matrix[:, 2]  # (…, 3)
    moved: Array = along[..., :2] / along[..., 2:]
    return moved


def _shift(by: Array) -> Array:
    return np.array([[1, 0, by[0]], [0, 1, by[1]], [0, 0, 1]])
