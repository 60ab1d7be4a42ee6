"""Contrast of objects with what surrounds them, in the source image."""

import cv2
import numpy as np

from dota_crops.picture import Picture
from ivl_shards.format.schema import Array

# Grey levels; chosen by eye on planes of training images. See docs/DOTA.md.
VISIBLE = 20.0
# An enlarged quad has about as much ground in it as object.
_GROWTH = 1.4
# Corners are rounded to fractions of a pixel, so that masks are the same on every machine.
_BITS = 4


def contrasts(picture: Picture, quads: Array, height: int, width: int) -> Array:
    """Return the RMS contrast of each object (n, 4, 2) of an image, (n,).

    It is the standard deviation of the grey levels in the object's quad, enlarged so that it shows
    some of the ground.
    """
    centres = quads.mean(1, keepdims=True)
    grown = centres + _GROWTH * (quads - centres)
    found = np.zeros(len(quads))
    # From top to bottom, because huge images are read that way.
    for k in np.argsort(grown[:, :, 1].min(1), kind="stable"):
        x0, y0 = np.clip(np.floor(grown[k].min(0)), 0, [width - 1, height - 1]).astype(int)
        x1, y1 = np.clip(np.ceil(grown[k].max(0)), [x0 + 1, y0 + 1], [width, height]).astype(int)
        pixels = picture.window(int(x0), int(y0), int(x1), int(y1))
        found[k] = _deviation(pixels, grown[k] - [x0, y0])
    return found


def _deviation(pixels: Array, quad: Array) -> float:
    """Return the standard deviation of the grey levels of pixels (h, w, 3) inside a quad."""
    mask = np.zeros(pixels.shape[:2], np.uint8)
    corners = np.round((quad - 0.5) * (1 << _BITS)).astype(np.int32)
    cv2.fillConvexPoly(mask, corners, 1, shift=_BITS)
    grey = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_BGR2GRAY)
    inside = grey[mask > 0] if mask.any() else grey.reshape(-1)
    return float(inside.astype(np.float64).std())
