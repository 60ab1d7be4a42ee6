"""Pixels: blending, light and blur, compiled.

All arithmetic is in integers, which are the same on every machine. Images are (H, W, 3) BGR; a
mask is that of the part of the image that begins at `top` and `left`.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ivl_shards.format.schema import Array

NORMAL, MULTIPLY, SCREEN, OVERLAY, SOFT_LIGHT = range(5)
BLENDINGS = ("normal", "multiply", "screen", "overlay", "soft light")


class Ink(NamedTuple):
    """Colour, texture and blend mode of what is painted."""

    colour: Array
    """(3,) BGR."""
    texture: Array
    """Added to the colour, 128 for no change; at least as large as the image."""
    roughness: int
    """Strength of the texture, up to 256."""
    opacity: int
    """256 for opaque."""
    blending: int


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def paint(image: Array, mask: Array, top: int, left: int, colour: Array) -> None:
    """Blend a colour, (3,), into an image by a mask."""
    # Whole rows, covered or not: that is vectorised, and twice as fast as to leave pixels out.
    wide = mask.shape[1]
    shares, over = np.empty(3 * wide, np.int32), np.empty(3 * wide, np.int32)
    for k in range(3 * wide):
        over[k] = np.int32(colour[k % 3])
    flat = image.reshape(image.shape[0], -1)
    for row in range(mask.shape[0]):
        covered = mask[row]
        for k in range(wide):
            share = np.int32(covered[k])
            shares[3 * k], shares[3 * k + 1], shares[3 * k + 2] = share, share, share
        values = flat[top + row, 3 * left : 3 * (left + wide)]
        for k in range(3 * wide):
            values[k] = _mixed(np.int32(values[k]), over[k], shares[k])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def cover_all(image: Array, colour: Array, share: int) -> None:
    """Blend a colour into the whole of an image, a share of 256."""
    height, width, _ = image.shape
    flat = image.reshape(height, -1)
    by = np.int32(256 - share)
    line = np.empty(3 * width, np.int32)
    for k in range(3 * width):
        line[k] = np.int32(colour[k % 3]) * np.int32(share) + np.int32(128)
    for row in range(height):
        values = flat[row]
        for k in range(3 * width):
            values[k] = (np.int32(values[k]) * by + line[k]) >> np.int32(8)


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def _mixed(under: Any, over: Any, share: Any) -> Any:
    """Mix two values, a share of 255 of the second."""
    mixed = np.int32(255) * under + (over - under) * share + np.int32(128)
    # Divided by 255, rounded.
    return (mixed + (mixed >> np.int32(8))) >> np.int32(8)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def paint_ink(image: Array, mask: Array, top: int, left: int, ink: Ink) -> None:
    """Blend textured, translucent or blended ink into an image by a mask."""
    colour = ink.colour.astype(np.int32)
    roughness, opacity = np.int32(ink.roughness), np.int32(ink.opacity)
    for row in range(mask.shape[0]):
        covered, rough = mask[row], ink.texture[row]
        pixels = image[top + row, left : left + len(covered)]
        for column in range(len(covered)):
            m = (np.int32(covered[column]) * opacity) >> np.int32(8)
            if m:
                added = ((np.int32(rough[column]) - np.int32(128)) * roughness) >> np.int32(8)
                for channel in range(3):
                    under = np.int32(pixels[column, channel])
                    over = min(max(colour[channel] + added, np.int32(0)), np.int32(255))
                    if ink.blending:
                        over = np.int32(blended(under, over, ink.blending))
                    pixels[column, channel] = _mixed(under, over, m)


@njit(cache=True)  # type: ignore[untyped-decorator]
def blended(under: int, over: int, blending: int) -> int:
    """Return the value that a blend mode gives, as in W3C's Compositing; soft light as Pegtop's."""
    if blending == MULTIPLY:
        return under * over // 255
    if blending == SCREEN:
        return 255 - (255 - under) * (255 - over) // 255
    if blending == OVERLAY:
        if under < 128:
            return 2 * under * over // 255
        return 255 - 2 * (255 - under) * (255 - over) // 255
    if blending == SOFT_LIGHT:
        product = under * over // 255
        screened = 255 - (255 - under) * (255 - over) // 255
        return ((255 - under) * product + under * screened) // 255
    return over


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def scale_light(image: Array, field: Array, strength: int) -> None:
    """Multiply an image by a field of light, (H, W, 3), 128 for no change, by a strength of 256."""
    values, light = image.reshape(-1), field.reshape(-1)
    by = np.int32(strength)
    for k in range(len(values)):
        gain = np.int32(32768) + (np.int32(light[k]) - np.int32(128)) * by
        values[k] = min((np.int32(values[k]) * gain) >> np.int32(15), np.int32(255))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def add_light(image: Array, field: Array, strength: int) -> None:
    """Add a field of light, (H, W, 3), to an image by a strength of 256."""
    values, light = image.reshape(-1), field.reshape(-1)
    by = np.int32(strength)
    for k in range(len(values)):
        value = np.int32(values[k]) + ((np.int32(light[k]) * by) >> np.int32(8))
        values[k] = min(value, np.int32(255))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def add_noise(image: Array, noise: Array, strength: int, top: int, left: int) -> None:
    """Add noise around 128, larger than the image, to it by a strength of 256."""
    height, width, _ = image.shape
    flat, grains = image.reshape(height, -1), noise.reshape(noise.shape[0], -1)
    by = np.int32(strength)
    for row in range(height):
        values, grain = flat[row], grains[top + row, 3 * left : 3 * (left + width)]
        for k in range(3 * width):
            value = np.int32(values[k])
            value += ((np.int32(grain[k]) - np.int32(128)) * by) >> np.int32(8)
            values[k] = min(max(value, np.int32(0)), np.int32(255))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def smear(image: Array, out: Array, across: int, down: int, taps: int) -> None:
    """Write to `out` the mean of an image at `taps` places along (across, down), at most 256."""
    height, width, _ = image.shape
    flat, target = image.reshape(height, -1), out.reshape(height, -1)
    wide = 3 * width
    sums = np.empty(wide, np.uint16)
    share = np.uint32(65536 // taps)
    for row in range(height):
        sums[:] = taps // 2
        for tap in range(taps):
            offset = 2 * tap - taps + 1  # from one end to the other, about the middle
            y = min(max(row + down * offset // (2 * taps - 2), 0), height - 1)
            dx = 3 * (across * offset // (2 * taps - 2))
            line = flat[y]
            # Beyond its ends a row goes on with its last pixels.
            first, last = max(0, -dx), min(wide, wide - dx)
            for k in range(first):
                sums[k] += line[k]
            inner, source = sums[first:last], line[first + dx : last + dx]
            for k in range(len(inner)):
                inner[k] += source[k]
            for k in range(last, wide):
                sums[k] += line[k]
        for k in range(wide):
            target[row, k] = (np.uint32(sums[k]) * share) >> np.uint32(16)
