"""Memory: what an ideal reader has already seen, at every step.

`m_t` and `delta` are the paper's: m_{t+1} = m_t + Δm_t.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ivl_shards.format.schema import Array

Map = npt.NDArray[np.float32]


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


def step_map(boxes: Iterable[tuple[int, int, int, int]], size: tuple[int, int]) -> Array:
    """Step map of boxes (x0, y0, x1, y1), half-open, in reading order.

    >>> step_map([(0, 0, 2, 1), (1, 0, 3, 1)], (1, 4)).tolist()
    [[1, 1, 2, 0]]
    """
    ordered = list(boxes)
    steps = np.zeros(size, step_dtype(len(ordered)))
    # Last to first, so that where boxes overlap the earlier step stands.
    for step in range(len(ordered), 0, -1):
        x0, y0, x1, y1 = ordered[step - 1]
        steps[y0:y1, x0:x1] = step
    return steps


def step_dtype(length: int) -> str:
    """The smallest type that holds a step map of that many steps."""
    return "u1" if length < 256 else "u2"
