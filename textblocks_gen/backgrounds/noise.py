"""Noise: smooth random fields in whole numbers.

Everything here is integer arithmetic on draws of whole numbers, so a field is the same, bit
for bit, on any machine, whatever vector instructions it has.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator
Grey = NDArray[np.uint8]
"""(H, W)"""
Field = NDArray[np.int16]
"""(H, W), around 0; 16 bits hold every sum below, and take half the time of 32."""


def smooth(rng: Rng, height: int, width: int, cell: int, stretch: int = 1) -> Grey:
    """Return noise with lumps about `2 ** cell` pixels high and `stretch` doublings wider."""
    rows, columns = (height >> cell) + 3, (width >> (cell + stretch - 1)) + 3
    field = rng.integers(0, 256, (rows, columns), np.uint8)
    for step in range(cell + stretch - 1):
        # pyrUp is a 5-tap binomial filter in integers: no lattice shows, unlike bilinear.
        up = cv2.pyrUp(field)
        field = up if step < cell else np.ascontiguousarray(up[::2])
    top, left = (field.shape[0] - height) // 2, (field.shape[1] - width) // 2
    return np.ascontiguousarray(field[top : top + height, left : left + width])


def layered(rng: Rng, height: int, width: int, coarsest: int, octaves: int) -> Field:
    """Return layers of noise, each half as coarse and half as strong; about -128 … 127."""
    total = np.zeros((height, width), np.int16)
    for octave in range(octaves):
        layer = centred(smooth(rng, height, width, max(coarsest - octave, 0)))
        total += layer << 6 >> octave
    return total >> 6


def grain(rng: Rng, height: int, width: int, strength: int) -> Field:
    """Return independent noise within ± strength in each pixel, humped like a camera's."""
    pairs = rng.integers(0, 256, (2, height, width), np.uint8).astype(np.int16)
    hump: Field = (pairs[0] + pairs[1] - 255) * strength >> 8
    return hump


def ramp(rng: Rng, height: int, width: int) -> Field:
    """Return a slope of light in a random direction, within -128 … 127."""
    across, down = (int(part) for part in rng.integers(-64, 65, 2))
    rows = (np.arange(height) * 256 // height - 128).astype(np.int16)[:, None]
    columns = (np.arange(width) * 256 // width - 128).astype(np.int16)[None, :]
    return columns * across + rows * down >> 7


def centred(grey: Grey) -> Field:
    """Return noise of 0 … 255 as -128 … 127."""
    return grey.astype(np.int16) - 128
