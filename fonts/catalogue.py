"""Catalogue: the folder that `ivl-fonts install` fills, and its index."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fonts.face import Face
from fonts.manifest import Entry, catalogue_manifest
from fonts.places import write_atomically
from ivl_shards.errors import UserError

INDEX = "catalogue.json"
_VERSION = 1


@dataclass(frozen=True)
class Installed:
    """What the index says of one installed face."""

    sha256: str
    """Of the pinned original."""
    ttf_sha256: str
    """Of the file in the folder, the original without compression."""
    ttf_bytes: int
    characters: str
    """What the face really draws."""


def font_path(folder: Path, entry: Entry) -> Path:
    """Where the font of an entry is."""
    return folder / f"{entry.id}.ttf"


def licence_path(folder: Path, entry: Entry) -> Path:
    """Where the licence text of an entry is."""
    return folder / f"{entry.id}.LICENSE.txt"


def is_catalogue(folder: Path) -> bool:
    """Whether `ivl-fonts install` has put anything there."""
    return (folder / INDEX).is_file()


def read_index(folder: Path) -> dict[str, Installed]:
    """Installed faces by id; empty if there is no index."""
    path = folder / INDEX
    try:
        stored = json.loads(path.read_text("utf-8"))
        if stored["version"] != _VERSION:
            return {}
        return {id: Installed(**fields) for id, fields in stored["faces"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{path}: is damaged: delete it and run `ivl-fonts install` again"
        ) from None


def write_index(folder: Path, index: Mapping[str, Installed]) -> None:
    """Replace the index at once."""
    faces = {id: asdict(index[id]) for id in sorted(index)}
    stored = {"version": _VERSION, "faces": faces}
    text = json.dumps(stored, ensure_ascii=False, separators=(",", ":"))
    write_atomically(folder / INDEX, text.encode())


def looks_installed(folder: Path, entry: Entry, index: Mapping[str, Installed]) -> bool:
    """Whether a face is indexed, pinned to the same content, and of the right length."""
    row = index.get(entry.id)
    if row is None or row.sha256 != entry.sha256:
        return False
    try:
        return font_path(folder, entry).stat().st_size == row.ttf_bytes
    except OSError:
        return False


def installed_faces(folder: Path, manifest: Sequence[Entry] | None = None) -> tuple[Face, ...]:
    """The installed faces in the order of their ids, whatever order they came in."""
    index = read_index(folder)
    entries = catalogue_manifest() if manifest is None else manifest
    return tuple(
        Face(
            id=entry.id,
            path=font_path(folder, entry),
            index=0,
            family=entry.family,
            style=entry.style,
            licence=entry.licence,
            caps_only=entry.caps_only,
            characters=frozenset(index[entry.id].characters),
            sha256=entry.sha256,
        )
        for entry in entries
        if looks_installed(folder, entry, index)
    )
