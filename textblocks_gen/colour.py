"""Colour: text that can be read on the ground behind it."""

from collections.abc import Sequence

import numpy as np
from numba import njit

from ivl_shards.schema import Array

Colour = tuple[int, int, int]
# Every so many rows and columns of the ground are looked at: its grain counts, too. The numbers
# are such that stripes and tiles do not fall into step with them.
_STRIDE = (5, 7)


def brightness(colour: Sequence[int]) -> float:
    """Brightness of a colour, 0 to 255, as television has it (ITU-R BT.601)."""
    return (299 * colour[0] + 587 * colour[1] + 114 * colour[2]) / 1000


@njit(cache=True)  # type: ignore[untyped-decorator]
def ground_range(ground: Array) -> tuple[float, float]:
    """Brightness between which all but a twenty-fifth of a ground, (H, W, 3) BGR, lies."""
    counts, total = np.zeros(256, np.int64), 0
    for row in range(0, ground.shape[0], _STRIDE[0]):
        for column in range(0, ground.shape[1], _STRIDE[1]):
            blue, green, red = ground[row, column]
            # `brightness` in whole numbers, which are the same everywhere.
            counts[(77 * red + 150 * green + 29 * blue) >> 8] += 1
            total += 1
    low, below = 0, counts[0]
    while below <= total // 50:
        low += 1
        below += counts[low]
    high, above = 255, counts[255]
    while above <= total // 50:
        high -= 1
        above += counts[high]
    return float(low), float(high)


def calm(ground: Array, low: float, high: float, widest: float) -> tuple[float, float]:
    """Squeeze a ground's range of brightness to what leaves room for text; the range it has then.

    Busy photographs reach from black to white; no colour can be read on all of that.
    """
    if high - low <= widest:
        return low, high
    middle, factor = (low + high) / 2, widest / (high - low)
    _squeeze(ground, round(factor * 65536), round(middle * (1 - factor) * 65536))
    return middle - widest / 2, middle + widest / 2


@njit(cache=True)  # type: ignore[untyped-decorator]
def _squeeze(ground: Array, factor: int, offset: int) -> None:
    """Replace values by factor · value + offset, both in 65536ths. A table takes thrice as long."""
    by, plus = np.uint32(factor), np.uint32(offset + 32768)
    values = ground.reshape(-1)
    for k in range(len(values)):
        values[k] = (np.uint32(values[k]) * by + plus) >> np.uint32(16)


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
