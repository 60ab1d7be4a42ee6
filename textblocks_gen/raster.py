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


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def fill_glyphs(
    points: Array, contours: Array, glyphs: Array,
    chosen: Array, origins: Array, scales: Array, homography: Array, area: Array,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Add the outlines of glyphs to a buffer of signed areas; the box that was touched.

    points (P, 2): in em, y up. contours (C + 1,): where each begins. glyphs (G + 1,): the
    first contour of each. chosen (n,): glyphs to draw; origins (n, 2), scales (n,): where on
    the page, and pixels an em. area (H, W + 2): float32, zeros.
    """
    height, width = area.shape[0], area.shape[1] - 2
    left, top, right, bottom = width, height, 0, 0
    h00, h01, h02 = homography[0]
    h10, h11, h12 = homography[1]
    h20, h21, h22 = homography[2]
    for k in range(len(chosen)):
        ox, oy, scale = origins[k, 0], origins[k, 1], scales[k]
        for c in range(glyphs[chosen[k]], glyphs[chosen[k] + 1]):
            start, stop = contours[c], contours[c + 1]
            px, py = 0.0, 0.0
            for i in range(start - 1, stop):
                # Begins with the last point, which closes the contour.
                p = stop - 1 if i < start else i
                u, v = ox + scale * points[p, 0], oy - scale * points[p, 1]
                w = 1.0 / (h20 * u + h21 * v + h22)
                x = (h00 * u + h01 * v + h02) * w
                y = (h10 * u + h11 * v + h12) * w
                x, y = min(max(x, 0.0), float(width)), min(max(y, 0.0), float(height))
                if i >= start:
                    _add_edge(area, px, py, x, y)
                left, right = min(left, int(x)), max(right, int(x) + 1)
                top, bottom = min(top, int(y)), max(bottom, int(y) + 1)
                px, py = x, y
    return left, top, min(right, width), min(bottom, height)


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _add_edge(area: Array, ax: float, ay: float, bx: float, by: float) -> None:
    """Add the signed area between an edge and the right border, row by row."""
    if ay == by:
        return
    sign = 1.0
    if ay > by:
        ax, ay, bx, by, sign = bx, by, ax, ay, -1.0
    slope = (bx - ax) / (by - ay)
    x = ax
    for row in range(int(ay), min(int(np.ceil(by)), area.shape[0])):
        dy = min(row + 1.0, by) - max(float(row), ay)
        following = x + slope * dy
        d = dy * sign
        x0, x1 = (x, following) if x < following else (following, x)
        first, last = int(x0), int(np.ceil(x1))
        if last <= first + 1:
            part = 0.5 * (x0 + x1) - first
            area[row, first] += d - d * part
            area[row, first + 1] += d * part
        else:
            s = 1.0 / (x1 - x0)
            f0 = x0 - first
            f1 = x1 - last + 1.0
            a0 = 0.5 * s * (1.0 - f0) * (1.0 - f0)
            am = 0.5 * s * f1 * f1
            area[row, first] += d * a0
            if last == first + 2:
                area[row, first + 1] += d * (1.0 - a0 - am)
            else:
                a1 = s * (1.5 - f0)
                area[row, first + 1] += d * (a1 - a0)
                for column in range(first + 2, last - 1):
                    area[row, column] += d * s
                a2 = a1 + (last - first - 3) * s
                area[row, last - 1] += d * (1.0 - a2 - am)
            area[row, last] += d * am
        x = following


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def take_mask(area: Array, mask: Array, left: int, top: int, right: int, bottom: int) -> None:
    """Turn signed areas into coverage, 0 to 255, and leave the buffer empty for the next."""
    for row in range(top, bottom):
        total = 0.0
        for column in range(left, min(right + 2, area.shape[1])):
            total += area[row, column]
            area[row, column] = 0.0
            if column < right:
                mask[row, column] = int(min(abs(total), 1.0) * 255.0 + 0.5)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def paint(
    image: Array, mask: Array, colour: Array, left: int, top: int, right: int, bottom: int
) -> None:
    """Blend a colour into an image, (H, W, 3), by a mask, (H, W)."""
    for row in range(top, bottom):
        for column in range(left, right):
            m = np.int32(mask[row, column])
            if m:
                for channel in range(3):
                    ground = np.int32(image[row, column, channel])
                    # Rounded to the nearest, also downwards.
                    step = (np.int32(colour[channel]) - ground) * m
                    step += 127 if step >= 0 else -127
                    image[row, column, channel] = ground + np.int32(step / 255)


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
    """A buffer for `fill_glyphs`; two columns more than the image take what ends at its edge."""
    return np.zeros((height, width + 2), np.float32)
