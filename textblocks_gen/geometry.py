"""Geometry: the homography that a block goes through.

Closed forms with plain arithmetic, because results must be equal on every machine: no
trigonometric functions, no linear solvers.
"""

from collections.abc import Sequence

import numpy as np

from ivl_shards.schema import Array

Point = tuple[float, float]


def square_to_quad(quad: Sequence[Point]) -> Array:
    """The homography from the unit square, (0, 0), (1, 0), (1, 1), (0, 1), to a convex quad.

    >>> (square_to_quad([(0, 0), (2, 0), (2, 2), (0, 2)]) + 0.0).tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = quad
    sx, sy = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    dx1, dx2, dy1, dy2 = x1 - x2, x3 - x2, y1 - y2, y3 - y2
    determinant = dx1 * dy2 - dx2 * dy1
    g = (sx * dy2 - dx2 * sy) / determinant
    h = (dx1 * sy - sx * dy1) / determinant
    return np.array(
        [
            [x1 - x0 + g * x1, x3 - x0 + h * x3, x0],
            [y1 - y0 + g * y1, y3 - y0 + h * y3, y0],
            [g, h, 1.0],
        ]
    )


def from_page(homography: Array, width: float, height: float) -> Array:
    """The homography of the page, width × height, instead of the unit square's."""
    return np.asarray(homography * np.array([1 / width, 1 / height, 1.0]))


def turned(points: list[Point], degrees: float, shear: float) -> list[Point]:
    """Points turned clockwise and then sheared about the origin.

    The turn is by half its angle twice over, with tan(a) taken as a: exact arithmetic, and for
    the few degrees in question the angle is right to a hundredth of a degree.
    """
    t = degrees * (3.141592653589793 / 360)
    cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    out = []
    for x, y in points:
        x += shear * y
        out.append((cos * x - sin * y, sin * x + cos * y))
    return out
