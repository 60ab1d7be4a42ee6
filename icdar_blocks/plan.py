"""Plan: which blocks a dataset consists of, before any picture is decoded."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icdar_blocks.crop import Crop, find_window, plan_crop
from icdar_blocks.grouping import group
from icdar_blocks.recipe import IcdarRecipe
from icdar_blocks.rule import PUBLISHED, Rule
from icdar_blocks.scenes import Scene, Split, picture_size, read_split
from icdar_blocks.table import Table, counted_lines, make_table
from icdar_blocks.words import Block
from ivl_shards import UserError
from ivl_shards.generation.recipe import require

# Texts are given room in steps of so many bytes, so that both splits have the same types.
_TEXT_STEP = 64


@dataclass(frozen=True)
class Cut:
    """One planned sample: a block, the picture it is in, and its crop."""

    image: str
    block: Block
    crop: Crop


@dataclass(frozen=True)
class PlannedBlocks:
    """The blocks of a dataset by row, and the archive of pictures that they are cut from."""

    images: Path
    cuts: tuple[Cut, ...]


@dataclass(frozen=True)
class Grouped:
    """The scenes of a split with their blocks."""

    split: Split
    rule: Rule
    blocks: tuple[tuple[Block, ...], ...]
    """The blocks of each scene, in reading order."""

    @property
    def table(self) -> Table:
        """Blocks and words by number of lines, including those without a picture."""
        return make_table((block for blocks in self.blocks for block in blocks), self.rule)

    @property
    def missing(self) -> list[tuple[Scene, int]]:
        """Scenes without a picture, and how many blocks are lost with each."""
        pairs = zip(self.split.scenes, self.blocks, strict=True)
        return [
            (scene, sum(bool(counted_lines(block, self.rule)) for block in blocks))
            for scene, blocks in pairs
            if scene.image is None
        ]


@dataclass(frozen=True)
class Plan:
    """A planned dataset: its recipe, and what the workers need beside it."""

    recipe: IcdarRecipe
    source: PlannedBlocks


def group_split(root: Path | str, split: str, rule: Rule = PUBLISHED) -> Grouped:
    """Read a split and group its words; no picture is opened."""
    found = read_split(Path(root), split)
    blocks = tuple(tuple(group(scene.words, rule)) for scene in found.scenes)
    return Grouped(found, rule, blocks)


def plan_dataset(grouped: Grouped, **knobs: Any) -> Plan:
    """Find out what there is to cut; `knobs` are those of `IcdarRecipe` (margin, canvas …)."""
    split = grouped.split
    draft = IcdarRecipe(counts=(1,), total=1, split=split.name, rule=grouped.rule, **knobs)
    images = split.images
    if images is None or len(split.missing) == len(split.scenes):
        where = images.path if images else "Challenge2_…_Task12_Images"
        raise UserError(f"{where}: none of the pictures of the split {split.name} is there")
    hashed = hashlib.sha256()
    cuts: list[Cut] = []
    for scene, blocks in zip(split.scenes, grouped.blocks, strict=True):
        if scene.image is not None:
            data = images.read(scene.image)
            hashed.update(_describe(scene, data))
            size = picture_size(data, images.where(scene.image))
            cuts += _cuts(scene, blocks, size, draft)
    require(bool(cuts), f"{images.path}: no block of text in any picture")
    recipe = IcdarRecipe(
        counts=tuple(sorted({len(cut.block) for cut in cuts})),
        total=len(cuts),
        split=split.name,
        rule=grouped.rule,
        fingerprint=hashed.hexdigest(),
        missing=tuple(split.missing),
        largest=(max(c.crop.size[0] for c in cuts), max(c.crop.size[1] for c in cuts)),
        most_words=max(len(cut.block.words) for cut in cuts),
        name_bytes=_room(cut.image for cut in cuts),
        word_bytes=_room(word.text for cut in cuts for word in cut.block.words),
        line_bytes=_room(line.text for cut in cuts for line in cut.block),
        **knobs,
    )
    return Plan(recipe, PlannedBlocks(images.path, tuple(cuts)))


def _cuts(
    scene: Scene, blocks: tuple[Block, ...], size: tuple[int, int], recipe: IcdarRecipe
) -> Iterator[Cut]:
    assert scene.image is not None
    for block in blocks:
        if not counted_lines(block, recipe.rule):
            continue
        _check_inside(scene, block, size)
        window = find_window(block, recipe.margin, size)
        yield Cut(scene.image, block, plan_crop(window, recipe.longest, recipe.canvas))


def _check_inside(scene: Scene, block: Block, size: tuple[int, int]) -> None:
    """Check that every word shows at least in part; boxes over the edge are cut there."""
    for word in block.words:
        require(
            word.x0 < size[1] and word.y0 < size[0] and word.x1 > 0 and word.y1 > 0,
            f"{scene.truth}: the word '{word.text}' at {word.box} lies outside the picture "
            f"{scene.image} of {size[1]}×{size[0]} pixels",
        )


def _describe(scene: Scene, data: bytes) -> bytes:
    """Return what of a scene decides the content, for the fingerprint."""
    words = [(*word.box, word.text) for word in sorted(scene.words)]
    facts = [scene.name, scene.image, hashlib.sha256(data).hexdigest(), words]
    return json.dumps(facts).encode() + b"\n"


def _room(texts: Iterator[str]) -> int:
    most = max(len(text.encode()) for text in texts)
    return max(1, -(-most // _TEXT_STEP)) * _TEXT_STEP
