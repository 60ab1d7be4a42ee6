"""Raster: outlines into pixels, compiled.

Outlines go through the block's homography as points and are filled once, so text is sharp
under any transform and nothing is resampled. Coverage is exact area (the signed-area method:
each edge adds what it covers, a running sum along the row gives the fill), clipped at 1 so
that contours that overlap do not cancel.

Only +, -, ·, / in a fixed order: the same on every machine.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ivl_shards.format.schema import Array

# A full pixel in `take_mask`.
_BITS = 20
_ONE = 1 << _BITS
# Stands for the width of an upright piece, which must not be divided by.
_LEAST = 1e-30


class Outlines(NamedTuple):
    """Outlines of glyphs as polygons."""

    points: Array
    """(P, 2): in em, y up."""
    contours: Array
    """(C + 1,): where each contour begins."""
    glyphs: Array
    """(G + 1,): the first contour of each glyph."""


class Place(NamedTuple):
    """The transform from a page to the image."""

    homography: Array
    bend: Array
    """(5,): 1 over the width of the page, or 0 where lines are straight, and the coefficients of
    the polynomial by which points of the page are moved down, from left (0) to right (1)."""


STRAIGHT: Array = np.zeros(5)


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def rise(bend: Array, x: float) -> float:
    """Return by how much a bend moves a point of the page down."""
    t = x * bend[0]
    moved: float = bend[1] + t * (bend[2] + t * (bend[3] + t * bend[4]))
    return moved


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def fill_glyphs(
    outlines: Outlines, chosen: Array, origins: Array, scales: Array, place: Place, area: Array
) -> tuple[int, int, int, int]:
    """Add the outlines of glyphs to a buffer of signed areas; return the box that was touched.

    outlines: those of all faces. chosen (n,): glyphs to draw; origins (n, 2), scales (n, 2): their
    places on the page, and pixels an em across and down. area: from `empty_area`.
    """
    height, width = area.shape[0] - 1, area.shape[1] - 3
    left, top, right, bottom = float(width), float(height), 0.0, 0.0
    points, contours, glyphs = outlines
    h, bend = place
    bent, perspective = bend[0] != 0.0, abs(h[2, 0]) + abs(h[2, 1]) > 1e-12
    for k in range(len(chosen)):
        # The place on the page goes into the homography: one step a point.
        (ox, oy), (wide, tall) = origins[k], scales[k]
        ax, bx, cx = h[0, 0] * wide, h[0, 1] * tall, h[0, 0] * ox + h[0, 1] * oy + h[0, 2]
        ay, by, cy = h[1, 0] * wide, h[1, 1] * tall, h[1, 0] * ox + h[1, 1] * oy + h[1, 2]
        aw, bw, cw = h[2, 0] * wide, h[2, 1] * tall, h[2, 0] * ox + h[2, 1] * oy + h[2, 2]
        w = 1.0 / cw
        for c in range(glyphs[chosen[k]], glyphs[chosen[k] + 1]):
            start, stop = contours[c], contours[c + 1]
            px, py = 0.0, 0.0
            for i in range(start - 1, stop):
                # Begins with the last point, which closes the contour.
                p = stop - 1 if i < start else i
                u, v = points[p, 0], -points[p, 1]
                if bent:
                    v += rise(bend, ox + wide * u) / tall
                if perspective:
                    w = 1.0 / (aw * u + bw * v + cw)
                x = min(max((ax * u + bx * v + cx) * w, 0.0), float(width))
                y = min(max((ay * u + by * v + cy) * w, 0.0), float(height))
                if i >= start and py != y:
                    if py < y:
                        _add_edge(area, px, py, x, y, 1.0)
                    else:
                        _add_edge(area, x, y, px, py, -1.0)
                left, right = min(left, x), max(right, x)
                top, bottom = min(top, y), max(bottom, y)
                px, py = x, y
    return int(left), int(top), min(int(right) + 1, width), min(int(bottom) + 1, height)


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _add_edge(area: Array, ax: float, ay: float, bx: float, by: float, sign: float) -> None:
    """Add the signed area between an edge, which goes down, and the right border, row by row."""
    row = np.uint64(ay)  # unsigned: an index that cannot count from the end is cheaper
    if by <= row + 1.0:  # most edges are short
        _add_piece(area, row, ax, bx, (by - ay) * sign)
        return
    slope = (bx - ax) / (by - ay)
    x, y = ax, ay
    while y < by:
        below = min(row + 1.0, by)
        # Rounding must not carry a piece beyond the ends of its edge.
        following = min(max(x + slope * (below - y), min(ax, bx)), max(ax, bx))
        _add_piece(area, row, x, following, (below - y) * sign)
        x, y = following, below
        row += np.uint64(1)


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _add_piece(area: Array, row: int, a: float, b: float, d: float) -> None:
    """Add the piece of an edge that lies in one row, from a to b, d high."""
    x0, x1 = min(a, b), max(a, b)
    first = np.uint64(x0)
    f0, f1 = x0 - first, x1 - first
    if f1 <= 2.0:
        # Nearly all pieces. Whether they reach the second pixel is a toss-up that no processor
        # can foresee, so both pixels are always computed.
        inner = min(f1, 1.0)
        beyond = f1 - inner
        second = d * beyond / max(f1 - f0, _LEAST)  # of d, in the second pixel
        part = (d - second) * 0.5 * (f0 + inner)
        over = second * 0.5 * beyond
        area[row, first] += d - second - part
        area[row, first + np.uint64(1)] += part + second - over
        area[row, first + np.uint64(2)] += over
        return
    start, last = int(first), int(np.ceil(x1))
    s = 1.0 / (x1 - x0)
    rest = x1 - last + 1.0
    a0, am = 0.5 * s * (1.0 - f0) * (1.0 - f0), 0.5 * s * rest * rest
    a1 = s * (1.5 - f0)
    area[row, start] += d * a0
    area[row, start + 1] += d * (a1 - a0)
    for column in range(start + 2, last - 1):
        area[row, column] += d * s
    a2 = a1 + (last - start - 3) * s
    area[row, last - 1] += d * (1.0 - a2 - am)
    area[row, last] += d * am


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def take_mask(area: Array, left: int, top: int, right: int, bottom: int) -> Array:
    """Turn the signed areas of a box into coverage, 0 to 255; leave the buffer empty."""
    mask = np.empty((bottom - top, right - left), np.uint8)
    # In whole numbers, and in three loops, of which the first and the last are vectorised.
    sums = np.empty(right - left, np.int32)
    for row in range(top, bottom):
        cells, covered = area[row, left:right], mask[row - top]
        for k in range(len(sums)):
            sums[k] = np.int32(cells[k] * np.float32(_ONE))
        total = np.int32(0)
        for k in range(len(sums)):
            total += sums[k]
            sums[k] = total
        for k in range(len(sums)):
            part = min(abs(sums[k]), np.int32(_ONE))
            covered[k] = (part * np.int32(255) + np.int32(_ONE // 2)) >> np.int32(_BITS)
        area[row, left : right + 3] = 0.0
    return mask


@njit(cache=True)  # type: ignore[untyped-decorator]
def ink_strength(mask: Array, steps: Array, top: int, left: int, lines: int) -> Array:
    """Return how much of its colour the ink of each line has, (L,), from 0 to 1.

    It is the mean coverage of the quarter of a line's ink that is covered most: the body of its
    strokes. Thin strokes cover no pixel fully. mask: of the part of the image that begins at top
    and left; every third row of it is looked at.
    """
    counts = np.zeros((lines + 1, 256), np.int32)
    for row in range(0, mask.shape[0], 3):
        covered, step = mask[row], steps[top + row, left : left + mask.shape[1]]
        for column in range(len(covered)):
            if covered[column]:
                counts[step[column], covered[column]] += 1
    strengths = np.ones(lines)
    for k in range(lines):
        ink = counts[k + 1].sum()
        wanted, total, value = max(ink // 4, 1), 0, 255
        left_over = wanted
        while left_over > 0 and value > 0:
            taken = min(left_over, counts[k + 1, value])
            total += taken * value
            left_over -= taken
            value -= 1
        if ink:
            strengths[k] = max(total / (255.0 * wanted), 0.01)
    return strengths


@njit(cache=True)  # type: ignore[untyped-decorator]
def strengthen(mask: Array, steps: Array, top: int, left: int, gains: Array) -> None:
    """Multiply the coverage of each line by its gain, (L,), up to full coverage."""
    table = np.empty((len(gains) + 1, 256), np.uint8)
    for value in range(256):
        table[0, value] = value
        for k in range(len(gains)):
            table[k + 1, value] = min(255, int(value * gains[k]))
    for row in range(mask.shape[0]):
        covered, step = mask[row], steps[top + row, left : left + mask.shape[1]]
        for column in range(len(covered)):
            if covered[column]:
                covered[column] = table[step[column], covered[column]]


def empty_area(height: int, width: int) -> Any:
    """Return a buffer for `fill_glyphs`, with a row and three columns beyond the image's edge."""
    return np.zeros((height + 1, width + 3), np.float32)
