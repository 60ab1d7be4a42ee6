"""Face: one font that texts can be drawn with."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Face:
    """A face that passed the screening."""

    id: str
    """Stable name: the catalogue's, or the path within the user's folder."""
    path: Path
    index: int
    """Number of the face within a collection (.ttc); 0 elsewhere."""
    family: str
    style: str
    """sans, serif, display, handwriting, mono, or unknown."""
    licence: str
    """SPDX name, or the font's own words, or unknown."""
    caps_only: bool
    """Lower case is missing or looks like upper case: draw, and label, capitals."""
    characters: frozenset[str]
    """Characters that it really draws: with ink, and not as the box for missing ones."""
    sha256: str
    """Checksum of the content; for a face of the catalogue, of the pinned original."""

    def covers(self, text: str) -> bool:
        """Tell whether every character of a text is drawn; spaces need no ink."""
        return self.characters.issuperset(text.replace(" ", ""))


def fingerprint(faces: Iterable[Face]) -> str:
    """Return a sha256 over the content of the faces in their order, for a recipe to hold.

    It does not depend on where the files are. The id is part of it because samples are
    labelled with it.
    """
    digest = hashlib.sha256()
    for face in faces:
        digest.update(f"{face.id}\n{face.index}\n{face.sha256}\n".encode())
    return digest.hexdigest()
