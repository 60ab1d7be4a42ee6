"""Readability: find a quiet place in an image for text, and reduce the contrast behind it.

Of several crops of an image the one is taken whose brightness varies least behind the text. What
still varies too much is calmed there; the rest of the image stays as it is. All arithmetic is
in integers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numba import njit

from ivl_shards.format.schema import Array

# Pixels of a cell: brightness is summed in cells once, so that a place costs a few additions.
CELL = 8
# Places that are tried for a crop.
PLACES = 12
# In cells: how far the calmed region grows beyond the text, and over how many it fades out. One
# more for lines that end between the cells' middles, and one for the interpolation between cells,
# so that it is calmed in full wherever there is text.
_FADE = 1
_GROW = _FADE + 2
# Beyond so many cells, growing and fading reach nothing.
_REACH = _GROW + _FADE + 1
# Hundredths of the allowed range for brightness that stays as it is; the rest is for the others.
_BAND = 60

Box = tuple[int, int, int, int]
"""left, top, right, bottom in pixels"""


@dataclass(frozen=True)
class Sums:
    """Running sums over the cells of an image, with a row and a column of zeros before them."""

    values: Array
    """(rows + 1, columns + 1) int64: brightness."""
    squares: Array
    """(rows + 1, columns + 1) int64: its squares."""


def sum_cells(image: Array) -> Sums:
    """Sum up the brightness of an image, (H, W, 3) BGR."""
    # Squares are summed in doubles, which are exact for whole numbers of this size.
    values, squares = cv2.integral2(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
    return Sums(values[::CELL, ::CELL].astype(np.int64), squares[::CELL, ::CELL].astype(np.int64))


@njit(cache=True)  # type: ignore[untyped-decorator]
def quietest(values: Array, squares: Array, where: Array, room: tuple[int, int], box: Box) -> int:
    """Return which of some crops has the least variance of brightness behind a box.

    where (n, 2): from 0 to 1, how far down and across a crop begins. room: in how many rows and
    columns it may begin. box: in the crop.
    """
    best, least = 0, np.int64(-1)
    last_row, last_column = values.shape[0] - 1, values.shape[1] - 1
    for k in range(len(where)):
        y, x = int(where[k, 0] * room[0]), int(where[k, 1] * room[1])
        top = min((y + box[1]) // CELL, last_row - 1)
        left = min((x + box[0]) // CELL, last_column - 1)
        bottom = max(top + 1, min((y + box[3] + CELL - 1) // CELL, last_row))
        right = max(left + 1, min((x + box[2] + CELL - 1) // CELL, last_column))
        count = (bottom - top) * (right - left) * CELL * CELL
        total = _inside(values, top, left, bottom, right)
        variance = (_inside(squares, top, left, bottom, right) - total * total // count) // count
        if least < 0 or variance < least:
            best, least = k, variance
    return best


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def _inside(sums: Array, top: int, left: int, bottom: int, right: int) -> int:
    found: int = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return found


def text_weights(steps: Array, box: Box, size: tuple[int, int]) -> tuple[Array, Box]:
    """Return how strongly to calm each pixel of a box around text, (h, w) uint8, and that box.

    steps: the step map of the box that the text is in; size: height and width of the image. 255
    behind the lines; it fades out around them.
    """
    cells = np.where(steps[CELL // 2 :: CELL, CELL // 2 :: CELL], np.uint8(255), np.uint8(0))
    cells = cv2.copyMakeBorder(cells, _REACH, _REACH, _REACH, _REACH, cv2.BORDER_CONSTANT)
    grown = cv2.dilate(cells, np.ones((2 * _GROW + 1, 2 * _GROW + 1), np.uint8))
    cells = cv2.blur(grown, (2 * _FADE + 1, 2 * _FADE + 1))
    weights = cv2.resize(cells, None, fx=CELL, fy=CELL, interpolation=cv2.INTER_LINEAR)
    left, top = box[0] - _REACH * CELL, box[1] - _REACH * CELL
    right, bottom = left + weights.shape[1], top + weights.shape[0]
    inside = (max(left, 0), max(top, 0), min(right, size[1]), min(bottom, size[0]))
    return weights[inside[1] - top : inside[3] - top, inside[0] - left : inside[2] - left], inside


def calm_behind(background: Array, steps: Array, box: Box, widest: float) -> tuple[float, float]:
    """Calm a background, (H, W, 3) BGR, behind text until its brightness spans at most `widest`.

    Most of it keeps its brightness: the band that the most pixels are in. Only what is darker or
    lighter is drawn towards it. Returns the range of brightness behind the text after that.

    box: where the text is; steps (H, W): not 0 where there is a line.
    """
    left, top, right, bottom = box
    steps = steps[top:bottom, left:right]
    low, high, counts = _histogram(background[top:bottom, left:right], steps)
    if high - low <= widest:
        return float(low), float(high)
    first, last = _band(counts, low, high, int(widest) * _BAND // 100)
    weights, (left, top, right, bottom) = text_weights(steps, box, background.shape[:2])
    view = background[top:bottom, left:right]
    grey = cv2.cvtColor(view, cv2.COLOR_BGR2GRAY)
    below = min((widest - (last - first)) / 2, first - low)
    above = min(widest - (last - first) - below, high - last)
    # How far each pixel is outside the band (it stops at 0), times how much of that it must lose.
    if first > low:
        under = cv2.subtract((float(first), 0.0, 0.0, 0.0), grey)
        _add(view, under, weights, 1 - below / (first - low), cv2.add)
    if last < high:
        over = cv2.subtract(grey, (float(last), 0.0, 0.0, 0.0))
        _add(view, over, weights, 1 - above / (high - last), cv2.subtract)
    return first - below, last + above


def _add(view: Array, by: Array, weights: Array, share: float, change: Callable[..., Any]) -> None:
    """Add or subtract a share of what each pixel, (h, w), is off, by weights; in place."""
    amount = cv2.multiply(by, weights, scale=share / 255)
    change(view, cv2.cvtColor(amount, cv2.COLOR_GRAY2BGR), dst=view)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _histogram(view: Array, steps: Array) -> tuple[int, int, Array]:
    """Return between what brightness all but a twenty-fifth of a view lies, and how often each is.

    Only pixels behind text count, and not all of them; the strides are such that stripes and tiles
    do not fall into step with them.
    """
    counts, total = np.zeros(256, np.int64), 0
    for row in range(0, view.shape[0], 3):
        for column in range(0, view.shape[1], 7):
            if steps[row, column]:
                blue, green, red = view[row, column]
                counts[(77 * red + 150 * green + 29 * blue) >> 8] += 1
                total += 1
    if total == 0:  # a scrap of text between the strides
        return 0, 255, counts
    low, below = 0, counts[0]
    while below <= total // 50:
        low += 1
        below += counts[low]
    high, above = 255, counts[255]
    while above <= total // 50:
        high -= 1
        above += counts[high]
    return low, high, counts


@njit(cache=True)  # type: ignore[untyped-decorator]
def _band(counts: Array, low: int, high: int, width: int) -> tuple[int, int]:
    """Return the ends of the band of a width between low and high that has the most pixels."""
    inside = counts[low : low + width + 1].sum()
    best, most = low, inside
    for start in range(low + 1, high - width + 1):
        inside += counts[start + width] - counts[start - 1]
        if inside > most:
            best, most = start, inside
    return best, best + width
