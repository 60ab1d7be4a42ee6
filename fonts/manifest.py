"""Manifest: the pinned list of the catalogue's faces, which comes with the package."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("manifest.json")


@dataclass(frozen=True)
class Entry:
    """One face of the catalogue, with the checksums that identify it."""

    id: str
    family: str
    package: str
    """Name of the npm package."""
    version: str
    integrity: str
    """npm's own checksum of the package."""
    file: str
    """The font inside the package."""
    sha256: str
    """Checksum of that file, which identifies the face's content."""
    bytes: int
    licence: str
    """SPDX name."""
    licence_sha256: str
    style: str
    """sans, serif, display, handwriting or mono."""
    caps_only: bool
    """Lower case looks like upper case: texts should be drawn, and labelled, in capitals."""
    tarball_bytes: int

    @property
    def spec(self) -> str:
        """The package and version, as npm spells them."""
        return f"{self.package}@{self.version}"

    @property
    def tarball(self) -> str:
        """The file name under which `npm pack` leaves it."""
        return f"{self.package.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


def read_manifest(path: Path = _FILE) -> tuple[Entry, ...]:
    """Return the entries of a manifest, sorted by id."""
    entries = [Entry(**fields) for fields in json.loads(path.read_text("utf-8"))]
    return tuple(sorted(entries, key=lambda entry: entry.id))


@cache
def catalogue_manifest() -> tuple[Entry, ...]:
    """Return the catalogue's manifest.

    >>> len(catalogue_manifest())
    1257
    """
    return read_manifest()
