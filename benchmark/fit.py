"""Fit: a picture laid on the canvas that a reader knows, and the way back."""

from dataclasses import dataclass

import cv2
import numpy as np

from ivl_shards.schema import Array


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
