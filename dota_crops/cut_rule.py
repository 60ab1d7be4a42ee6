"""Cut rule: which objects are in a window, and whether it cuts one."""

import re
from dataclasses import dataclass

import numpy as np
import shapely

from ivl_shards import UserError
from ivl_shards.format.schema import Array

REJECT = "reject"
CENTRE = "centre"
KEEP = "keep"

_KEEP = re.compile(r"keep>=(0?\.\d+|1(?:\.0*)?)")
# Areas come from floating-point clipping; what is this near to 0 or 1 is 0 or 1.
_TOLERANCE = 1e-9


def parse_cut(text: str) -> tuple[str, float]:
    """Parse a cut rule into its name and threshold.

    >>> parse_cut("keep>=0.7")
    ('keep', 0.7)
    """
    if text in (REJECT, CENTRE):
        return text, 1.0
    match = _KEEP.fullmatch(text.replace(" ", ""))
    if not match or float(match[1]) == 0:
        raise UserError(f"--cut '{text}': write reject, keep>=0.7 (above 0, at most 1), or centre")
    return KEEP, float(match[1])


def overlaps(polygons: Array, windows: Array) -> tuple[Array, Array, Array]:
    """Return which objects (n polygons) overlap which windows (m, 4), and by how much.

    Returns three arrays of one length: index of the window, of the object, and the share of
    its area that is inside, above 0 and at most 1. Touching edges do not count.
    """
    boxes = shapely.bounds(polygons)  # (n, 4)
    x0, y0, x1, y1 = (windows[:, k : k + 1] for k in range(4))  # (m, 1) each
    near = (boxes[:, 0] < x1) & (boxes[:, 2] > x0) & (boxes[:, 1] < y1) & (boxes[:, 3] > y0)
    window, thing = np.nonzero(near)  # sorted by window
    inside = contains(windows[window], boxes[thing])
    share = np.ones(len(window))
    cut = np.flatnonzero(~inside)
    parts = shapely.intersection(polygons[thing[cut]], shapely.box(*windows[window[cut]].T))
    share[cut] = shapely.area(parts) / shapely.area(polygons[thing[cut]])
    some = share > _TOLERANCE
    share = np.where(inside, 1.0, np.minimum(share, 1 - _TOLERANCE))
    return window[some], thing[some], share[some]


def contains(windows: Array, boxes: Array) -> Array:
    """Tell whether each box (n, 4) lies wholly in the window (n, 4) beside it."""
    return np.asarray(
        (boxes[:, 0] >= windows[:, 0])
        & (boxes[:, 1] >= windows[:, 1])
        & (boxes[:, 2] <= windows[:, 2])
        & (boxes[:, 3] <= windows[:, 3])
    )


@dataclass(frozen=True)
class Verdict:
    """The result of a rule: pairs of a window and an object that counts in it, sorted by window,
    and which windows (m,) are forbidden."""

    window: Array
    thing: Array
    forbidden: Array

    def counts(self) -> Array:
        """Return the number of objects in each window (m,); -1 where it is forbidden."""
        counts = np.bincount(self.window, minlength=len(self.forbidden))
        return np.where(self.forbidden, -1, counts)

    def members(self, k: int) -> Array:
        """Return the indices of the objects that count in one window."""
        return np.asarray(self.thing[self.window == k])


def judge(cut: str, polygons: Array, centres: Array, windows: Array) -> Verdict:
    """Apply a cut rule to n objects and windows (m, 4)."""
    kind, least = parse_cut(cut)
    allowed = np.zeros(len(windows), bool)
    if kind == CENTRE:
        x, y = centres[:, 0], centres[:, 1]  # (n,)
        x0, y0, x1, y1 = (windows[:, k : k + 1] for k in range(4))
        window, thing = np.nonzero((x >= x0) & (x < x1) & (y >= y0) & (y < y1))
        return Verdict(window, thing, allowed)
    window, thing, share = overlaps(polygons, windows)
    whole = share >= least
    if kind == KEEP:
        return Verdict(window[whole], thing[whole], allowed)
    cuts = np.bincount(window[~whole], minlength=len(windows)) > 0
    return Verdict(window[whole], thing[whole], cuts)
