"""Memory: what an ideal reader has already seen, at every step.

`m_t` and `delta` are the paper's: m_{t+1} = m_t + Δm_t.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ivl_shards.format.schema import Array

Map = npt.NDArray[np.float32]
# Moves an edge beyond the pixel centres that lie on it, and beyond no others.
_A_LITTLE_LARGER = 1 + 1e-11


class StepMemory:
    """Memory of text-like data: the union of the boxes of the first t lines.

    `steps[p]` is the first step whose box covers pixel p, and 0 where none does.
    """

    def __init__(self, steps: Array, length: int) -> None:
        self.steps = steps
        self.length = length

    def at(self, t: int) -> Map:
        """Return m_t, (H, W), 0 or 1."""
        _check(t, self.length)
        return ((self.steps > 0) & (self.steps <= t)).astype(np.float32)

    def delta(self, t: int) -> Map:
        """Return Δm_t, (H, W): what step t + 1 adds; all zeros at t = T."""
        _check(t, self.length)
        return np.equal(self.steps, t + 1).astype(np.float32)


class PeakMemory:
    """Memory of counting data: a Gaussian peak of height 1 at each object counted so far."""

    def __init__(self, centres: Array, sigma: float, size: tuple[int, int]) -> None:
        self.centres = centres
        self.sigma = sigma
        self.size = size
        self.length = len(centres)

    def at(self, t: int, order: Sequence[int] | None = None) -> Map:
        """Return m_t, (H, W): peaks at the first t objects, in the stored order or in another."""
        _check(t, self.length)
        return peaks(self._ordered(order)[:t], self.sigma, self.size)

    def delta(self, t: int, order: Sequence[int] | None = None) -> Map:
        """Return Δm_t, (H, W): peaks at *all* remaining objects, since counting has no order."""
        _check(t, self.length)
        return peaks(self._ordered(order)[t:], self.sigma, self.size)

    def _ordered(self, order: Sequence[int] | None) -> Array:
        if order is None:
            return self.centres
        if sorted(order) != list(range(self.length)):
            raise ValueError(f"order {list(order)} does not name {self.length} objects once each")
        return np.asarray(self.centres[np.asarray(order, int)])


def _check(t: int, length: int) -> None:
    if not 0 <= t <= length:
        raise IndexError(f"step {t}: this sample has the steps 0 to {length}")


def peaks(centres: Array, sigma: float, size: tuple[int, int]) -> Map:
    """Return the sum of Gaussian peaks at centres (x, y) in pixels; pixel centres lie at + 0.5.

    >>> [round(float(v), 2) for v in peaks(np.array([[1.5, 0.5]]), 1.0, (1, 4))[0]]
    [0.61, 1.0, 0.61, 0.14]
    """
    across, down = gaussians(centres, sigma, size)
    return (down.T @ across).astype(np.float32)  # (H, W)


def gaussians(centres: Array, sigma: float, size: tuple[int, int]) -> tuple[Array, Array]:
    """Return the factors of each peak in x, (K, W), and in y, (K, H).

    A gaussian is a product of the two: K·(H + W) exponentials, not K·H·W.
    """
    height, width = size
    centres = np.asarray(centres, np.float64).reshape(-1, 2)  # (K, 2)
    across = np.exp(-((np.arange(width) + 0.5 - centres[:, :1]) ** 2) / (2 * sigma**2))
    down = np.exp(-((np.arange(height) + 0.5 - centres[:, 1:]) ** 2) / (2 * sigma**2))
    return across, down


def step_map(
    lines: Any, size: tuple[int, int], most: int | None = None, closed: bool = False
) -> Array:
    """Return the step map of lines in reading order, (H, W): the first whose inside has a pixel.

    A pixel whose centre lies on the left or upper edge of a line is inside, one on the right or
    lower edge is not.

    Parameters
    ----------
    lines
        Boxes (L, 4) of whole numbers: x0, y0, x1, y1. Or polygons (L, K, 2).
    size
        Height and width of the map.
    most
        The greatest number of lines in a dataset, which decides the type; by default L.
    closed
        Whether pixels on the right and lower edges of polygons are inside too.

    >>> step_map([(0, 0, 2, 1), (1, 0, 3, 1)], (1, 4)).tolist()
    [[1, 1, 2, 0]]
    >>> step_map(np.array([[[1.0, 0], [3, 0], [3, 1], [1, 1]]]), (2, 4)).tolist()
    [[0, 1, 1, 0], [0, 0, 0, 0]]
    """
    outlines = lines if isinstance(lines, np.ndarray) else np.array(list(lines))
    steps = np.zeros(size, step_dtype(len(outlines) if most is None else most))
    if closed:
        middles = outlines.mean(1, keepdims=True, dtype=float)
        outlines = middles + (outlines - middles) * _A_LITTLE_LARGER
    if outlines.ndim == 3:
        _compiled_fill()(outlines, steps)
        return steps
    # Last to first, so that where lines overlap the earlier step stands.
    for step, (x0, y0, x1, y1) in reversed(list(enumerate(outlines.tolist(), 1))):
        steps[y0:y1, x0:x1] = step
    return steps


@cache
def _compiled_fill() -> Callable[[Array, Array], None]:
    from numba import njit  # takes half a second, and a reader of datasets does not need it

    compiled: Callable[[Array, Array], None] = njit(cache=True, error_model="numpy")(_fill)
    return compiled


def _fill(polygons: Array, steps: Array) -> None:
    """Write the step map of polygons, (L, K, 2), row by row between their crossings.

    Only +, -, ·, / in a fixed order: the same on every machine.
    """
    height, width = steps.shape
    corners = polygons.shape[1]
    crossings = np.empty(corners)
    for k in range(len(polygons) - 1, -1, -1):
        top, bottom = polygons[k, :, 1].min(), polygons[k, :, 1].max()
        for row in range(max(0, int(np.ceil(top - 0.5))), min(height, int(np.ceil(bottom - 0.5)))):
            y = row + 0.5
            found = 0
            for i in range(corners):
                ax, ay = polygons[k, i, 0], polygons[k, i, 1]
                bx, by = polygons[k, (i + 1) % corners, 0], polygons[k, (i + 1) % corners, 1]
                if (ay <= y) != (by <= y):
                    crossings[found] = ax + (y - ay) * (bx - ax) / (by - ay)
                    found += 1
            if found > 2:
                crossings[:found].sort()
            elif found == 2 and crossings[0] > crossings[1]:
                crossings[0], crossings[1] = crossings[1], crossings[0]
            for pair in range(0, found - 1, 2):
                first = max(0, int(np.ceil(crossings[pair] - 0.5)))
                steps[row, first : min(width, int(np.ceil(crossings[pair + 1] - 0.5)))] = k + 1


def step_dtype(length: int) -> str:
    """Return the smallest type that holds a step map of that many steps."""
    return "u1" if length < 256 else "u2"
