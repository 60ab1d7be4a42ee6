"""Statistics: what a plan gives, and why not more, as tables to print."""

from collections.abc import Iterator

import numpy as np

from dota_crops.cut_rule import judge
from dota_crops.plan import Plan, Yield
from ivl_shards.format.schema import Array

_PERCENTILES = (0, 5, 25, 50, 75, 95, 100)


def report(plan: Plan) -> str:
    """Return all tables of a plan."""
    parts = (_counts(plan), _sizes(plan), _images(plan), _rejected(plan))
    return "\n\n".join("\n".join(part) for part in parts)


def shortages(plan: Plan) -> list[str]:
    """Return a line for each count that has fewer crops than asked for, with the reason."""
    return [
        f"{count} objects: {of_count.given:,} crops instead of {of_count.asked:,}: {_why(of_count)}"
        for count, of_count in plan.yields.items()
        if of_count.given < of_count.asked
    ]


def _why(of_count: Yield) -> str:
    if not of_count.windows:
        return "no window of the images holds just that many"
    found = f"{of_count.windows:,} windows were found in {of_count.images} images"
    if of_count.given < of_count.apart:
        return f"{found}, but only {of_count.given:,} crops keep to --overlap and --shared"
    if of_count.apart < of_count.windows:
        return f"{found}, but only {of_count.apart:,} crops keep to --overlap"
    return f"{found}, and no more"


def _counts(plan: Plan) -> Iterator[str]:
    yield "objects    asked    crops   images   windows found   apart enough"
    for count, y in plan.yields.items():
        line = f"{count:7} {y.asked:8,} {y.given:8,} {y.images:8,} {y.windows:15,} {y.apart:14,}"
        yield line
    total = sum(y.asked for y in plan.yields.values())
    yield f"    all {total:8,} {len(plan.crops):8,} {len(plan.scenes):8,}"


def _sizes(plan: Plan) -> Iterator[str]:
    """Return percentiles of the sizes of objects and windows."""
    recipe = plan.recipe
    sides = np.array([crop.window[2] - crop.window[0] for crop in plan.crops])
    things = []
    for k, scene in enumerate(plan.scenes):
        windows = np.array([crop.window for crop in plan.crops if crop.scene == k])
        verdict = judge(recipe.cut, scene.polygons, scene.centres, windows)
        scales = recipe.size / (windows[:, 2] - windows[:, 0])
        things.append(scene.sizes[verdict.thing] * scales[verdict.window])
    yield "percentile                        " + "".join(f"{p:8}" for p in _PERCENTILES)
    yield "size of an object, crop pixels    " + _percentiles(np.concatenate(things))
    yield "side of a window, source pixels   " + _percentiles(sides)


def _percentiles(values: Array) -> str:
    if not len(values):
        return "       –"
    return "".join(f"{value:8.1f}" for value in np.percentile(values, _PERCENTILES))


def _images(plan: Plan) -> Iterator[str]:
    yield f"{'images used':76} {len(plan.scenes):12,}"
    for reason, number in sorted(plan.unused.items()):
        yield f"{'  not used: ' + reason:76} {number:12,}"


def _rejected(plan: Plan) -> Iterator[str]:
    found = sum(y.windows for y in plan.yields.values())
    yield f"{'windows found':76} {found:12,}"
    for reason, number in sorted(plan.rejected.items()):
        yield f"{'  positions rejected: ' + reason:76} {number:12,}"
