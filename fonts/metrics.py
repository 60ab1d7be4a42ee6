"""Metrics: which characters of a font have outlines and widths that a page can be set with.

The layout divides by the units of an em and by the heights and widths of letters, and FreeType
draws as large as outlines say. So what is absurd is sorted out here, before either sees it.
"""

from collections.abc import Iterable
from pathlib import Path

import uharfbuzz as hb

from fonts.outlines import is_compressed, read_font, to_ttf

# Of an em, by the OpenType specification.
_UNITS = range(16, 16385)
# The catalogue's 1,257 faces keep within 2.1 em, and their letters are at least 0.016 em wide and
# 0.16 em high, and advance by 0.08 em.
_FARTHEST = 4.0
_LEAST_WIDTH, _LEAST_HEIGHT, _LEAST_ADVANCE = 0.004, 0.04, 0.02
# Points of a glyph, and of all glyphs of a face: rough faces have up to 30,000 a glyph.
_MOST_POINTS, _MOST_IN_ALL = 100_000, 4_000_000


def open_font(path: Path, index: int) -> hb.Font:
    """Open a face in HarfBuzz, which reads no compressed fonts. May raise one of `BROKEN`."""
    content = read_font(path)
    plain = to_ttf(content) if is_compressed(content) else content
    return hb.Font(hb.Face(hb.Blob(plain), index))


def check_units(font: hb.Font) -> None:
    """Raise ValueError unless the units of an em are such that lengths can be measured in them."""
    # HarfBuzz itself puts 1,000 in place of what is out of range; the table tells.
    head = font.face.reference_table("head").data
    units = int.from_bytes(head[18:20], "big")
    if units not in _UNITS:
        raise ValueError(f"has {units} units per em instead of {_UNITS[0]} to {_UNITS[-1]}")


def measure(font: hb.Font, characters: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the characters that a page can be set with, and those whose measures are absurd.

    A character without ink is in neither. Raises ValueError if the outlines have more points than
    any real font.
    """
    ruler, points = _Ruler(), 0
    fit: set[str] = set()
    absurd: set[str] = set()
    for character in characters:
        glyph = font.get_nominal_glyph(ord(character))
        box = ruler.measure(font, glyph) if glyph else None
        if box is None:
            continue
        points += ruler.points
        if points > _MOST_IN_ALL:
            raise ValueError(f"its outlines have more than {_MOST_IN_ALL:,} points")
        advance = font.get_glyph_h_advance(glyph)
        good = ruler.points <= _MOST_POINTS and _is_sound(character, box, advance, font.face.upem)
        (fit if good else absurd).add(character)
    return frozenset(fit), frozenset(absurd)


Box = tuple[float, float, float, float]


def _is_sound(character: str, box: Box, advance: float, em: float) -> bool:
    x0, y0, x1, y1 = box
    near = -_FARTHEST * em <= min(x0, y0) and max(x1, y1, advance) <= _FARTHEST * em
    if not character.isalnum():  # a dash is flat, and an accent has no width
        return near and x0 < x1 and y0 < y1 and advance >= 0
    return (
        near
        and x1 - x0 >= _LEAST_WIDTH * em
        and y1 - y0 >= _LEAST_HEIGHT * em
        and advance >= _LEAST_ADVANCE * em
    )


class _Ruler:
    """Measures outlines point by point: the boxes that font files hold need not be right."""

    def __init__(self) -> None:
        self.points = 0
        self._box: Box = (0.0, 0.0, 0.0, 0.0)
        self._functions = hb.DrawFuncs()
        self._functions.set_move_to_func(self._grow)
        self._functions.set_line_to_func(self._grow)
        self._functions.set_quadratic_to_func(self._grow)
        self._functions.set_cubic_to_func(self._grow)

    def measure(self, font: hb.Font, glyph: int) -> Box | None:
        """Return the box around the points of a glyph, in units; None if it has none."""
        self.points = 0
        self._box = (float("inf"), float("inf"), float("-inf"), float("-inf"))
        font.draw_glyph(glyph, self._functions, None)
        return self._box if self.points else None

    def _grow(self, *numbers: object) -> None:
        """Take in points x, y, …; the last argument is not one of them."""
        x0, y0, x1, y1 = self._box
        xs, ys = numbers[:-1:2], numbers[1:-1:2]
        self._box = min(x0, *xs), min(y0, *ys), max(x1, *xs), max(y1, *ys)  # type: ignore
        self.points += len(xs)
