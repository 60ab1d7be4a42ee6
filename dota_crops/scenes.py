"""Scenes: the images of a split with their labels, found and read."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import shapely

from dota_crops.labels import MOST_BYTES, Labelled, parse_labels
from dota_crops.picture import read_header
from ivl_shards import UserError
from ivl_shards.format.schema import Array

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
# A crop refers to its image by name, in a field of this many bytes.
LONGEST_NAME = 128
HOME = "https://captain-whu.github.io/DOTA/dataset.html"
# The paper used v1.0, which most copies call plainly labelTxt.
_VERSIONS = ("", "-v1.0", "-v1.5", "-v2.0")
# Beside the oriented quads lie the same objects as upright boxes; those are not what we want.
_UPRIGHT = ("hbb", "reclabel", "task2")
_OUTSIDE = "lies outside the image (ignored)"
_LEAVES = "leaves the image (it counts as cut)"


@dataclass(frozen=True)
class Pair:
    """An image and its labels."""

    image: Path
    labels: Path

    @property
    def name(self) -> str:
        """Name of the image file, by which crops refer to it."""
        return self.image.name


@dataclass(frozen=True)
class Complaint:
    """Something wrong with the input, and where: the line is 0 for a file as a whole."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


@dataclass(frozen=True)
class Split:
    """The pairs of a split in the order of their names, and what could not be paired."""

    pairs: list[Pair]
    complaints: list[Complaint]


def find_split(root: Path, split: str) -> Split:
    """Find the images and labels of a split in any of the usual layouts."""
    images = next((d for d in _image_folders(root, split) if _any(d, SUFFIXES)), None)
    labels = next((d for d in _label_folders(root, split) if _any(d, (".txt",))), None)
    if images is None or labels is None:
        raise UserError(_not_found(root, split, images is None))
    complaints: list[Complaint] = []
    image_files = _by_stem(_files(images, SUFFIXES), complaints)
    label_files = _by_stem(_files(labels, (".txt",)), complaints)
    for stem in sorted(image_files.keys() - label_files.keys()):
        complaints.append(Complaint(image_files[stem], 0, f"has no labels in {labels}"))
    for stem in sorted(label_files.keys() - image_files.keys()):
        complaints.append(Complaint(label_files[stem], 0, f"has no image in {images}"))
    both = sorted(image_files.keys() & label_files.keys())
    if not both:
        raise UserError(f"{images}: none of its images has labels of the same name in {labels}")
    return Split([Pair(image_files[stem], label_files[stem]) for stem in both], complaints)


def _image_folders(root: Path, split: str) -> list[Path]:
    return [root / split / "images", root / "images" / split]


def _label_folders(root: Path, split: str) -> list[Path]:
    """Return DOTA's own folder names, then those of copies that are sorted differently."""
    names = [f"labelTxt{version}" for version in _VERSIONS]
    beside = [root / split / name for name in names]
    below = [root / name / split for name in names]
    return [*beside, *below, root / "labels" / f"{split}_original"]


def _files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Yield files at any depth: the archives of DOTA unpack into folders of their own."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parent
        upright = any(word in part.lower() for part in inner.parts for word in _UPRIGHT)
        if path.suffix.lower() in suffixes and not upright and path.is_file():
            yield path


def _any(folder: Path, suffixes: tuple[str, ...]) -> bool:
    return folder.is_dir() and next(_files(folder, suffixes), None) is not None


def _by_stem(files: Iterator[Path], complaints: list[Complaint]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in files:
        fault = _name_fault(path.name)
        if fault:
            complaints.append(Complaint(path, 0, f"is ignored: its name {fault}"))
        elif path.stem in found:
            complaints.append(Complaint(path, 0, f"is ignored: {found[path.stem]} is taken"))
        else:
            found[path.stem] = path
    return found


def _name_fault(name: str) -> str:
    """Return why a crop could not refer to a file by its name; "" if it can."""
    try:
        fits = len(name.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:  # bytes that are no text, as Linux allows
        return "is not UTF-8"
    return "" if fits else f"has more than {LONGEST_NAME} bytes"


def _not_found(root: Path, split: str, no_images: bool) -> str:
    folders = _image_folders(root, split) if no_images else _label_folders(root, split)
    looked = ", ".join(str(folder.relative_to(root)) for folder in folders)
    what = "images (png, jpg, tif)" if no_images else "labels (txt)"
    state = "" if root.is_dir() else ", which does not exist"
    return (
        f"no {what} of the split '{split}' in {root}{state}: looked for {looked}; download DOTA "
        f"from {HOME}, and give its folder with --root or DOTA_ROOT"
    )


@dataclass(frozen=True)
class Scene:
    """What is known about an image without decoding it. Lengths are in source pixels."""

    path: Path
    height: int
    width: int
    gsd: float
    quads: Array
    """(n, 4, 2) float64."""
    difficult: Array
    """(n,) uint8."""
    lines: Array
    """(n,) int32: line of each object in the label file."""
    doubts: Array
    """(m, 4) float64 boxes in which there may be an object that the labels do not describe."""
    fingerprint: bytes
    """SHA-256 of the image's name and content and of its labels."""

    @cached_property
    def polygons(self) -> Array:
        """The quads as shapely polygons, (n,)."""
        return np.asarray(shapely.polygons(self.quads), object).reshape(-1)

    @cached_property
    def centres(self) -> Array:
        """Mean of the corners, (n, 2)."""
        return np.asarray(self.quads.mean(1))

    @cached_property
    def sizes(self) -> Array:
        """Square root of each area, (n,)."""
        return np.asarray(np.sqrt(shapely.area(self.polygons)))

    @property
    def name(self) -> str:
        """Name of the image file, by which crops refer to it."""
        return self.path.name


@dataclass(frozen=True)
class ReadScene:
    """The result of reading an image and its labels: a scene, or why there is none."""

    scene: Scene | None
    reason: str
    complaints: list[Complaint]


def read_scene(pair: Pair, category: str, least: int) -> ReadScene:
    """Read the labels of an image, and its size if it has at least that many objects."""
    complaints: list[Complaint] = []
    try:
        with pair.labels.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        complaints.append(Complaint(pair.labels, 0, f"cannot be read: {error.strerror}"))
        return ReadScene(None, "labels cannot be read", complaints)
    if len(text) > MOST_BYTES:
        complaints.append(Complaint(pair.labels, 0, f"has more than {MOST_BYTES:,} bytes"))
        return ReadScene(None, "labels cannot be read", complaints)
    labels = parse_labels(text)
    complaints += [Complaint(pair.labels, line, text) for line, text in labels.complaints]
    things = [thing for thing in labels.objects if thing.category == category]
    if len(things) < least or not things:
        return ReadScene(
            None, "no object of the class" if not things else "too few objects", complaints
        )
    header = read_header(pair.image)
    if header.fault:
        complaints.append(Complaint(pair.image, 0, f"{header.fault} (left out)"))
        return ReadScene(None, "image cannot be read", complaints)
    inside = []
    for thing in things:
        place = _place(thing, header.height, header.width)
        if place:
            complaints.append(Complaint(pair.labels, thing.line, f"{category}: the quad {place}"))
        if place != _OUTSIDE:
            inside.append(thing)
    if len(inside) < least or not inside:
        return ReadScene(None, "too few objects", complaints)
    boxes = [doubt.box for doubt in labels.doubts if doubt.category in ("", category)]
    scene = Scene(
        path=pair.image,
        height=header.height,
        width=header.width,
        gsd=labels.gsd,
        quads=np.array([thing.quad for thing in inside], np.float64).reshape(-1, 4, 2),
        difficult=np.array([thing.difficult for thing in inside], np.uint8),
        lines=np.array([thing.line for thing in inside], np.int32),
        doubts=np.array(boxes, np.float64).reshape(-1, 4),
        fingerprint=_fingerprint(pair, text),
    )
    return ReadScene(scene, "", complaints)


def _place(thing: Labelled, height: int, width: int) -> str:
    """Return what is wrong with where an object lies; "" if nothing is."""
    xs, ys = thing.quad[0::2], thing.quad[1::2]
    if max(xs) <= 0 or max(ys) <= 0 or min(xs) >= width or min(ys) >= height:
        return _OUTSIDE
    if min(xs) < 0 or min(ys) < 0 or max(xs) > width or max(ys) > height:
        return _LEAVES
    return ""


def _fingerprint(pair: Pair, text: bytes) -> bytes:
    hashed = hashlib.sha256(f"{pair.name}\n".encode())
    hashed.update(hashlib.sha256(text).digest())
    try:
        with pair.image.open("rb") as file:
            hashed.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:  # its head could be read just before
        raise UserError(f"{pair.image}: cannot be read: {error.strerror}") from None
    return hashed.digest()
