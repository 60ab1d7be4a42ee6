"""One case per generator: what the shared guarantees are tested on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dota_crops
import icdar_blocks
from dota_crops import DOTA, DotaRecipe
from dota_root import make_root
from icdar_blocks import ICDAR
from icdar_tree import make_tree
from ivl_shards import Generator, Recipe
from photos import PHOTOS, PhotoRecipe
from shapes_gen import COLOURED, TOY, ColouredRecipe, ToyRecipe
from textblocks_gen import TEXT, Inputs, TextRecipe, complete

Prepared = tuple[Recipe, Any]


@dataclass(frozen=True)
class Case:
    """A generator, a small recipe, and the checksum of its content on every machine."""

    generator: Generator
    content: str
    prepare: Callable[[Path], Prepared]
    """Folder for external data → recipe and source."""
    drawn: bool = True
    """Whether samples are drawn at random, not cut from given images."""


def _drawn(recipe: Recipe) -> Callable[[Path], Prepared]:
    return lambda folder: (recipe, None)


def _text(folder: Path) -> Prepared:
    recipe = TextRecipe(
        counts=(1, 3, 10),
        total=550,
        punctuation=0.2,
        digits=0.1,
        char_quads=True,
        shadow=0.3,
        outline=0.3,
        blur=0.3,
        noise=0.3,
    )
    return complete(recipe, Inputs()), Inputs()


def _dota(folder: Path) -> Prepared:
    make_root(folder / "dota", images=3)
    recipe = DotaRecipe(counts=(2, 3, 4), total=60, split="val")
    plan = dota_crops.make_plan(recipe, folder / "dota", strict=True)
    return plan.recipe, plan.source


def _icdar(folder: Path) -> Prepared:
    make_tree(folder / "icdar", scenes=20)
    plan = icdar_blocks.plan_dataset(icdar_blocks.group_split(folder / "icdar", "test"))
    return plan.recipe, plan.source


CASES = {
    "coloured": Case(
        COLOURED,
        "a18d774aa0fa96e47563c50e24651b2f7bbea05eb23029c3177a05cf52b29b41",
        _drawn(ColouredRecipe(counts=(0, 3, 10), total=1100, seed=5)),
    ),
    "coloured-dense": Case(
        COLOURED,
        "aa9cc683781c0ab0c2f2ee761bd5f9f0a291e8cb8fb2fcb0610c00c253242384",
        _drawn(ColouredRecipe(counts=(1, 2), total=40, size=64, dense_memory=True)),
    ),
    "coloured-hard": Case(
        COLOURED,
        "c6874c4e90925ffeddb0baee42d0d380d67fd10c2f022603e76eecf654711346",
        _drawn(ColouredRecipe(counts=(0, 3, 10), total=120, seed=5, hard=True)),
    ),
    "toy": Case(
        TOY,
        "33ea66ab2e46d14696623faab0939c898594e8f24e1737c06aed51efc85a1d4a",
        _drawn(ToyRecipe(counts=(1, 3, 20), total=1100, seed=5, split="train")),
    ),
    "toy-fixed": Case(
        TOY,
        "f669819952012e146b40b4b4494e9a80f1b16b9021ceea489da1d04c96ab0c2f",
        _drawn(ToyRecipe(counts=(1, 3, 20), total=120, seed=5, canvas_lines=20)),
    ),
    "photos": Case(
        PHOTOS,
        "8c163bab8312fbf7d2c699de69286fadbfe6fbd174c709340e9a1ded4832810a",
        _drawn(PhotoRecipe(counts=(1, 2), total=600)),
    ),
    "text": Case(TEXT, "262a73c20b9c97923b308ec50d3e06a178b1970653ece19efbe377b740f32e88", _text),
    "dota": Case(
        DOTA, "e62b367c18d74aa5db6102fdd6c71745aaab4a8a6a2549bcce1a300cae2d43bb", _dota, drawn=False
    ),
    "icdar": Case(
        ICDAR,
        "49b17512b4428eac60712e42a8508537fcc5786134be70dd84fdccc87ee8a915",
        _icdar,
        drawn=False,
    ),
}
