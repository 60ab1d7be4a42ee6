"""Sources: where faces come from: the catalogue, a folder, or installed Python packages."""

import logging
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fonts.catalogue import installed_faces, is_catalogue
from fonts.face import Face
from fonts.manifest import catalogue_manifest
from fonts.places import catalogue_folder
from fonts.screening import Screening, screen
from ivl_shards.errors import UserError

log = logging.getLogger(__name__)

MOST_NAMED = 20
"""Fonts that are named one by one; beyond, they are only counted."""

# Packages, and where in them the fonts are. Of matplotlib's those of TeX (cm*) are left out:
# they claim to follow Unicode, but outside of A–Z and a–z draw other characters than asked for.
_PACKAGES = {
    "font_amatic_sc": "files/*",
    "font_caladea": "files/*",
    "font_fredoka_one": "files/*",
    "font_hanken_grotesk": "files/*",
    "font_intuitive": "files/*",
    "font_manrope": "files/*",
    "font_roboto": "files/*",
    "font_source_serif_pro": "files/*",
    "matplotlib": "mpl-data/fonts/ttf/[DS]*",  # DejaVu and STIX
}


def load(source: Path | str | None = None) -> tuple[Face, ...]:
    """Return the faces of a source, sorted by id.

    Parameters
    ----------
    source
        A folder: that of a catalogue, or any folder of fonts, which is screened; fonts that
        cannot be used are named in a warning each, the first of them. None: `default_faces()`.
    """
    if source is None:
        return default_faces()
    folder = Path(source)
    if is_catalogue(folder):
        return _catalogue(folder)
    screening = screen(folder)
    rejected = screening.rejected
    for verdict in rejected[:MOST_NAMED]:
        log.warning("%s: skipped: %s", folder / verdict.id, verdict.reason)
    if len(rejected) > MOST_NAMED:
        log.warning("%s: and %s more like these", folder, f"{len(rejected) - MOST_NAMED:,}")
    return usable(screening)


def usable(screening: Screening) -> tuple[Face, ...]:
    """Return the faces of a screening; an error if there are none."""
    if not screening.faces:
        count = len(screening.verdicts)
        why = f"none of its {count} fonts can be used" if count else "has no fonts"
        first = f"; {screening.verdicts[0].id}: {screening.verdicts[0].reason}" if count else ""
        raise UserError(f"{screening.folder}: {why}{first}")
    return screening.faces


@cache
def default_faces() -> tuple[Face, ...]:
    """Return the installed catalogue; without it, faces that come with Python packages.

    The log says once which of the two is missing.
    """
    folder = catalogue_folder()
    if is_catalogue(folder):
        return _catalogue(folder)
    faces = packaged_faces()
    log.warning(
        "the font catalogue is not installed: texts are drawn with %d faces that come with Python "
        "packages; `ivl-fonts install` brings %s",
        len(faces),
        f"{len(catalogue_manifest()):,}",
    )
    return faces


def packaged_faces() -> tuple[Face, ...]:
    """Return the faces of installed Python packages."""
    faces: list[Face] = []
    for package, pattern in _PACKAGES.items():
        spec = find_spec(package)
        for root in (spec.submodule_search_locations or []) if spec else []:
            faces += (_within(package, face) for face in screen(root, pattern).faces)
    if not faces:
        raise UserError("no fonts are installed: run `ivl-fonts install`, or give a folder")
    return tuple(sorted(faces, key=lambda face: face.id))


def _within(package: str, face: Face) -> Face:
    return replace(face, id=f"{package}/{face.path.name}")


def _catalogue(folder: Path) -> tuple[Face, ...]:
    faces = installed_faces(folder)
    total = len(catalogue_manifest())
    if not faces:
        raise UserError(f"{folder}: the catalogue is empty: run `ivl-fonts install` again")
    if len(faces) < total:
        log.warning(
            "%s: the catalogue has %s of %s faces: run `ivl-fonts install` to complete it",
            folder,
            f"{len(faces):,}",
            f"{total:,}",
        )
    return faces
