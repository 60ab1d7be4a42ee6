"""Typeset: characters onto a page, compiled.

The page's lengths are in pixels, y down. A face's are in em, y up.
"""

import numpy as np
from numba import njit

from ivl_shards.schema import Array

_NEWLINE = 10


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def set_page(
    codes: Array, index: Array, advance: Array, kern: Array, box: Array, ems: Array, gaps: Array,
    low: float, high: float, room: float, align: int,
) -> tuple[Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """Set a text of L lines.

    codes: code points of the text, lines parted by newlines. index: number of each character by
    code point, 0 for the space. Changed: ems (L,), where a line is wider than the room.

    Returns ids (n,), origins (n, 2) and scales (n,) of the characters, spaces included; line_boxes
    (L, 4); word_boxes (w, 4) and word_lines (w,), the line of each word.
    """
    ids, starts, owners, word_lines = _parse(codes, index, len(ems))
    pens, scales, origins = np.empty(len(ids)), np.empty(len(ids)), np.empty((len(ids), 2))
    word_boxes, line_boxes = np.empty((len(word_lines), 4)), np.empty((len(ems), 4))
    set_lines(
        ids, starts, owners, advance, kern, box, ems, pens, word_boxes, line_boxes, room
    )  # fmt: skip
    stack_lines(
        starts, word_lines, ems, gaps, low, high, align, pens, word_boxes, line_boxes, origins,
        scales,
    )  # fmt: skip
    return ids, origins, scales, line_boxes, word_boxes, word_lines


@njit(cache=True)  # type: ignore[untyped-decorator]
def _parse(codes: Array, index: Array, lines: int) -> tuple[Array, Array, Array, Array]:
    """Characters, where each line begins, the word of each character, the line of each word."""
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
def set_lines(
    ids: Array, starts: Array, owners: Array, advance: Array, kern: Array, box: Array,
    ems: Array, pens: Array, word_boxes: Array, line_boxes: Array, room: float,
) -> None:  # fmt: skip
    """Set each line at the origin, kerned, and shrink it to the room there is.

    ids (n,): characters of all lines; starts (L + 1,): the first of each line; owners (n,): the
    word of each, -1 for a space. advance (A,), kern (A, A), box (A, 4): of the face. Changed:
    ems (L,): pixels an em of each line. Written: pens (n,), word_boxes (w, 4) and line_boxes
    (L, 4) around the ink, all in em.
    """
    kerned = len(kern) > 1
    word_boxes[:, :2], word_boxes[:, 2:] = np.inf, -np.inf
    line_boxes[:, :2], line_boxes[:, 2:] = np.inf, -np.inf
    for line in range(len(starts) - 1):
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
            pen += advance[a]
        wide = line_boxes[line, 2] - line_boxes[line, 0]
        ems[line] = min(ems[line], room / wide)


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _grow(around: Array, pen: float, ink: Array) -> None:
    around[0] = min(around[0], pen + ink[0])
    around[1] = min(around[1], ink[1])
    around[2] = max(around[2], pen + ink[2])
    around[3] = max(around[3], ink[3])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def stack_lines(
    starts: Array, word_lines: Array, ems: Array, gaps: Array, low: float, high: float, align: int,
    pens: Array, word_boxes: Array, line_boxes: Array, origins: Array, scales: Array,
) -> None:  # fmt: skip
    """Put lines one below the other, aligned (0 left, 1 centre, 2 right), the ink at (0, 0).

    Changed: word_boxes and line_boxes, from em to pixels of the page. Written: origins (n, 2),
    scales (n,): where on the page and how large each character is drawn.
    """
    lines = len(ems)
    shifts = np.empty((lines, 2))
    widest = 0.0
    for k in range(lines):
        widest = max(widest, ems[k] * (line_boxes[k, 2] - line_boxes[k, 0]))
    top, left, above = 0.0, np.inf, np.inf
    for k in range(lines):
        wide = ems[k] * (line_boxes[k, 2] - line_boxes[k, 0])
        shifts[k, 0] = (widest - wide) * align / 2 - ems[k] * line_boxes[k, 0]
        shifts[k, 1] = top + ems[k] * high
        left = min(left, shifts[k, 0] + ems[k] * line_boxes[k, 0])
        above = min(above, shifts[k, 1] - ems[k] * line_boxes[k, 3])
        top += ems[k] * (high - low) + gaps[k]
    for k in range(lines):
        shifts[k, 0] -= left
        shifts[k, 1] -= above
        _to_page(line_boxes[k], ems[k], shifts[k])
        for i in range(starts[k], starts[k + 1]):
            origins[i, 0], origins[i, 1] = shifts[k, 0] + ems[k] * pens[i], shifts[k, 1]
            scales[i] = ems[k]
    for w in range(len(word_lines)):
        _to_page(word_boxes[w], ems[word_lines[w]], shifts[word_lines[w]])


@njit(cache=True, error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _to_page(box: Array, em: float, shift: Array) -> None:
    x0, y0, x1, y1 = box[0], box[1], box[2], box[3]
    box[0], box[1] = shift[0] + em * x0, shift[1] - em * y1
    box[2], box[3] = shift[0] + em * x1, shift[1] - em * y0


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def box_quads(boxes: Array, homography: Array) -> Array:
    """Corners (n, 4, 2) of boxes (n, 4) through a homography: upper left, then clockwise."""
    h = homography
    quads = np.empty((len(boxes), 4, 2), np.float32)
    for k in range(len(boxes)):
        for c in range(4):
            x = boxes[k, 0] if c in (0, 3) else boxes[k, 2]
            y = boxes[k, 1] if c < 2 else boxes[k, 3]
            w = h[2, 0] * x + h[2, 1] * y + h[2, 2]
            quads[k, c, 0] = (h[0, 0] * x + h[0, 1] * y + h[0, 2]) / w
            quads[k, c, 1] = (h[1, 0] * x + h[1, 1] * y + h[1, 2]) / w
    return quads
