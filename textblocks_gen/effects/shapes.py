"""Shapes: outlines of plates, frames and things beside the text, in pixels, y down.

A shape is a list of contours; a contour within another one cuts a hole.
"""

from collections.abc import Callable, Sequence

import cv2
import numpy as np

from ivl_shards.format.schema import Array
from textblocks_gen.effects.ink import Mask

Contour = Sequence[tuple[float, float]]
Shape = list[Contour]

# Bits of a fraction of a pixel in OpenCV's polygons.
_SHIFT = 4
_FAR = 9999.0

# Points of a quarter of a circle, (cos, sin); constants, because functions differ by machine.
_QUARTER = (
    (1.0, 0.0),
    (0.9659258, 0.2588190),
    (0.8660254, 0.5),
    (0.7071068, 0.7071068),
    (0.5, 0.8660254),
    (0.2588190, 0.9659258),
    (0.0, 1.0),
)


def rectangle(x0: float, y0: float, x1: float, y1: float, corner: float = 0.0) -> Contour:
    """Return a rectangle, its corners rounded by a radius."""
    if corner <= 0:
        return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    r = min(corner, (x1 - x0) / 2, (y1 - y0) / 2)
    right = [(x1 - r + r * c, y1 - r + r * s) for c, s in _QUARTER]
    left = [(x0 + r - r * s, y1 - r + r * c) for c, s in _QUARTER]
    above = [(x0 + r - r * c, y0 + r - r * s) for c, s in _QUARTER]
    last = [(x1 - r + r * s, y0 + r - r * c) for c, s in _QUARTER]
    return [*right, *left, *above, *last]


def frame(x0: float, y0: float, x1: float, y1: float, width: float, corner: float = 0.0) -> Shape:
    """Return the border of a rectangle."""
    inner = rectangle(x0 + width, y0 + width, x1 - width, y1 - width, max(0.0, corner - width))
    return [rectangle(x0, y0, x1, y1, corner), inner]


def circle(x: float, y: float, radius: float) -> Contour:
    """Return a circle."""
    return rectangle(x - radius, y - radius, x + radius, y + radius, radius)


def ring(x: float, y: float, size: float) -> Shape:
    """Return a ring."""
    return [circle(x, y, size), circle(x, y, 0.72 * size)]


def disc(x: float, y: float, size: float) -> Shape:
    """Return a disc."""
    return [circle(x, y, size)]


def bar(x: float, y: float, size: float) -> Shape:
    """Return a long bar."""
    return [rectangle(x - 2 * size, y - 0.12 * size, x + 2 * size, y + 0.12 * size)]


def post(x: float, y: float, size: float) -> Shape:
    """Return an upright bar."""
    return [rectangle(x - 0.12 * size, y - 2 * size, x + 0.12 * size, y + 2 * size)]


def arrow(x: float, y: float, size: float) -> Shape:
    """Return an arrow to the right."""
    return [
        [
            (x + px * size, y + py * size)
            for px, py in (
                (-1, -0.2),
                (0.15, -0.2),
                (0.15, -0.65),
                (1, 0),
                (0.15, 0.65),
                (0.15, 0.2),
                (-1, 0.2),
            )
        ]
    ]


def arrow_back(x: float, y: float, size: float) -> Shape:
    """Return an arrow to the left."""
    return [[(2 * x - px, py) for px, py in arrow(x, y, size)[0]]]


def triangle(x: float, y: float, size: float) -> Shape:
    """Return a warning sign's triangle."""
    outer = [(x, y - size), (x + size, y + 0.8 * size), (x - size, y + 0.8 * size)]
    return [outer, [(x + 0.62 * (px - x), y + 0.1 * size + 0.62 * (py - y)) for px, py in outer]]


def diamond(x: float, y: float, size: float) -> Shape:
    """Return a square on its corner."""
    return [[(x, y - size), (x + size, y), (x, y + size), (x - size, y)]]


def shield(x: float, y: float, size: float) -> Shape:
    """Return a coat of arms."""
    return [
        [
            (x + px * size, y + py * size)
            for px, py in (
                (-0.8, -1),
                (0.8, -1),
                (0.8, 0.1),
                (0.45, 0.7),
                (0, 1),
                (-0.45, 0.7),
                (-0.8, 0.1),
            )
        ]
    ]


def box(x: float, y: float, size: float) -> Shape:
    """Return a frame."""
    return frame(x - size, y - 0.8 * size, x + size, y + 0.8 * size, 0.14 * size)


def stripes(x: float, y: float, size: float) -> Shape:
    """Return the bars of a code."""
    widths = (0.1, 0.05, 0.16, 0.05, 0.1, 0.2, 0.05, 0.1, 0.05, 0.16)
    contours, left = [], x - size
    for k, width in enumerate(widths):
        if k % 2 == 0:
            contours.append(
                rectangle(left, y - 0.6 * size, left + 1.6 * width * size, y + 0.6 * size)
            )
        left += 2 * width * size
    return contours


def roundel(x: float, y: float, size: float) -> Shape:
    """Return a ring with a bar across."""
    half = [circle(x, y, size), circle(x, y, 0.72 * size)]
    return [*half, rectangle(x - 0.7 * size, y - 0.2 * size, x + 0.7 * size, y + 0.2 * size)]


FREE: tuple[Callable[[float, float, float], Shape], ...] = (
    ring,
    disc,
    bar,
    post,
    arrow,
    arrow_back,
    triangle,
    diamond,
    shield,
    box,
    stripes,
    roundel,
)


def draw_shape(shape: Shape, homography: Array, size: tuple[int, int]) -> Mask | None:
    """Return the mask of a shape on the page in an image of (height, width); None if outside."""
    # Plain numbers: there are few.
    (a, b, c), (d, e, f), (g, h, i) = homography.tolist()
    put = []
    for contour in shape:
        weights = [g * x + h * y + i for x, y in contour]
        if min(weights) <= 0:
            return None  # beyond the horizon
        put.append(
            [
                ((a * x + b * y + c) / w, (d * x + e * y + f) / w)
                for (x, y), w in zip(contour, weights, strict=True)
            ]
        )
    xs, ys = [x for x, _ in put[0]], [y for _, y in put[0]]
    for contour in put[1:]:
        xs += [x for x, _ in contour]
        ys += [y for _, y in contour]
    left, top = max(int(min(xs)) - 1, 0), max(int(min(ys)) - 1, 0)
    right, bottom = min(int(max(xs)) + 2, size[1]), min(int(max(ys)) + 2, size[0])
    if left >= right or top >= bottom:
        return None
    ink = np.zeros((bottom - top, right - left), np.uint8)
    fixed = [np.array([_fixed(x - left, y - top) for x, y in contour], np.int32) for contour in put]
    cv2.fillPoly(ink, fixed, 255, cv2.LINE_AA, _SHIFT)
    return Mask(ink, top, left)


def _fixed(x: float, y: float) -> tuple[int, int]:
    """Return a point for OpenCV, whose pixel centres are at whole numbers; not too far away."""
    x, y = max(-_FAR, min(x - 0.5, _FAR)), max(-_FAR, min(y - 0.5, _FAR))
    return round(x * (1 << _SHIFT)), round(y * (1 << _SHIFT))
