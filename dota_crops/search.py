"""Search: windows of an image that hold a wanted number of objects and cut none.

For one size of window, each object forbids the positions at which it would be cut and adds one
to those at which it is inside. Both are rectangles in the plane of positions, so sums over
all objects are a table of differences, summed up twice. The positions looked at are not a blind
grid: they are those where an object just enters or leaves the window, and one in between.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import shapely

from dota_crops.contrast import VISIBLE, contrasts
from dota_crops.cut_rule import REJECT, judge, parse_cut
from dota_crops.picture import open_picture
from dota_crops.recipe import DotaRecipe
from dota_crops.scenes import Scene
from ivl_shards.format.schema import Array

# An oriented quad is covered by this many upright slices, which fit it better than one box.
_SLICES = 6
# Objects near a tile of positions above which it is split: the tables stay small.
_CROWD = 120
_SMALLEST_TILE = 32
# Positions taken for each size and count; more would be near copies of these.
_TAKEN = 96


@dataclass
class FoundWindows:
    """Windows (m, 4) by the number of objects in them, and the number of rejected positions."""

    windows: dict[int, Array] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)


CUTS = "cuts an object"
UNSEEN = "holds an object too small to see, or a doubtful label"
OTHER = "another number of objects"


def search(recipe: DotaRecipe, scene: Scene, rng: np.random.Generator) -> FoundWindows:
    """Find windows for every count of the recipe."""
    visible = _visible(recipe, scene)
    pool = FoundWindows()
    found: dict[int, list[Array]] = {count: [] for count in recipe.counts}
    shape = _Shapes(scene)
    for side in window_sides(recipe, scene, rng):
        proposals = _Proposals(recipe, scene, shape, side)
        for tile in proposals.tiles(0, 0, scene.width - side, scene.height - side):
            corners = proposals.at(tile, rng, pool)  # (m, 2)
            windows = np.concatenate([corners, corners + side], 1)
            for count, some in _by_count(recipe, scene, visible, tile.near, windows).items():
                found[count].append(some)
    for count, parts in found.items():
        pool.windows[count] = np.unique(
            np.concatenate([np.empty((0, 4), np.int64), *parts]), axis=0
        )
    return pool


def window_sides(recipe: DotaRecipe, scene: Scene, rng: np.random.Generator) -> list[int]:
    """Return the sizes of windows to try, in source pixels, closer together where they are small.

    They range from the smallest that is not blurred to the largest in which the largest object can
    still be seen.
    """
    least = -(-recipe.size // recipe.zoom)
    most = min(
        scene.width,
        scene.height,
        recipe.largest,
        recipe.size * float(scene.sizes.max()) / recipe.smallest,
    )
    if most < least:
        return []
    # Squares, not powers: products are the same on every machine.
    steps = (np.arange(recipe.effort) + rng.random(recipe.effort)) / recipe.effort
    return sorted({int(side) for side in least + (most - least) * steps * steps})


def _visible(recipe: DotaRecipe, scene: Scene) -> Array:
    """Tell which objects may be in a window, (n,): all, or those with enough contrast."""
    if not recipe.visible:
        return np.ones(len(scene.quads), bool)
    picture = open_picture(scene.path, scene.height * scene.width)
    return contrasts(picture, scene.quads, scene.height, scene.width) >= VISIBLE


def _by_count(
    recipe: DotaRecipe, scene: Scene, visible: Array, near: Array, windows: Array
) -> dict[int, Array]:
    """Return the windows that satisfy the rule, by the number of objects that then count."""
    verdict = judge(recipe.cut, scene.polygons[near], scene.centres[near], windows)
    seen = scene.sizes[near][verdict.thing]  # of each pair
    side = (windows[:, 2] - windows[:, 0])[verdict.window]
    small = seen * recipe.size < recipe.smallest * side
    counts = verdict.counts()
    counts[verdict.window[small | ~visible[near][verdict.thing]]] = -1
    return {count: windows[counts == count] for count in recipe.counts}


class _Shapes:
    """Upright boxes (n, 4) around the objects, and slices (n, _SLICES, 4) that cover them."""

    def __init__(self, scene: Scene) -> None:
        self.boxes = shapely.bounds(scene.polygons)
        x0, y0, x1, y1 = (self.boxes[:, k, None] for k in range(4))  # (n, 1) each
        cuts = x0 + (x1 - x0) * np.arange(_SLICES + 1) / _SLICES  # (n, _SLICES + 1)
        slabs = shapely.box(cuts[:, :-1], y0 - 1, cuts[:, 1:], y1 + 1)
        parts = shapely.bounds(shapely.intersection(scene.polygons[:, None], slabs))
        # Clipping is exact only to the last bits, which differ between machines: round outwards.
        self.slices = np.nan_to_num(parts) + np.array([-1, -1, 1, 1]) / 64
        self.slices = np.floor(self.slices * 64) / 64


@dataclass(frozen=True)
class _Tile:
    """A rectangle of positions, ends included, and the objects that matter in it."""

    x0: int
    y0: int
    x1: int
    y1: int
    near: Array


class _Proposals:
    """Positions of windows of one size."""

    def __init__(self, recipe: DotaRecipe, scene: Scene, shapes: _Shapes, side: int) -> None:
        self.recipe = recipe
        self.side = side
        self.kind = parse_cut(recipe.cut)[0]
        self.gap = recipe.margin * side / recipe.size if self.kind == REJECT else 0.0
        boxes = shapes.boxes
        if self.kind == REJECT:
            self.entered = self._ranges_inside(boxes)
        else:
            # Exact for `centre`; for `keep` a guess, which the rule itself then decides.
            self.entered = self._ranges_inside(np.tile(scene.centres, 2))
        self.touched = self._ranges_touched(boxes)
        self.sliced = self._ranges_touched(shapes.slices)
        self.doubted = self._ranges_touched(scene.doubts)
        self.seen = scene.sizes * recipe.size >= recipe.smallest * side  # (n,)

    def _ranges_inside(self, boxes: Array) -> Array:
        """Return first and last position (…, 4: x, y, x, y) at which a window holds each box."""
        first = np.ceil(boxes[..., 2:] + self.gap) - self.side
        last = np.floor(boxes[..., :2] - self.gap)
        return np.concatenate([first, last], -1).astype(np.int64)

    def _ranges_touched(self, boxes: Array) -> Array:
        """Return first and last position (…, 4) at which a window overlaps each box."""
        first = np.floor(boxes[..., :2] - self.gap) - self.side + 1
        last = np.ceil(boxes[..., 2:] + self.gap) - 1
        return np.concatenate([first, last], -1).astype(np.int64)

    def tiles(self, x0: int, y0: int, x1: int, y1: int) -> Iterator[_Tile]:
        """Split positions until few objects matter in each tile."""
        t = self.touched
        near = (t[:, 0] <= x1) & (t[:, 2] >= x0) & (t[:, 1] <= y1) & (t[:, 3] >= y0)
        if near.sum() <= _CROWD or max(x1 - x0, y1 - y0) < _SMALLEST_TILE:
            if near.any():
                yield _Tile(x0, y0, x1, y1, np.flatnonzero(near))
        elif x1 - x0 > y1 - y0:
            middle = (x0 + x1) // 2
            yield from self.tiles(x0, y0, middle, y1)
            yield from self.tiles(middle + 1, y0, x1, y1)
        else:
            middle = (y0 + y1) // 2
            yield from self.tiles(x0, y0, x1, middle)
            yield from self.tiles(x0, middle + 1, x1, y1)

    def at(self, tile: _Tile, rng: np.random.Generator, pool: FoundWindows) -> Array:
        """Return positions (m, 2) in a tile that are likely to have a wanted count."""
        near = tile.near
        xs = self._stops(near, 0, tile.x0, tile.x1, rng)
        ys = self._stops(near, 1, tile.y0, tile.y1, rng)
        small = near[~self.seen[near]]
        hidden = np.concatenate([self.entered[small], self.doubted])
        inside = _coverage(xs, ys, self.entered[near])  # (len(ys), len(xs))
        unseen = _coverage(xs, ys, hidden) > 0
        cuts = np.zeros_like(unseen)
        if self.kind == REJECT:
            # An object that is inside has all its slices inside.
            sliced = self.sliced[near].reshape(-1, 4)
            cuts = _coverage(xs, ys, sliced) > _SLICES * inside
        wanted = np.isin(inside, self.recipe.counts)
        pool.rejected[CUTS] += int(cuts.sum())
        pool.rejected[UNSEEN] += int((unseen & ~cuts).sum())
        pool.rejected[OTHER] += int((~wanted & ~unseen & ~cuts).sum())
        good = wanted & ~unseen & ~cuts
        rows, columns = _sample(np.where(good, inside, -1), self.recipe.counts, rng)
        return np.stack([xs[columns], ys[rows]], 1)

    def _stops(
        self, near: Array, axis: int, low: int, high: int, rng: np.random.Generator
    ) -> Array:
        """Return where along an axis anything changes, and a random place between each two."""
        inside, touched = self.entered[near], self.touched[near]
        edges = [
            inside[:, axis],
            inside[:, axis + 2],
            touched[:, axis] - 1,
            touched[:, axis + 2] + 1,
        ]
        stops = np.unique(np.clip(np.concatenate([*edges, [low, high]]), low, high))
        between = stops[:-1] + (np.diff(stops) * rng.random(len(stops) - 1)).astype(np.int64)
        return np.unique(np.concatenate([stops, between]))


def _coverage(xs: Array, ys: Array, ranges: Array) -> Array:
    """Return how many rectangles (n, 4: first x, first y, last x, last y) cover each position."""
    ranges = ranges[(ranges[:, 0] <= ranges[:, 2]) & (ranges[:, 1] <= ranges[:, 3])]
    table = np.zeros((len(ys) + 1, len(xs) + 1), np.int32)
    if not len(ranges):
        return table[:-1, :-1]
    x0, x1 = np.searchsorted(xs, ranges[:, 0]), np.searchsorted(xs, ranges[:, 2], "right")
    y0, y1 = np.searchsorted(ys, ranges[:, 1]), np.searchsorted(ys, ranges[:, 3], "right")
    np.add.at(
        table, (np.r_[y0, y1, y0, y1], np.r_[x0, x1, x1, x0]), np.repeat([1, 1, -1, -1], len(x0))
    )
    np.cumsum(table, 0, out=table)
    np.cumsum(table, 1, out=table)
    return table[:-1, :-1]


def _sample(
    inside: Array, counts: tuple[int, ...], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return rows and columns of some positions of each wanted count."""
    flat = inside.reshape(-1)
    taken: list[Array] = [np.empty(0, np.int64)]
    for count in counts:
        places = np.flatnonzero(flat == count)
        if len(places) > _TAKEN:
            places = places[rng.integers(len(places), size=_TAKEN)]
        taken.append(places)
    rows, columns = np.divmod(np.concatenate(taken), inside.shape[1])
    return rows, columns
