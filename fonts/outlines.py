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
    TTLibError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    AttributeError,
    AssertionError,
    TypeError,
    EOFError,
    ArithmeticError,
    MemoryError,
    RecursionError,
    struct.error,
    zlib.error,
    brotli.error,
)
# Scripts that are drawn letter by letter from left to right: Latin, Greek and Cyrillic, and
# the punctuation and currency signs that go with them.
_BLOCKS = ((0x21, 0x24F), (0x370, 0x4FF), (0x1E00, 0x1EFF), (0x2010, 0x2044), (0x20A0, 0x20BF))
# Of a file, and of what it unpacks to. The largest collections (of Chinese) have some 120 MB.
MOST_BYTES = 128 << 20
MOST_FACES = 64
# fontTools reports harmless oddities of a file as warnings of its own.
logging.getLogger("fontTools").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Names:
    """The names and characters in a font file."""

    name: str
    """PostScript name: the same for one face in two formats."""
    family: str
    licence: str
    fixed_width: bool
    mapped: tuple[str, ...]
    """Characters it has an entry for; the entry may still be an empty box."""


def read_font(path: Path) -> bytes:
    """Read a font file; ValueError if it is, or unpacks to, more than any real one."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES or _unpacked_bytes(content) > MOST_BYTES:
        raise ValueError(f"has more than {MOST_BYTES >> 20} MB")
    return content


def is_compressed(content: bytes) -> bool:
    """Tell whether a font file is of the formats WOFF or WOFF2."""
    return content[:4] in (b"wOFF", b"wOF2")


def _unpacked_bytes(content: bytes) -> int:
    """Return the bytes that the tables of a compressed font take, whatever its head says.

    Stops soon after `MOST_BYTES`: a few bytes may unpack to gigabytes.
    """
    if content[:4] == b"wOF2":
        start, (packed,) = woff2_start(content), struct.unpack_from(">L", content, 20)
        return _brotli_bytes(content[start : start + packed])
    if content[:4] != b"wOFF":
        return 0
    total = 0
    (tables,) = struct.unpack_from(">H", content, 12)
    for number in range(tables):
        start, packed, unpacked = struct.unpack_from(">LLL", content, 44 + 20 * number + 4)
        if packed < unpacked and total <= MOST_BYTES:
            table = zlib.decompressobj().decompress(content[start : start + packed], MOST_BYTES + 1)
            total += len(table)
    return total


def woff2_start(content: bytes) -> int:
    """Return where the compressed stream of a WOFF2 file begins: behind its list of tables."""
    (tables,) = struct.unpack_from(">H", content, 12)
    place = 48
    for _ in range(tables):
        flags = content[place]
        known, transform = flags & 0x3F, flags >> 6
        place += 1 + 4 * (known == 0x3F)  # a tag that has no number is spelled out
        # The glyf and loca tables, 10 and 11, are transformed unless they say 3; others if they do.
        transformed = transform != 3 if known in (10, 11) else transform != 0
        for _ in range(1 + transformed):
            while content[place] & 0x80:  # lengths of seven bits a byte
                place += 1
            place += 1
    return place


def _brotli_bytes(packed: bytes) -> int:
    unpacker, total, piece = brotli.Decompressor(), 0, packed
    while not unpacker.is_finished() and total <= MOST_BYTES:
        got = unpacker.process(piece, output_buffer_limit=1 << 20)
        if not got and unpacker.can_accept_more_data():
            break  # cut short: whoever unpacks it in earnest will say so
        total, piece = total + len(got), b""
    return total


def faces_in(path: Path) -> int:
    """Return the number of faces in a font file. Raises one of `BROKEN` for a broken file."""
    with path.open("rb") as file:
        if file.read(4) != b"ttcf":
            return 1
        (count,) = struct.unpack(">4xL", file.read(8))
    if not 1 <= count <= MOST_FACES:  # before any is opened: a broken file may say millions
        raise ValueError(f"is a collection of {count:,} faces instead of 1 to {MOST_FACES}")
    with TTCollection(path, lazy=True) as collection:
        return len(collection.fonts)


def read_names(path: Path, index: int) -> Names:
    """Return names and mapped characters of a face; raise one of `BROKEN` for a broken file."""
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
    """Return the font without compression: it opens ten times as fast, and in any library.

    Equal input gives equal output for one version of fontTools: no time stamp is renewed and
    nothing is recomputed.
    """
    with TTFont(io.BytesIO(woff2), recalcTimestamp=False, recalcBBoxes=False) as font:
        font.flavor = None
        plain = io.BytesIO()
        font.save(plain, reorderTables=False)
    return plain.getvalue()
