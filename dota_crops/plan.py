"""Plan: which crops a dataset consists of, before any pixel is decoded."""

import hashlib
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from dota_crops.cut_rule import judge
from dota_crops.recipe import DotaRecipe
from dota_crops.scenes import Complaint, Pair, ReadScene, Scene, find_split, read_scene
from dota_crops.search import FoundWindows, search
from ivl_shards import UserError
from ivl_shards.format.schema import Array
from ivl_shards.generation.randomness import Draws
from ivl_shards.progress import show_progress

NAME = "dota-crops"
TURNS = 8
# Windows of one image and count that are compared with each other: the table of pairs is small.
_COMPARED = 1500
# Starting processes takes longer than searching fewer images than this.
_FEW = 8
# Images that each process is given at a time.
_AHEAD = 4


@dataclass(frozen=True)
class Crop:
    """A window of an image, mirrored and turned."""

    scene: int
    window: tuple[int, int, int, int]
    turn: int
    count: int


@dataclass(frozen=True)
class PlannedCrops:
    """The crops of a dataset by row, and the images on this machine that they are cut from."""

    scenes: list[Scene]
    crops: list[Crop]


@dataclass
class Yield:
    """The number of crops of one count that were asked for and found."""

    asked: int
    given: int = 0
    images: int = 0
    """Number of images in which windows were found."""
    windows: int = 0
    """Number of windows that were found."""
    apart: int = 0
    """Crops that keep the limit on overlap; what is above `given` was not needed."""


@dataclass
class Plan:
    """Crops in the order of rows: by image, then from top to bottom."""

    recipe: DotaRecipe
    """The recipe with the actual number of crops and the fingerprint of the source."""
    scenes: list[Scene]
    crops: list[Crop]
    yields: dict[int, Yield]
    unused: Counter[str]
    """Number of images that were not used, by reason."""
    rejected: Counter[str]
    """Number of rejected positions of windows, by reason."""
    complaints: list[Complaint]

    @property
    def source(self) -> PlannedCrops:
        """What the workers need beside the recipe."""
        return PlannedCrops(self.scenes, self.crops)


def make_plan(
    recipe: DotaRecipe, root: Path, strict: bool = False, workers: int = 1, quiet: bool = True
) -> Plan:
    """Find the crops that a recipe asks for in DOTA's images under a folder."""
    gathered = _gather(recipe, root, strict, workers, quiet)
    crops, yields = _select(recipe, gathered)
    if not crops:
        raise UserError(_nothing(recipe, root, gathered))
    used = sorted({crop.scene for crop in crops})
    place = {k: row for row, k in enumerate(used)}
    crops = [replace(crop, scene=place[crop.scene]) for crop in crops]
    # From top to bottom, because huge images are read that way.
    crops.sort(key=lambda crop: (crop.scene, crop.window[1], crop.window, crop.turn))
    if len(used) < len(gathered.scenes):
        gathered.unused["its crops were not needed"] = len(gathered.scenes) - len(used)
    rejected: Counter[str] = Counter()
    for pool in gathered.pools:
        rejected.update(pool.rejected)
    # All images in which windows were found influenced the choice.
    source = hashlib.sha256(b"".join(scene.fingerprint for scene in gathered.scenes)).hexdigest()
    return Plan(
        recipe=replace(recipe, total=len(crops), asked=recipe.total, source_sha256=source),
        scenes=[replace(gathered.scenes[k]) for k in used],  # afresh, without cached polygons
        crops=crops,
        yields=yields,
        unused=gathered.unused,
        rejected=rejected,
        complaints=gathered.complaints,
    )


def _select(recipe: DotaRecipe, gathered: "_Gathered") -> tuple[list[Crop], dict[int, Yield]]:
    """Return the crops of each count, spread over the images."""
    yields = {count: Yield(asked) for count, asked in recipe.wanted().items()}
    crops: list[Crop] = []
    taken: dict[int, list[frozenset[int]]] = {k: [] for k in range(len(gathered.scenes))}
    # The highest counts have the fewest windows, so they choose first.
    for count, of_count in sorted(yields.items(), reverse=True):
        supply = []
        for k, (scene, pool) in enumerate(zip(gathered.scenes, gathered.pools, strict=True)):
            windows = pool.windows[count]
            rng = _draws(recipe, scene, "choose").at(count, 0)
            chosen = choose(windows, recipe.overlap, rng)
            of_count.windows += len(windows)
            of_count.images += len(windows) > 0
            of_count.apart += len(chosen) * (TURNS if recipe.turns else 1)
            supply.append(_crops_of(k, count, chosen, recipe.turns, rng))
        candidates: Iterator[Crop] = _in_turn(supply)
        if recipe.shared < 1:
            candidates = _differing(recipe, gathered.scenes, candidates, taken)
        given = list(islice(candidates, of_count.asked))
        of_count.given = len(given)
        crops += given
    return crops, yields


def _differing(
    recipe: DotaRecipe,
    scenes: list[Scene],
    crops: Iterator[Crop],
    taken: dict[int, list[frozenset[int]]],
) -> Iterator[Crop]:
    """Yield the crops that share few objects with each of those taken before, and take them."""
    for crop in crops:
        scene = scenes[crop.scene]
        verdict = judge(recipe.cut, scene.polygons, scene.centres, np.array([crop.window]))
        objects = frozenset(verdict.members(0).tolist())
        if all(_common(objects, other) <= recipe.shared for other in taken[crop.scene]):
            taken[crop.scene].append(objects)
            yield crop


def _common(one: frozenset[int], other: frozenset[int]) -> float:
    """Return intersection over union; two empty sets have nothing in common."""
    return len(one & other) / max(1, len(one | other))


@dataclass
class _Gathered:
    scenes: list[Scene] = field(default_factory=list)
    pools: list[FoundWindows] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)
    complaints: list[Complaint] = field(default_factory=list)


def _gather(recipe: DotaRecipe, root: Path, strict: bool, workers: int, quiet: bool) -> _Gathered:
    """Find the images that hold windows, sorted by name; with a limit, drawn by the seed."""
    split = find_split(root, recipe.split)
    gathered = _Gathered(complaints=_allowed(list(split.complaints), strict))
    # A hash, not a shuffle: an image that is added to a folder changes the draw of no other.
    pairs = split.pairs
    if recipe.images is not None:
        pairs = sorted(pairs, key=lambda pair: _lot(recipe, pair.name))
    with show_progress(len(pairs), quiet or len(pairs) < _FEW, "images searched") as report:
        report(0)
        for n, (seen, pool) in enumerate(_searched(recipe, pairs, workers)):
            if len(gathered.scenes) == recipe.images:
                gathered.unused["more than --images"] = len(pairs) - n
                break
            report(1)
            gathered.complaints += _allowed(seen.complaints, strict)
            reason = seen.reason
            if seen.scene is not None and pool is not None:
                if any(len(windows) for windows in pool.windows.values()):
                    gathered.scenes.append(seen.scene)
                    gathered.pools.append(pool)
                    continue
                reason = "no window fits"
            gathered.unused[reason] += 1
    order = sorted(range(len(gathered.scenes)), key=lambda k: gathered.scenes[k].name)
    gathered.scenes = [gathered.scenes[k] for k in order]
    gathered.pools = [gathered.pools[k] for k in order]
    return gathered


_Searched = tuple[ReadScene, FoundWindows | None]


def _searched(recipe: DotaRecipe, pairs: list[Pair], workers: int) -> Iterator[_Searched]:
    """Yield what each image and its labels hold, in order, searched on several cores."""
    look = partial(_look, recipe)
    if workers == 1 or len(pairs) < _FEW:
        yield from map(look, pairs)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(pairs)), spawn) as pool:
        try:
            # A few at a time: with --images, most of DOTA need not be searched.
            for start in range(0, len(pairs), _AHEAD * workers):
                yield from pool.map(look, pairs[start : start + _AHEAD * workers])
        except BrokenProcessPool:
            raise UserError("a process of the search ended: try fewer --workers") from None


def _look(recipe: DotaRecipe, pair: Pair) -> _Searched:
    seen = read_scene(pair, recipe.category, min(recipe.counts))
    if seen.scene is None:
        return seen, None
    pool = search(recipe, seen.scene, _draws(recipe, seen.scene, "search").at(0, 0))
    # Afresh, without the polygons that the search has cached: they would be sent along.
    return replace(seen, scene=replace(seen.scene)), pool


def _allowed(complaints: list[Complaint], strict: bool) -> list[Complaint]:
    if strict and complaints:
        raise UserError(f"{complaints[0]} (--strict)")
    return complaints


def _lot(recipe: DotaRecipe, name: str) -> bytes:
    return hashlib.sha256(f"{NAME}\n{recipe.seed}\n{recipe.split}\n{name}".encode()).digest()


def _draws(recipe: DotaRecipe, scene: Scene, purpose: str) -> Draws:
    """Return random numbers of one image, which do not depend on other images."""
    return Draws(f"{NAME} {purpose} {scene.name}", recipe.seed, recipe.split)


def choose(windows: Array, limit: float, rng: np.random.Generator) -> Array:
    """Choose windows (m, 4) that overlap each other by at most the limit, in random order.

    A greedy choice: always the window that excludes the fewest others.
    """
    windows = windows[rng.permutation(len(windows))]
    if limit >= 1:
        return windows
    windows = windows[:_COMPARED]
    clash = shared(windows) > limit
    np.fill_diagonal(clash, False)
    free = np.ones(len(windows), bool)
    degree = clash.sum(1)
    chosen = []
    while free.any():
        k = int(np.argmin(np.where(free, degree, len(windows))))
        gone = free & clash[k]
        gone[k] = True
        free &= ~gone
        degree = degree - clash[gone].sum(0)
        chosen.append(k)
    return np.asarray(windows[rng.permutation(np.array(chosen, np.int64))])


def shared(windows: Array) -> Array:
    """Return how much of the smaller of each two windows (m, 4) the other covers, (m, m)."""
    x0, y0, x1, y1 = windows.T
    width = np.minimum(x1[:, None], x1) - np.maximum(x0[:, None], x0)
    height = np.minimum(y1[:, None], y1) - np.maximum(y0[:, None], y0)
    area = (x1 - x0) * (y1 - y0)
    both = np.clip(width, 0, None) * np.clip(height, 0, None)
    return np.asarray(both / np.minimum(area[:, None], area))


def _crops_of(
    scene: int, count: int, windows: Array, turns: bool, rng: np.random.Generator
) -> Iterator[Crop]:
    """Yield each window once, mirrored and turned at random; then again, turned another way."""
    first = rng.integers(TURNS, size=len(windows)) if turns else np.zeros(len(windows), int)
    for more in range(TURNS if turns else 1):
        for window, turn in zip(windows.tolist(), first.tolist(), strict=True):
            yield Crop(scene, tuple(window), (turn + more) % TURNS, count)


def _in_turn(supply: list[Iterator[Crop]]) -> Iterator[Crop]:
    """Yield one crop of each image after another, until all are used up."""
    while supply:
        left = []
        for crops in supply:
            crop = next(crops, None)
            if crop is not None:
                left.append(crops)
                yield crop
        supply = left


def _nothing(recipe: DotaRecipe, root: Path, gathered: _Gathered) -> str:
    counts = (
        f"{min(recipe.counts)}"
        if len(recipe.counts) == 1
        else (f"{min(recipe.counts)} to {max(recipe.counts)}")
    )
    why = ", ".join(f"{reason}: {number}" for reason, number in gathered.unused.items())
    return (
        f"{root}: no window of the split '{recipe.split}' holds {counts} objects of the class "
        f"'{recipe.category}' (images: {why or 'none'}); try other --counts, a smaller --smallest "
        "or a larger --zoom"
    )
