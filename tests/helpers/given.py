"""Tiny datasets of all generators, by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dota_crops
import icdar_blocks
import ivl_shards
import shapes_gen
import textblocks_gen
from dota_crops import DotaRecipe
from dota_root import make_root
from icdar_tree import make_tree
from ivl_shards import Dataset, open_dataset
from photos import PHOTOS, PhotoRecipe
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe


def _dota(folder: Path, out: Path) -> None:
    # Objects that are cut reach beyond the image.
    recipe = DotaRecipe(counts=(2, 3), total=8, split="val", cut="keep>=0.5")
    plan = dota_crops.make_plan(recipe, make_root(folder / "dota"), strict=True)
    ivl_shards.generate(dota_crops.DOTA, plan.recipe, out, source=plan.source, workers=1)


def _icdar(folder: Path, out: Path) -> None:
    make_tree(folder / "icdar", scenes=6)
    grouped = icdar_blocks.group_split(folder / "icdar", "test")
    icdar_blocks.generate(icdar_blocks.plan_dataset(grouped), out, workers=1)


def _text(folder: Path, out: Path) -> None:
    recipe = TextRecipe(counts=(1, 3), total=6, punctuation=0.4, char_quads=True)
    textblocks_gen.generate(recipe, out, workers=1)


def _shapes(recipe: Any) -> Callable[[Path, Path], None]:
    return lambda folder, out: shapes_gen.generate(recipe, out, workers=1) and None


def _photos(folder: Path, out: Path) -> None:
    ivl_shards.generate(PHOTOS, PhotoRecipe((1, 2), 6), out, workers=1)


GIVEN: dict[str, Callable[[Path, Path], None]] = {
    "coloured": _shapes(ColouredRecipe((0, 4), 6)),
    "dense": _shapes(ColouredRecipe((1, 2), 4, dense_memory=True)),
    "toy": _shapes(ToyRecipe((1, 3), 6)),
    "photos": _photos,
    "dota": _dota,
    "icdar": _icdar,
    "text": _text,
}


def make_given(name: str, folder: Path) -> Dataset:
    """Make the dataset as data.h5 in a folder, its sources elsewhere, and open it."""
    GIVEN[name](folder.with_name(f"{folder.name}-sources"), folder / "data.h5")
    return open_dataset(folder / "data.h5")
