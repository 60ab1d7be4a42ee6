"""Scene: one source image, its objects of the wanted class, and what to keep away from."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import shapely

from dota_crops.folders import Complaint, Pair
from dota_crops.labels import MOST_BYTES, Labelled, parse_labels
from dota_crops.picture import read_header
from ivl_shards import UserError
from ivl_shards.format.schema import Array


@dataclass(frozen=True)
class Scene:
    """All that is known of an image without looking at its pixels. Lengths: source pixels."""

    path: Path
    height: int
    width: int
    gsd: float
    quads: Array
    """(n, 4, 2) float64."""
    difficult: Array
    """(n,) uint8."""
    lines: Array
    """(n,) int32: where in the label file each object stands."""
    doubts: Array
    """(m, 4) float64 boxes where an object may be that the labels do not tell."""
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
        """By which crops refer to the image."""
        return self.path.name


@dataclass(frozen=True)
class Look:
    """What a first look at an image gave: a scene, or the reason why there is none."""

    scene: Scene | None
    reason: str
    complaints: list[Complaint]


def look(pair: Pair, category: str, least: int) -> Look:
    """Read the labels of an image, and its size if it has at least that many objects."""
    complaints: list[Complaint] = []
    try:
        with pair.labels.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        complaints.append(Complaint(pair.labels, 0, f"cannot be read: {error.strerror}"))
        return Look(None, "labels cannot be read", complaints)
    if len(text) > MOST_BYTES:
        complaints.append(Complaint(pair.labels, 0, f"has more than {MOST_BYTES:,} bytes"))
        return Look(None, "labels cannot be read", complaints)
    labels = parse_labels(text)
    complaints += [Complaint(pair.labels, line, text) for line, text in labels.complaints]
    things = [thing for thing in labels.objects if thing.category == category]
    if len(things) < least or not things:
        return Look(None, "no object of the class" if not things else "too few objects", complaints)
    header = read_header(pair.image)
    if header.fault:
        complaints.append(Complaint(pair.image, 0, f"{header.fault} (left out)"))
        return Look(None, "image cannot be read", complaints)
    inside = []
    for thing in things:
        place = _place(thing, header.height, header.width)
        if place:
            complaints.append(Complaint(pair.labels, thing.line, f"{category}: the quad {place}"))
        if place != _OUTSIDE:
            inside.append(thing)
    if len(inside) < least or not inside:
        return Look(None, "too few objects", complaints)
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
    return Look(scene, "", complaints)


_OUTSIDE = "lies outside the image (ignored)"
_LEAVES = "leaves the image (it counts as cut)"


def _place(thing: Labelled, height: int, width: int) -> str:
    """What is wrong with where an object lies, if anything is."""
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
