"""Outlines: what a font file says of itself, and its plain (uncompressed) form."""

import io
import logging
import struct
import unicodedata
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import brotli
from fontTools.ttLib import TTCollection, TTFont, TTLibError

# What fontTools raises on files that are not fonts or are damaged: it has no common class.
BROKEN = (
    TTLibError, OSError, ValueError, KeyError, IndexError, AttributeError, AssertionError,
    TypeError, EOFError, ArithmeticError, MemoryError, RecursionError, struct.error, zlib.error,
    brotli.error,
)  # fmt: skip
# Scripts that are drawn letter by letter from left to right: Latin, Greek and Cyrillic, and
# the punctuation and currency signs that go with them.
_BLOCKS = ((0x21, 0x24F), (0x370, 0x4FF), (0x1E00, 0x1EFF), (0x2010, 0x2044), (0x20A0, 0x20BF))
# fontTools reports harmless oddities of a file as warnings of its own.
logging.getLogger("fontTools").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Names:
    """What a font file says of itself."""

    name: str
    """PostScript name: the same for one face in two formats."""
    family: str
    licence: str
    fixed_width: bool
    mapped: tuple[str, ...]
    """Characters it has an entry for; the entry may still be an empty box."""


def faces_in(path: Path) -> int:
    """Number of faces in a font file."""
    with path.open("rb") as file:
        if file.read(4) != b"ttcf":
            return 1
    with TTCollection(path, lazy=True) as collection:
        return len(collection.fonts)


def read_names(path: Path, index: int) -> Names:
    """Names and mapped characters of a face. Raises one of `BROKEN` for a broken file."""
    with TTFont(path, fontNumber=index, lazy=True) as font:
        return _names(font, path.stem)


def _names(font: Any, fallback: str) -> Names:
    name = font["name"]
    cmap = font.getBestCmap() or {}
    family = name.getBestFamilyName() or fallback
    licence = (name.getDebugName(13) or "").strip() or "unknown"
    mapped = (chr(code) for code in sorted(cmap) if any(a <= code <= b for a, b in _BLOCKS))
    return Names(
        name=name.getDebugName(6) or "",
        family=" ".join(family.split()),
        licence=" ".join(licence.split())[:100],
        fixed_width=bool(font["post"].isFixedPitch),
        mapped=tuple(c for c in mapped if unicodedata.category(c)[0] in "LNPS"),
    )


def to_ttf(woff2: bytes) -> bytes:
    """The same font without compression: it opens ten times as fast, and in any library.

    Equal input gives equal output for one version of fontTools: no time stamp is renewed and
    nothing is recomputed.
    """
    with TTFont(io.BytesIO(woff2), recalcTimestamp=False, recalcBBoxes=False) as font:
        font.flavor = None
        plain = io.BytesIO()
        font.save(plain, reorderTables=False)
    return plain.getvalue()
