"""Typeset: characters onto a page, compiled.

The page's lengths are in pixels, y down. A face's are in em, y up.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ivl_shards.format.schema import Array
from textblocks_gen.typesetting.raster import Place, rise

_NEWLINE = 10
# A line that is too wide is set narrower, down to this much of its width; then it is set smaller.
_SQUEEZE = 0.65
# Pieces of each long side of a polygon around a bent line.
_POINTS = 6
POLYGON = 2 * (_POINTS + 1)


class Metrics(NamedTuple):
    """What setting needs to know of F faces with A characters each; lengths in em."""

    numbers: Array
    """Number of each character by code point, 0 for the space."""
    advance: Array
    """(F, A)"""
    kern: Array
    """(F, A, A), or (F, 1, 1) where there is none."""
    box: Array
    """(F, A, 4)"""
    line: Array
    """(F, 2): how far lines reach below and above the baseline."""


class Setting(NamedTuple):
    """How L lines are set."""

    faces: Array
    """(L,): number of the face."""
    ems: Array
    """(L,): pixels an em; lowered where a line does not fit the room even when set narrower."""
    gaps: Array
    """(L,): pixels below each line."""
    room: float
    """Greatest width of a line in pixels."""
    align: int
    """0 left, 1 centre, 2 right."""
    spacing: float
    """Added between two letters, in em."""


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def set_page(
    codes: Array, metrics: Metrics, setting: Setting
) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """Set a text of L lines.

    codes: code points of the text, lines parted by newlines.

    Returns heights (L,), tails to tops; line_boxes (L, 4); word_boxes (w, 4) and word_lines (w,),
    the line of each word; glyphs (n,), the number of each character's outline; origins (n, 2) and
    scales (n, 2) of the characters, spaces included.
    """
    lines = len(setting.ems)
    ids, starts, owners, word_lines = _parse(codes, metrics.numbers, lines)
    pens, scales, origins = np.empty(len(ids)), np.empty((len(ids), 2)), np.empty((len(ids), 2))
    glyphs = np.empty(len(ids), np.int64)
    word_boxes, line_boxes = np.empty((len(word_lines), 4)), np.empty((lines, 4))
    wides = _set_lines(ids, starts, owners, metrics, setting, (pens, word_boxes, line_boxes))
    shifts = _stack_lines(metrics, setting, wides, line_boxes)
    count = metrics.advance.shape[1]
    heights = np.empty(lines)
    for k in range(lines):
        low, high = metrics.line[setting.faces[k]]
        heights[k] = setting.ems[k] * (high - low)
        _to_page(line_boxes[k], wides[k], setting.ems[k], shifts[k])
        for i in range(starts[k], starts[k + 1]):
            glyphs[i] = setting.faces[k] * count + ids[i]
            origins[i, 0], origins[i, 1] = shifts[k, 0] + wides[k] * pens[i], shifts[k, 1]
            scales[i, 0], scales[i, 1] = wides[k], setting.ems[k]
    for w in range(len(word_lines)):
        k = word_lines[w]
        _to_page(word_boxes[w], wides[k], setting.ems[k], shifts[k])
    return heights, line_boxes, word_boxes, word_lines, glyphs, origins, scales


@njit(cache=True)  # type: ignore[untyped-decorator]
def _parse(codes: Array, index: Array, lines: int) -> tuple[Array, Array, Array, Array]:
    """Return characters, where lines begin, the word of each character, the line of each word."""
    ids, owners = np.empty(len(codes), np.int32), np.empty(len(codes), np.int64)
    starts, word_lines = np.zeros(lines + 1, np.int64), np.empty(len(codes), np.uint8)
    n, line, word = 0, 0, 0
    word_lines[0] = 0
    for code in codes:
        newline = code == _NEWLINE
        if newline or index[code] == 0:
            word += 1
            line += newline
            word_lines[word] = line
        if newline:
            starts[line] = n
            continue
        ids[n] = index[code]
        # A space belongs to no word.
        owners[n] = word if ids[n] else -1
        n += 1
    starts[lines] = n
    return ids[:n], starts, owners[:n], word_lines[: word + 1]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _set_lines(
    ids: Array,
    starts: Array,
    owners: Array,
    metrics: Metrics,
    setting: Setting,
    out: tuple[Array, Array, Array],
) -> Array:
    """Set each line at the origin, kerned; return the horizontal pixels an em of each.

    ids (n,): characters of all lines; starts (L + 1,): the first of each line; owners (n,): the
    word of each, -1 for a space. Written, all in em: pens (n,), and word_boxes (w, 4) and
    line_boxes (L, 4) around the ink. Lowered: the ems of lines that do not fit.
    """
    pens, word_boxes, line_boxes = out
    wides = np.empty(len(setting.ems))
    word_boxes[:, :2], word_boxes[:, 2:] = np.inf, -np.inf
    line_boxes[:, :2], line_boxes[:, 2:] = np.inf, -np.inf
    for line in range(len(starts) - 1):
        face = setting.faces[line]
        advance, kern, box = metrics.advance[face], metrics.kern[face], metrics.box[face]
        kerned = len(kern) > 1
        pen = 0.0
        for i in range(starts[line], starts[line + 1]):
            a = ids[i]
            if kerned and i > starts[line]:
                pen += kern[ids[i - 1], a]
            pens[i] = pen
            w = owners[i]
            if w >= 0:
                _grow(word_boxes[w], pen, box[a])
                _grow(line_boxes[line], pen, box[a])
            pen += advance[a] + setting.spacing
        em = setting.ems[line]
        fit = setting.room / (em * (line_boxes[line, 2] - line_boxes[line, 0]))
        if fit < _SQUEEZE:
            em *= fit / _SQUEEZE
            setting.ems[line] = em
        wides[line] = em * min(1.0, max(fit, _SQUEEZE))
    return wides


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _grow(around: Array, pen: float, ink: Array) -> None:
    around[0] = min(around[0], pen + ink[0])
    around[1] = min(around[1], ink[1])
    around[2] = max(around[2], pen + ink[2])
    around[3] = max(around[3], ink[3])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _stack_lines(metrics: Metrics, setting: Setting, wides: Array, line_boxes: Array) -> Array:
    """Put lines one below the other, aligned; return the origin of each, (L, 2).

    The ink of all lines begins at (0, 0). line_boxes (L, 4): ink of each line in em.
    """
    lines = len(wides)
    shifts = np.empty((lines, 2))
    widest = 0.0
    for k in range(lines):
        widest = max(widest, wides[k] * (line_boxes[k, 2] - line_boxes[k, 0]))
    top, left, above = 0.0, np.inf, np.inf
    for k in range(lines):
        em = setting.ems[k]
        low, high = metrics.line[setting.faces[k]]
        wide = wides[k] * (line_boxes[k, 2] - line_boxes[k, 0])
        shifts[k, 0] = (widest - wide) * setting.align / 2 - wides[k] * line_boxes[k, 0]
        shifts[k, 1] = top + em * high
        left = min(left, shifts[k, 0] + wides[k] * line_boxes[k, 0])
        above = min(above, shifts[k, 1] - em * line_boxes[k, 3])
        top += em * (high - low) + setting.gaps[k]
    for k in range(lines):
        shifts[k, 0] -= left
        shifts[k, 1] -= above
    return shifts


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _to_page(box: Array, wide: float, em: float, shift: Array) -> None:
    x0, y0, x1, y1 = box[0], box[1], box[2], box[3]
    box[0], box[1] = shift[0] + wide * x0, shift[1] - em * y1
    box[2], box[3] = shift[0] + wide * x1, shift[1] - em * y0


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _put(h: Array, x: float, y: float, out: Array) -> None:
    w = h[2, 0] * x + h[2, 1] * y + h[2, 2]
    out[0] = (h[0, 0] * x + h[0, 1] * y + h[0, 2]) / w
    out[1] = (h[1, 0] * x + h[1, 1] * y + h[1, 2]) / w


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def box_quads(boxes: Array, place: Place) -> Array:
    """Return corners (n, 4, 2) of boxes (n, 4) in the image: upper left, then clockwise.

    On a bent page, the upper and the lower side follow the bend from corner to corner, and keep
    the distance that what bulges between them needs.
    """
    h, bend = place
    quads = np.empty((len(boxes), 4, 2), np.float32)
    for k in range(len(boxes)):
        x0, y0, x1, y1 = boxes[k]
        left, right, above, below = 0.0, 0.0, 0.0, 0.0
        if bend[0] != 0.0:
            left, right = rise(bend, x0), rise(bend, x1)
            for i in range(1, _POINTS):
                t = i / _POINTS
                off = rise(bend, x0 + t * (x1 - x0)) - left - t * (right - left)
                above, below = min(above, off), max(below, off)
        _put(h, x0, y0 + left + above, quads[k, 0])
        _put(h, x1, y0 + right + above, quads[k, 1])
        _put(h, x1, y1 + right + below, quads[k, 2])
        _put(h, x0, y1 + left + below, quads[k, 3])
    return quads


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def box_polygons(boxes: Array, place: Place) -> Array:
    """Return outlines (n, 14, 2) of bent boxes (n, 4): along the top, back along the foot.

    A side of straight pieces cuts the corner of what bulges; it is moved out by what is cut.
    """
    h, bend = place
    polygons = np.empty((len(boxes), 2 * (_POINTS + 1), 2), np.float32)
    for k in range(len(boxes)):
        x0, y0, x1, y1 = boxes[k]
        above, below = 0.0, 0.0
        for i in range(_POINTS):
            a, b = x0 + i / _POINTS * (x1 - x0), x0 + (i + 1) / _POINTS * (x1 - x0)
            off = rise(bend, (a + b) / 2) - (rise(bend, a) + rise(bend, b)) / 2
            above, below = min(above, off), max(below, off)
        for i in range(_POINTS + 1):
            x = x0 + i / _POINTS * (x1 - x0)
            down = rise(bend, x)
            _put(h, x, y0 + down + above, polygons[k, i])
            _put(h, x, y1 + down + below, polygons[k, 2 * _POINTS + 1 - i])
    return polygons
