"""Raster: outlines and quads into pixels, compiled.

Outlines go through the block's homography as points and are filled once, so text is sharp
under any transform and nothing is resampled. Coverage is exact area (the signed-area method:
each edge adds what it covers, a running sum along the row gives the fill), clipped at 1 so
that contours that overlap do not cancel.

Only +, -, ·, / in a fixed order: the same on every machine.
"""

from typing import Any

import numpy as np
from numba import njit

from ivl_shards.schema import Array

# A full pixel in `take_mask`.
_BITS = 20
_ONE = 1 << _BITS
# Stands for the width of an upright piece, which must not be divided by.
_LEAST = 1e-30


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def fill_glyphs(
    points: Array, contours: Array, glyphs: Array,
    chosen: Array, origins: Array, scales: Array, homography: Array, area: Array,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Add the outlines of glyphs to a buffer of signed areas; the box that was touched.

    points (P, 2): in em, y up. contours (C + 1,): where each begins. glyphs (G + 1,): the
    first contour of each. chosen (n,): glyphs to draw; origins (n, 2), scales (n,): where on
    the page, and pixels an em. area: from `empty_area`.
    """
    height, width = area.shape[0] - 1, area.shape[1] - 3
    left, top, right, bottom = float(width), float(height), 0.0, 0.0
    h = homography
    for k in range(len(chosen)):
        # The place on the page goes into the homography: one step a point.
        (ox, oy), scale = origins[k], scales[k]
        ax, bx, cx = h[0, 0] * scale, h[0, 1] * scale, h[0, 0] * ox + h[0, 1] * oy + h[0, 2]
        ay, by, cy = h[1, 0] * scale, h[1, 1] * scale, h[1, 0] * ox + h[1, 1] * oy + h[1, 2]
        aw, bw, cw = h[2, 0] * scale, h[2, 1] * scale, h[2, 0] * ox + h[2, 1] * oy + h[2, 2]
        for c in range(glyphs[chosen[k]], glyphs[chosen[k] + 1]):
            start, stop = contours[c], contours[c + 1]
            px, py = 0.0, 0.0
            for i in range(start - 1, stop):
                # Begins with the last point, which closes the contour.
                p = stop - 1 if i < start else i
                u, v = points[p, 0], -points[p, 1]
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
        # can foresee, so both pixels are always reckoned.
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
def take_mask(area: Array, mask: Array, left: int, top: int, right: int, bottom: int) -> None:
    """Turn signed areas into coverage, 0 to 255, and leave the buffer empty for the next."""
    # In whole numbers, and in three loops, of which the first and the last are vectorised.
    sums = np.empty(right - left, np.int32)
    for row in range(top, bottom):
        cells, covered = area[row, left:right], mask[row, left:right]
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


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def paint(image: Array, mask: Array, colour: Array) -> None:
    """Blend a colour into an image, (H, W, 3), by a mask, (H, W)."""
    for row in range(mask.shape[0]):
        for column in range(mask.shape[1]):
            m = np.uint32(mask[row, column])
            if m:
                for channel in range(3):
                    ground = np.uint32(image[row, column, channel])
                    mixed = ground * (np.uint32(255) - m) + np.uint32(colour[channel]) * m
                    image[row, column, channel] = (mixed + np.uint32(127)) // np.uint32(255)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def fill_quads(quads: Array, steps: Array) -> None:
    """Write the step map of convex quads, (n, 4, 2): the first whose inside has the pixel's centre.

    A centre on the left or upper edge counts as inside, on the right or lower not.
    """
    height, width = steps.shape
    for k in range(len(quads) - 1, -1, -1):
        top, bottom = quads[k, :, 1].min(), quads[k, :, 1].max()
        for row in range(max(0, int(np.ceil(top - 0.5))), min(height, int(np.ceil(bottom - 0.5)))):
            y = row + 0.5
            left, right = np.inf, -np.inf
            for i in range(4):
                ax, ay = quads[k, i, 0], quads[k, i, 1]
                bx, by = quads[k, (i + 1) % 4, 0], quads[k, (i + 1) % 4, 1]
                if (ay <= y) != (by <= y):
                    x = ax + (y - ay) * (bx - ax) / (by - ay)
                    left, right = min(left, x), max(right, x)
            if left < right:
                first = max(0, int(np.ceil(left - 0.5)))
                steps[row, first : min(width, int(np.ceil(right - 0.5)))] = k + 1


def empty_area(height: int, width: int) -> Any:
    """A buffer for `fill_glyphs`; a row and three columns more take what is at the image's edge."""
    return np.zeros((height + 1, width + 3), np.float32)
