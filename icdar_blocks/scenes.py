"""Scenes: the pictures of a split with their words; pictures may be missing."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from icdar_blocks.archive import Archive, find_archive
from icdar_blocks.truth import MOST_BYTES, parse_truth
from icdar_blocks.words import Word
from ivl_shards import UserError
from ivl_shards.format.schema import Array
from ivl_shards.generation.recipe import require
from ivl_shards.photograph import Unreadable, open_photograph

FORMATS = ("JPEG", "PNG")
SPLITS = {"train": "Training", "test": "Test"}
"""Our name of a split → the organisers'."""
_TRUTH = re.compile(r"gt_(.+)\.txt", re.IGNORECASE)
_IMAGE = re.compile(r"(.+)\.(?:jpe?g|png)", re.IGNORECASE)


@dataclass(frozen=True)
class Scene:
    """One picture and its words."""

    name: str
    """`img_1` (test), `100` (train): what ground truth and image have in common."""
    words: tuple[Word, ...]
    image: str | None
    """File name of the picture, None where it is missing."""
    truth: str
    """Path of its ground truth, for error messages."""


@dataclass(frozen=True)
class Split:
    """All scenes of a split, in the order of their numbers."""

    name: str
    scenes: tuple[Scene, ...]
    images: Archive | None
    unlabelled: tuple[str, ...]
    """Pictures without ground truth, which are not used."""

    @property
    def missing(self) -> list[str]:
        """Names of the scenes whose picture is missing."""
        return [scene.name for scene in self.scenes if scene.image is None]


def read_split(root: Path, split: str) -> Split:
    """Read the ground truth of a split, and pair it with the pictures."""
    require(split in SPLITS, f"split '{split}': ICDAR 2013 has {' and '.join(SPLITS)}")
    require(root.is_dir(), f"{root}: no such folder")
    truth_name = f"Challenge2_{SPLITS[split]}_Task1_GT"
    truth = find_archive(root, truth_name)
    if truth is None:
        raise UserError(f"{root}: found neither {truth_name}/ nor {truth_name}.zip")
    images = find_archive(root, f"Challenge2_{SPLITS[split]}_Task12_Images")
    pictures = _by_stem(images, _IMAGE) if images else {}
    files = _by_stem(truth, _TRUTH)
    require(bool(files), f"{truth.path}: no ground truth in it: files are named gt_….txt")
    scenes = (
        Scene(
            name,
            tuple(parse_truth(truth.read(file, MOST_BYTES), truth.where(file))),
            pictures.get(name),
            truth.where(file),
        )
        for name, file in sorted(files.items(), key=lambda item: _natural(item[0]))
    )
    unlabelled = sorted(pictures.keys() - files.keys(), key=_natural)
    return Split(split, tuple(scenes), images, tuple(unlabelled))


def _by_stem(archive: Archive, pattern: re.Pattern[str]) -> dict[str, str]:
    found = ((pattern.fullmatch(name), name) for name in archive.names)
    return {match[1]: name for match, name in found if match}


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts img_2 before img_10.

    >>> sorted(["img_10", "img_2", "img"], key=_natural)
    ['img', 'img_2', 'img_10']
    """
    parts = re.split(r"([0-9]+)", name)
    return [(int(part[:18]), "") if part[:1].isdecimal() else (0, part) for part in parts]


def picture_size(data: bytes, name: str) -> tuple[int, int]:
    """Return height and width, from the head of the file."""
    with _opened(data, name) as picture:
        return picture.height, picture.width


def read_picture(data: bytes, name: str) -> Array:
    """Return all pixels, (height, width, 3) RGB.

    An EXIF orientation is ignored: the boxes refer to the picture as stored.
    """
    with _opened(data, name) as picture:
        return np.asarray(picture.convert("RGB"))


@contextmanager
def _opened(data: bytes, name: str) -> Iterator[Image.Image]:
    try:
        with open_photograph(data, FORMATS) as picture:
            yield picture
    except Unreadable as error:
        raise UserError(f"{name}: not a readable picture: {error}") from None
