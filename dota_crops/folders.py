"""Folders: where the images and labels of a split lie, and which belong together."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ivl_shards import UserError

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
# A crop refers to its image by name, in a field of this many bytes.
LONGEST_NAME = 128
HOME = "https://captain-whu.github.io/DOTA/dataset.html"
# The paper used v1.0, which most copies call plainly labelTxt.
_VERSIONS = ("", "-v1.0", "-v1.5", "-v2.0")
# Beside the oriented quads lie the same objects as upright boxes; those are not what we want.
_UPRIGHT = ("hbb", "reclabel", "task2")


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
    """DOTA's own names, then those of copies that keep splits below the kinds of files."""
    names = [f"labelTxt{version}" for version in _VERSIONS]
    beside = [root / split / name for name in names]
    below = [root / name / split for name in names]
    return [*beside, *below, root / "labels" / f"{split}_original"]


def _files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Files at any depth: the archives of DOTA unpack into folders of their own."""
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
    """Why a crop could not refer to a file by its name; "" if it can."""
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
        f"no {what} of the split '{split}' in {root}{state}: looked for {looked}; DOTA is to be "
        f"had at {HOME}; say where it is with --root or DOTA_ROOT"
    )
