"""Crop: which window of a scene a block is cut from, and how it lies in its image."""

import math
from dataclasses import dataclass

import cv2
import numpy as np

from icdar_blocks.words import Block, Box
from ivl_shards.format.schema import Array

Window = tuple[int, int, int, int]
"""(x0, y0, x1, y1), half-open, in whole pixels."""


@dataclass(frozen=True)
class Crop:
    """A window of a scene, scaled to `inner` and placed at `offset` in an image of `size`."""

    window: Window
    inner: tuple[int, int]
    offset: tuple[int, int]
    size: tuple[int, int]
    """All (height, width) but `offset`, which is (x, y)."""

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of the image for one of the scene, in x and y."""
        x0, y0, x1, y1 = self.window
        return self.inner[1] / (x1 - x0), self.inner[0] / (y1 - y0)

    def place(self, box: Box) -> Window:
        """Return a box of the scene in the image: rounded outwards, cut off, never empty."""
        horizontal = _span(box[0::2], self.window[0], self.scale[0], self.offset[0], self.inner[1])
        vertical = _span(box[1::2], self.window[1], self.scale[1], self.offset[1], self.inner[0])
        return horizontal[0], vertical[0], horizontal[1], vertical[1]

    def cut(self, scene: Array) -> Array:
        """Cut the image, (height, width, 3), out of a scene."""
        x0, y0, x1, y1 = self.window
        pixels = scene[y0:y1, x0:x1]
        if self.inner != pixels.shape[:2]:
            shrinks = self.inner[0] < pixels.shape[0]
            how = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC
            pixels = cv2.resize(pixels, self.inner[::-1], interpolation=how)
        (left, top), (height, width) = self.offset, self.size
        below, right = height - top - self.inner[0], width - left - self.inner[1]
        # The colours of the edge are repeated: a model could learn the edge of a plain frame.
        grown = cv2.copyMakeBorder(pixels, top, below, left, right, cv2.BORDER_REPLICATE)
        return np.asarray(grown)


def find_window(block: Block, margin: float, size: tuple[int, int]) -> Window:
    """Return the block with its margin, cut off at the edges of a scene of (height, width)."""
    x0, y0, x1, y1 = block.box
    heights = [line.box[3] - line.box[1] for line in block]
    rim = margin * sum(heights) / len(heights)
    left, top = max(0, math.floor(x0 - rim)), max(0, math.floor(y0 - rim))
    right, bottom = min(size[1], math.ceil(x1 + rim)), min(size[0], math.ceil(y1 + rim))
    return left, top, right, bottom


def plan_crop(window: Window, longest: int, canvas: tuple[int, int] | None) -> Crop:
    """Plan how a window becomes an image: as it is, shrunk to `longest`, or fit on the canvas."""
    x0, y0, x1, y1 = window
    height, width = y1 - y0, x1 - x0
    if canvas is None:
        inner = _scaled(height, width, min(1.0, longest / max(height, width)))
        return Crop(window, inner, (0, 0), inner)
    inner = _scaled(height, width, min(canvas[0] / height, canvas[1] / width))
    offset = (canvas[1] - inner[1]) // 2, (canvas[0] - inner[0]) // 2
    return Crop(window, inner, offset, canvas)


def _scaled(height: int, width: int, scale: float) -> tuple[int, int]:
    return max(1, round(height * scale)), max(1, round(width * scale))


def _span(
    ends: tuple[float, ...], start: int, scale: float, offset: int, length: int
) -> tuple[int, int]:
    # 1e-6: a product such as 29.000000000000004 is not to be rounded up to 30.
    first = math.floor((ends[0] - start) * scale + 1e-6)
    last = math.ceil((ends[1] - start) * scale - 1e-6)
    first = max(0, min(first, length - 1))
    return offset + first, offset + max(first + 1, min(last, length))
