"""Ink: what text is painted with, its shadow, depth and outline."""

from typing import NamedTuple

import cv2
import numpy as np

from ivl_shards.format.schema import Array
from textblocks_gen.effects.colour import Colour
from textblocks_gen.effects.look import Extrusion, Shadow
from textblocks_gen.effects.pixels import paint

# An effect reaches at most so far, over the height of the shortest line: text stays readable.
_FARTHEST = 0.14


class Mask(NamedTuple):
    """Coverage by ink, 0 to 255, and where in the image it begins."""

    ink: Array
    top: int
    left: int

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom in the image."""
        tall, wide = self.ink.shape
        return self.left, self.top, self.left + wide, self.top + tall


def paint_mask(image: Array, mask: Mask, colour: Colour) -> None:
    """Paint a colour, RGB, by a mask on an image, (H, W, 3) BGR."""
    paint(image, mask.ink, mask.top, mask.left, np.array(colour[::-1], np.uint8))


def soften(mask: Array) -> Array:
    """Blur the ink a little."""
    return np.asarray(cv2.GaussianBlur(mask, (3, 3), 0))


def reach(pixels: int, lowest: float) -> int:
    """Limit the reach of an effect to what a line of a given height bears."""
    return max(1, min(pixels, int(lowest * _FARTHEST)))


def moved(mask: Array, right: int, down: int) -> Array:
    """Move a mask."""
    out = np.zeros_like(mask)
    height, width = mask.shape
    out[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = mask[
        max(-down, 0) : height - max(down, 0), max(-right, 0) : width - max(right, 0)
    ]
    return out


def cast_shadow(mask: Array, shadow: Shadow, lowest: float) -> Array:
    """Return the shadow of a mask: moved, softened and weakened."""
    out = moved(mask, reach(shadow.right, lowest), reach(shadow.down, lowest))
    if shadow.soft:
        size = 3 if max(shadow.right, shadow.down) <= 3 or lowest < 32 else 7
        out = np.asarray(cv2.blur(out, (size, size)))
    return np.asarray(cv2.convertScaleAbs(out, alpha=shadow.strength))


def extrude(mask: Array, extrusion: Extrusion, lowest: float) -> Array:
    """Return letters together with their depth."""
    out = mask.copy()
    for step in range(1, reach(extrusion.depth, lowest) + 1):
        cv2.max(out, moved(mask, extrusion.right * step, extrusion.down * step), dst=out)
    return out


def widen(mask: Array, width: int) -> Array:
    """Return letters together with a border of some pixels."""
    size = 2 * width + 1
    shape = cv2.MORPH_RECT if width == 1 else cv2.MORPH_ELLIPSE
    return np.asarray(cv2.dilate(mask, cv2.getStructuringElement(shape, (size, size))))
