"""Geometry: the homography that a block goes through, compiled.

Closed forms with plain arithmetic, because results must be equal on every machine: no
trigonometric functions, no linear solvers.
"""

import numpy as np
from numba import njit

from ivl_shards.format.schema import Array


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def page_to_quad(quad: Array, width: float, height: float) -> Array:
    """The homography from a page, (0, 0) to (width, height), to a convex quad, (4, 2).

    >>> (page_to_quad(np.array([[0, 0], [2, 0], [2, 2], [0, 2.0]]), 1.0, 1.0) + 0.0).tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = quad[0], quad[1], quad[2], quad[3]
    sx, sy = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    dx1, dx2, dy1, dy2 = x1 - x2, x3 - x2, y1 - y2, y3 - y2
    determinant = dx1 * dy2 - dx2 * dy1
    g = (sx * dy2 - dx2 * sy) / determinant
    h = (dx1 * sy - sx * dy1) / determinant
    return np.array(
        [
            [(x1 - x0 + g * x1) / width, (x3 - x0 + h * x3) / height, x0],
            [(y1 - y0 + g * y1) / width, (y3 - y0 + h * y3) / height, y0],
            [g / width, h / height, 1.0],
        ]
    )


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def turn_points(points: Array, degrees: float, shear: float) -> None:
    """Shear points, (n, 2), about the origin and then turn them clockwise.

    The turn is by half its angle twice over, with tan(a) taken as a: exact arithmetic, and for
    the few degrees in question the angle is right to a hundredth of a degree.
    """
    t = degrees * (3.141592653589793 / 360)
    cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    for k in range(len(points)):
        y = points[k, 1]
        x = points[k, 0] + shear * y
        points[k, 0], points[k, 1] = cos * x - sin * y, sin * x + cos * y
