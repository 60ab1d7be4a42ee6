"""Typeface: the outlines, widths and kerning of faces as plain arrays.

Taken from the fonts once, with HarfBuzz, and kept in the user's cache; workers share it through
a memory map, so a thousand fonts cost no more than 20 when a sample is drawn.
"""

import hashlib
import io
import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, fields

import cv2
import numpy as np
import uharfbuzz as hb

from fonts import Face, fingerprint
from fonts.metrics import open_font
from fonts.outlines import BROKEN
from fonts.places import SEAL_BYTES, recall_mapped, remember
from ivl_shards.errors import UserError
from ivl_shards.format.schema import Array

_VERSION = 4
# Polygons keep this close, in pixels, to the outlines of the largest text. Finer shows nowhere,
# and rough faces have thousands of points a glyph.
_TOLERANCE = 0.25
# The part of that for laying points on curves. The rest is for taking away those that are not
# needed: from many points a better few are chosen.
_LAYING = 1 / 8
# Ligatures and contextual forms are off: one character, one glyph, one quad. Kerning is on.
_FEATURES = {"kern": True, "liga": False, "clig": False, "calt": False, "dlig": False}
# Beyond, a table of all pairs would be too large; texts are then set without kerning.
_MOST_KERNED = 256
_MOST_KERN = 1.0
# In em; the second is for fonts whose space is missing or wider than that.
_WIDEST_SPACE, _SPACE = 4.0, 0.25


@dataclass(frozen=True)
class Typefaces:
    """F faces, each with the same A characters. Lengths are in em, y up."""

    points: Array
    """(P, 2) float32: outlines as polygons."""
    contours: Array
    """(C + 1,) int32: where each contour begins."""
    glyphs: Array
    """(F·A + 1,) int32: the first contour of each glyph; face by face."""
    advance: Array
    """(F, A) float32."""
    kern: Array
    """(F, A, A) float32: added between two characters; (F, 1, 1) where there is none."""
    box: Array
    """(F, A, 4) float32: ink (x0, y0, x1, y1); empty for a space."""
    line: Array
    """(F, 2) float32: how far lines reach below and above the baseline, swashes aside."""

    def __len__(self) -> int:
        return len(self.advance)


def load_typefaces(faces: Sequence[Face], characters: str, largest: float) -> Typefaces:
    """Return the arrays of some faces for some characters, from the cache if possible.

    `largest`: pixels an em of the largest text that they are good for.
    """
    # In steps of half an octave, so that images of nearly the same size share the cache.
    tolerance = 2.0 ** (math.floor(2 * math.log2(_TOLERANCE / largest)) / 2)
    key = f"{_VERSION}\n{fingerprint(faces)}\n{characters}\n{hb.__version__}\n{tolerance}"
    name = f"typefaces-{hashlib.sha256(key.encode()).hexdigest()[:24]}.arrays"
    stored = recall_mapped(name)
    if stored is None:  # or damaged: then it is replaced
        made = make_typefaces(faces, characters, tolerance)
        remember(name, _packed(made))
        stored = recall_mapped(name)
        if stored is None:  # there is no room for a cache
            return made
    return _unpacked(stored)


def _packed(made: Typefaces) -> bytes:
    """Return all arrays as npy files one after the other, each aligned like the first."""
    file = io.BytesIO()
    for f in fields(Typefaces):
        np.save(file, getattr(made, f.name), allow_pickle=False)
        file.write(bytes(-file.tell() % SEAL_BYTES))
    return file.getvalue()


def _unpacked(stored: mmap.mmap) -> Typefaces:
    """Return the arrays of a file in the cache, without copying them."""
    stored.seek(SEAL_BYTES)
    arrays = {}
    for f in fields(Typefaces):
        np.lib.format.read_magic(stored)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stored)
        start, count = stored.tell(), math.prod(shape)
        arrays[f.name] = np.frombuffer(stored, dtype, count, start).reshape(shape)
        stop = start + count * dtype.itemsize
        stored.seek(stop + -stop % SEAL_BYTES)
    return Typefaces(**arrays)


def make_typefaces(faces: Sequence[Face], characters: str, tolerance: float) -> Typefaces:
    """Take the arrays from the fonts, outlines to a tolerance in em."""
    pen = _Pen(tolerance)
    kerned = len(characters) <= _MOST_KERNED
    count = len(characters)
    glyphs = [0]
    advance = np.zeros((len(faces), count), np.float32)
    kern = np.zeros((len(faces), count, count) if kerned else (len(faces), 1, 1), np.float32)
    box = np.zeros((len(faces), count, 4), np.float32)
    for f, face in enumerate(faces):
        font = _open(face)
        em = font.face.upem
        for a, character in enumerate(characters):
            glyph = font.get_nominal_glyph(ord(character)) or 0
            if glyph or character != " ":  # else a space would be drawn as the box for the missing
                box[f, a] = pen.draw(font, glyph, em)
            glyphs.append(len(pen.contours) - 1)
            advance[f, a] = font.get_glyph_h_advance(glyph) / em
        if not 0 < advance[f, 0] <= _WIDEST_SPACE:
            advance[f, 0] = _SPACE
        if kerned:
            kern[f] = _kerning(font, characters, advance[f], em)
    return Typefaces(
        points=np.array(pen.points, np.float32).reshape(-1, 2),
        contours=np.array(pen.contours, np.int32),
        glyphs=np.array(glyphs, np.int32),
        advance=advance,
        kern=kern,
        box=box,
        line=_line_extents(box, characters),
    )


def _open(face: Face) -> hb.Font:
    try:
        return open_font(face.path, face.index)
    except BROKEN as error:  # it was good when it was screened
        raise UserError(f"{face.path}: does not open any more: {error}; run again") from None


def _line_extents(box: Array, characters: str) -> Array:
    """Return depth and height of a line: of most letters, so that one swash does not count."""
    letters = np.array([c.isalnum() for c in characters])
    low, high = box[:, letters, 1], box[:, letters, 3]
    return np.stack(
        [np.percentile(low, 4, axis=1), np.percentile(high, 96, axis=1)], axis=1
    ).astype(np.float32)


def _kerning(font: hb.Font, characters: str, advance: Array, em: int) -> Array:
    """Return what HarfBuzz adds between each two characters."""
    text = _all_pairs(len(characters))
    buffer = hb.Buffer()
    buffer.add_codepoints([ord(characters[a]) for a in text])
    buffer.guess_segment_properties()
    buffer.cluster_level = hb.BufferClusterLevel.CHARACTERS
    hb.shape(font, buffer, _FEATURES)
    added = np.zeros((len(characters), len(characters)), np.float32)
    positions = buffer.glyph_positions
    if len(positions) != len(text):  # a font that composes glyphs all the same
        return added
    for (a, b), position in zip(zip(text, text[1:], strict=False), positions, strict=False):
        added[a, b] = position.x_advance / em - advance[a]
    # Widths are rounded differently in shaping and in the tables of some fonts.
    added[np.abs(added) < 1e-3] = 0
    # No real font moves letters by an em (the catalogue's by 0.63 at most): a damaged table.
    added[np.abs(added) > _MOST_KERN] = 0
    return added


def _all_pairs(count: int) -> list[int]:
    """Return the shortest sequence in which any two numbers below `count` are neighbours.

    >>> _all_pairs(3)
    [0, 0, 1, 0, 2, 1, 1, 2, 2, 0]
    """
    sequence: list[int] = []
    for a in range(count):
        sequence.append(a)
        for b in range(a + 1, count):
            sequence += [a, b]
    return [*sequence, 0]


class _Pen:
    """Collects outlines as polygons."""

    def __init__(self, tolerance: float) -> None:
        self._laying = tolerance * _LAYING
        self._thinning = tolerance - self._laying
        self.points: list[tuple[float, float]] = []
        self.contours: list[int] = [0]
        self._em = 1.0
        self._functions = hb.DrawFuncs()
        self._functions.set_move_to_func(self._move)
        self._functions.set_line_to_func(self._line)
        self._functions.set_quadratic_to_func(self._quadratic)
        self._functions.set_cubic_to_func(self._cubic)
        self._functions.set_close_path_func(self._close)

    def draw(self, font: hb.Font, glyph: int, em: int) -> tuple[float, float, float, float]:
        """Add a glyph; the box around it."""
        self._em = em
        first = len(self.points)
        font.draw_glyph(glyph, self._functions, None)
        self._close(None)
        if len(self.points) == first:
            return 0.0, 0.0, 0.0, 0.0
        corners = np.array(self.points[first:])
        (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
        return float(x0), float(y0), float(x1), float(y1)

    def _move(self, x: float, y: float, _: object) -> None:
        self._close(None)
        self.points.append((x / self._em, y / self._em))

    def _line(self, x: float, y: float, _: object) -> None:
        self.points.append((x / self._em, y / self._em))

    def _quadratic(self, cx: float, cy: float, x: float, y: float, _: object) -> None:
        x0, y0 = self.points[-1]
        # As a cubic, so that there is one way to lay points.
        cx, cy = cx / self._em, cy / self._em
        x, y = x / self._em, y / self._em
        ax, ay = x0 + (cx - x0) * 2 / 3, y0 + (cy - y0) * 2 / 3
        self._bend(ax, ay, x + (cx - x) * 2 / 3, y + (cy - y) * 2 / 3, x, y)

    def _cubic(
        self, ax: float, ay: float, bx: float, by: float, x: float, y: float, _: object
    ) -> None:
        em = self._em
        self._bend(ax / em, ay / em, bx / em, by / em, x / em, y / em)

    def _bend(self, ax: float, ay: float, bx: float, by: float, x: float, y: float) -> None:
        """Add points on a cubic curve, as many as its bend needs (Wang's bound)."""
        x0, y0 = self.points[-1]
        bend = max(
            abs(x0 - 2 * ax + bx), abs(y0 - 2 * ay + by), abs(ax - 2 * bx + x), abs(ay - 2 * by + y)
        )
        pieces = max(1, min(32, int(math.sqrt(0.75 * bend / self._laying)) + 1))
        for k in range(1, pieces):
            t = k / pieces
            s = 1 - t
            p, q, r, u = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
            self.points.append((p * x0 + q * ax + r * bx + u * x, p * y0 + q * ay + r * by + u * y))
        self.points.append((x, y))

    def _close(self, _: object) -> None:
        start = self.contours[-1]
        if len(self.points) > start:
            polygon = np.array(self.points[start:], np.float32).reshape(-1, 1, 2)
            thinned = cv2.approxPolyDP(polygon, self._thinning, closed=True).reshape(-1, 2)
            self.points[start:] = [(x, y) for x, y in thinned.tolist()]
            self.contours.append(len(self.points))
