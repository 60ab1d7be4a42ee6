"""Catalogue: the folder that `ivl-fonts install` fills, and its index."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fonts.face import Face
from fonts.manifest import Entry, catalogue_manifest
from fonts.places import write_atomically
from ivl_shards.errors import Damage, UserError

INDEX = "catalogue.json"
_VERSION = 1
# Of the index; that of the whole catalogue has 1 MB.
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class Installed:
    """The entry of one installed face in the index."""

    sha256: str
    """Checksum of the pinned original."""
    ttf_sha256: str
    """Checksum of the file in the folder, which is the original without compression."""
    ttf_bytes: int
    characters: str
    """Characters that the face really draws."""


def font_path(folder: Path, entry: Entry) -> Path:
    """Return the path of an entry's font."""
    return folder / f"{entry.id}.ttf"


def licence_path(folder: Path, entry: Entry) -> Path:
    """Return the path of an entry's licence text."""
    return folder / f"{entry.id}.LICENSE.txt"


def is_catalogue(folder: Path) -> bool:
    """Tell whether `ivl-fonts install` has put anything there."""
    return (folder / INDEX).is_file()


def read_index(folder: Path) -> dict[str, Installed]:
    """Return the installed faces by id; empty if there is no index."""
    path = folder / INDEX
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return _parse_index(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Damage(f"{path}: is damaged: run `ivl-fonts install` to put it right") from None


def _parse_index(content: bytes) -> dict[str, Installed]:
    if len(content) > _MOST_BYTES:
        raise ValueError("longer than any index")
    stored = json.loads(content)
    if stored["version"] != _VERSION:
        return {}
    # Indexes of earlier versions have no checksum; what has anything else has been tampered with.
    if stored.keys() - {"version", "faces"} not in (set(), {"sha256"}):
        raise ValueError("unknown fields")
    if "sha256" in stored and stored["sha256"] != _checksum(stored["faces"]):
        raise ValueError("wrong checksum")
    faces = {id: Installed(**fields) for id, fields in stored["faces"].items()}
    for face in faces.values():
        if not (isinstance(face.ttf_sha256, str) and isinstance(face.characters, str)):
            raise TypeError("not text")
    return faces


def write_index(folder: Path, index: Mapping[str, Installed]) -> None:
    """Replace the index at once."""
    faces = {id: asdict(index[id]) for id in sorted(index)}
    stored = {"version": _VERSION, "faces": faces, "sha256": _checksum(faces)}
    write_atomically(folder / INDEX, _to_json(stored))


def _checksum(faces: Any) -> str:
    return hashlib.sha256(_to_json(faces)).hexdigest()


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def is_installed(folder: Path, entry: Entry, index: Mapping[str, Installed]) -> bool:
    """Tell whether a face is indexed, pinned to the same content, and there to the last bit."""
    row = index.get(entry.id)
    if row is None or row.sha256 != entry.sha256:
        return False
    return sha256_of(font_path(folder, entry), row.ttf_bytes) == row.ttf_sha256


def sha256_of(path: Path, length: int) -> str:
    """Return the checksum of a file that has a known length; empty if it has another."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != length:
                return ""
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def installed_faces(folder: Path, manifest: Sequence[Entry] | None = None) -> tuple[Face, ...]:
    """Return the installed faces in the order of their ids, whatever order they came in.

    Every file is read to compare its checksum, 0.2 s for the whole catalogue: a face that has been
    damaged since is left out, so that no text is drawn with it.
    """
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
        if is_installed(folder, entry, index)
    )
