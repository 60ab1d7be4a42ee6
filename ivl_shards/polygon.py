"""Polygon: its area, and the part of it that is inside an image."""

import numpy as np

from ivl_shards.schema import Array


def area(polygon: Array) -> float:
    """Area of a polygon that does not cross itself, (K, 2) corners in either direction.

    >>> area(np.array([[0, 0], [4, 0], [4, 3]]))
    6.0
    """
    if len(polygon) < 3:
        return 0.0
    x, y = (polygon - polygon[0]).T  # small numbers: nothing is lost in the differences
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def clip(polygon: Array, width: float, height: float) -> Array:
    """The part inside [0, width] × [0, height], (K, 2); nothing, (0, 2), if it is all outside.

    >>> clip(np.array([[-2.0, 1], [2, 1], [2, 3], [-2, 3]]), 10, 10).tolist()
    [[0.0, 1.0], [2.0, 1.0], [2.0, 3.0], [0.0, 3.0]]
    """
    size = np.array([width, height])
    if ((polygon >= 0) & (polygon <= size)).all():
        return polygon
    for axis in (0, 1):
        polygon = _cut(polygon, axis, polygon[:, axis], 0.0)
        polygon = _cut(polygon, axis, size[axis] - polygon[:, axis], size[axis])
    return polygon


def _cut(polygon: Array, axis: int, inside: Array, edge: float) -> Array:
    """The part where `inside`, a distance for each corner, is not negative (Sutherland–Hodgman)."""
    kept: list[Array] = []
    for k in range(len(polygon)):
        before, here = inside[k - 1], inside[k]
        if (before < 0) != (here < 0):
            crossing = polygon[k - 1] + (polygon[k] - polygon[k - 1]) * before / (before - here)
            crossing[axis] = edge  # exactly, whatever the rounding
            kept.append(crossing)
        if here >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 2)
