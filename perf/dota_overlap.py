"""How many test crops --overlap, --shared and --visible leave, and the contrast of planes: the
tables in docs/DOTA.md.

IVL_DATA=… python perf/dota_overlap.py
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dota_crops import DotaRecipe, make_plan
from dota_crops.contrast import contrasts
from dota_crops.picture import open_picture
from dota_crops.scenes import find_split, read_scene

COUNTS = tuple(range(3, 11))
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
SHARED = (0.5, 0.65, 0.8, 0.9, 1.0)
PERCENTILES = (1, 5, 10, 25, 50, 75, 95)
IMAGES = 100


def main() -> None:
    """Print the tables."""
    if "IVL_DATA" not in os.environ:
        sys.exit("IVL_DATA does not say where the real data lies")
    root = Path(os.environ["IVL_DATA"]) / "dota"
    print_row("--overlap", COUNTS)
    print("|---" * (len(COUNTS) + 1) + "|")
    for value in OVERLAPS:
        recipe = DotaRecipe(COUNTS, 200 * len(COUNTS), overlap=value, shared=1.0)
        yields = make_plan(recipe, root).yields
        print_row(f"{value:g}", [f"{yields[count].apart:,}" for count in COUNTS])
    print()
    print_row("--shared", (*COUNTS, "all"))
    print("|---" * (len(COUNTS) + 2) + "|")
    for value in SHARED:
        print_given(f"{value:g}", DotaRecipe(COUNTS, 200 * len(COUNTS), shared=value), root)
    print_given("0.8, --visible", DotaRecipe(COUNTS, 200 * len(COUNTS), visible=True), root)
    print()
    print_row("percentile", PERCENTILES)
    print("|---" * (len(PERCENTILES) + 1) + "|")
    for split in ("train", "val"):
        levels = np.percentile(contrasts_of(root, split), PERCENTILES)
        print_row(f"contrast, {split}", [f"{level:.1f}" for level in levels])


def print_given(name: str, recipe: DotaRecipe, root: Path) -> None:
    """Print how many crops of each count a recipe gives."""
    plan = make_plan(recipe, root)
    given = [plan.yields[count].given for count in COUNTS]
    print_row(name, [*given, sum(given)])


def print_row(name: str, cells: Iterable[object]) -> None:
    """Print a row of a table."""
    print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)


def contrasts_of(root: Path, split: str) -> np.ndarray:
    """Return the contrast of all planes of the first images of a split."""
    levels = []
    for pair in find_split(root, split).pairs[:IMAGES]:
        scene = read_scene(pair, "plane", 1).scene
        if scene is not None:
            picture = open_picture(scene.path, scene.height * scene.width)
            levels.append(contrasts(picture, scene.quads, scene.height, scene.width))
    return np.concatenate(levels)


if __name__ == "__main__":
    main()
