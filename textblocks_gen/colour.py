"""Colour: text that can be read on the ground behind it."""

from collections.abc import Sequence

import cv2
import numpy as np

from ivl_shards.schema import Array

Colour = tuple[int, int, int]
# Every so many rows and columns of the ground are looked at: its grain counts, too. The numbers
# are such that stripes and tiles do not fall into step with them.
_STRIDE = (5, 7)


def brightness(colour: Sequence[int]) -> float:
    """Brightness of a colour, 0 to 255, as television has it (ITU-R BT.601)."""
    return (299 * colour[0] + 587 * colour[1] + 114 * colour[2]) / 1000


def ground_range(ground: Array) -> tuple[float, float]:
    """Brightness between which all but a twenty-fifth of a ground, (H, W, 3), lies."""
    some = ground[:: _STRIDE[0], :: _STRIDE[1]].astype(np.uint32)
    # `brightness` in whole numbers, which are the same everywhere and need no matrix product.
    values = ((77 * some[..., 0] + 150 * some[..., 1] + 29 * some[..., 2]) >> 8).reshape(-1)
    cut = len(values) // 50
    values.partition((cut, len(values) - 1 - cut))
    return float(values[cut]), float(values[-1 - cut])


def calmed(ground: Array, low: float, high: float, widest: float) -> tuple[Array, float, float]:
    """The ground with its range of brightness squeezed to what leaves room for text.

    Busy photographs reach from black to white; no colour can be read on all of that.
    """
    if high - low <= widest:
        return ground, low, high
    middle, factor = (low + high) / 2, widest / (high - low)
    table = np.clip(np.rint(middle + (np.arange(256) - middle) * factor), 0, 255)
    squeezed = cv2.LUT(ground, table.astype(np.uint8))
    return squeezed, middle - widest / 2, middle + widest / 2


def text_colour(draws: Sequence[float], low: float, high: float, contrast: int) -> Colour:
    """A colour of which the brightness keeps its distance from the ground's, low to high.

    draws: five numbers from 0 to 1. Either side is taken where both have room, and any
    brightness on it; the hue is free.
    """
    dark, light = low - contrast, 255 - (high + contrast)  # room below and above
    below = draws[0] * (max(dark, 0.0) + max(light, 0.0)) < max(dark, 0.0)
    if dark <= 0 and light <= 0:
        below = dark > light
    wanted = draws[1] * max(dark, 0.0) if below else 255 - draws[1] * max(light, 0.0)
    return _with_brightness([draws[2] * 255, draws[3] * 255, draws[4] * 255], wanted)


def _with_brightness(colour: list[float], wanted: float) -> Colour:
    """The hue of a colour at a given brightness: mixed with black or white."""
    found = (299 * colour[0] + 587 * colour[1] + 114 * colour[2]) / 1000
    if wanted <= found:
        mixed = [c * wanted / max(found, 1.0) for c in colour]
    else:
        mixed = [255 - (255 - c) * (255 - wanted) / max(255 - found, 1.0) for c in colour]
    r, g, b = (min(255, max(0, round(c))) for c in mixed)
    return r, g, b
