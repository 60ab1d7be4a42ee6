"""Association: assign the words of a scene to its blocks, and group words into lines."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icdar_blocks import PUBLISHED, Word, words_to_lines
from icdar_blocks.words import Box
from ivl_shards import Sample
from ivl_shards.format.schema import Array

# Fraction of a word's area that must lie in a line of a block. It is low because the boxes of
# detectors are larger than those of the ground truth.
_MIN_OVERLAP = 0.4


@dataclass(frozen=True)
class Piece:
    """A detection of an OCR engine: a line of text, or a part of one."""

    quad: Array
    """(4, 2) corners in pixels, clockwise from the start of the text."""
    words: list[Word]

    @property
    def text(self) -> str:
        """The words, separated by spaces."""
        return " ".join(word.text for word in self.words)


def associate(words: Sequence[Word], blocks: Sequence[Sequence[Box]]) -> list[list[Word]]:
    """Return the words of each block, given the boxes of its lines.

    A word is assigned to the block that contains the largest part of it, or to none.

    >>> left, right = [(0, 0, 50, 10)], [(60, 0, 90, 10)]
    >>> words = [Word(2, 1, 40, 9, "Mind"), Word(62, 0, 88, 12, "gap"), Word(0, 80, 9, 90, "no")]
    >>> [[word.text for word in block] for block in associate(words, [left, right])]
    [['Mind'], ['gap']]
    """
    found: list[list[Word]] = [[] for _ in blocks]
    for word in words:
        fractions = [contained_fraction(word.box, lines) for lines in blocks]
        best = max(range(len(blocks)), key=fractions.__getitem__, default=None)
        if best is not None and fractions[best] >= _MIN_OVERLAP:
            found[best].append(word)
    return found


def contained_fraction(box: Box, lines: Sequence[Box]) -> float:
    """Return the largest fraction of a box that lies in one of the lines.

    >>> contained_fraction((0, 0, 10, 10), [(5, 0, 20, 10), (0, 0, 2, 10)])
    0.5
    """
    area = (box[2] - box[0]) * (box[3] - box[1])
    shared = max((_intersection(box, line) for line in lines), default=0.0)
    return shared / area if area > 0 else 0.0


def _intersection(a: Box, b: Box) -> float:
    """Return the area that two boxes share."""
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(across, 0) * max(down, 0)


def scene_lines(sample: Sample) -> list[Box]:
    """Return the boxes of a block's lines in pixels of its scene."""
    scale, shift = sample["scale"].astype(float), sample["offset"] - 0.0
    corners = sample["line_box"].reshape(-1, 2, 2)  # (L, 2, x and y)
    in_scene = (corners - shift) / scale + sample["window"][:2]
    return [(x0, y0, x1, y1) for (x0, y0), (x1, y1) in in_scene.tolist()]


def word_lines(words: Sequence[Word]) -> list[str]:
    """Return the text of the lines that words form, top to bottom.

    >>> word_lines([Word(0, 30, 9, 40, "x"), Word(40, 0, 70, 9, "gap"), Word(0, 1, 30, 11, "Mind")])
    ['Mind gap', 'x']
    """
    lines = words_to_lines(sorted(words), PUBLISHED)
    return [line.text for line in sorted(lines, key=lambda line: line.box[1])]


def piece_lines(pieces: Sequence[Piece]) -> list[str]:
    """Return the text of the lines that the pieces of one block form, top to bottom.

    Lines may be tilted, so positions are measured along and across the mean direction of the text.
    Pieces belong to one line if their middles are less than half a line's height apart across it.
    """
    if not pieces:
        return []
    quads = np.stack([piece.quad for piece in pieces])  # N, 4, 2
    along = (quads[:, 1] + quads[:, 2] - quads[:, 0] - quads[:, 3]).sum(0)
    along /= max(float(np.linalg.norm(along)), 1e-9)
    down = np.array([-along[1], along[0]])
    middles = quads.mean(1)
    columns, rows = middles @ along, middles @ down
    heights = np.linalg.norm(quads[:, 3] + quads[:, 2] - quads[:, 0] - quads[:, 1], axis=1) / 2
    lines: list[list[int]] = []
    for k in np.argsort(rows, kind="stable").tolist():
        last = lines[-1][-1] if lines else k
        if lines and rows[k] - rows[last] < min(heights[k], heights[last]) / 2:
            lines[-1].append(k)
        else:
            lines.append([k])
    ordered = [sorted(line, key=columns.__getitem__) for line in lines]
    return [" ".join(pieces[k].text for k in line) for line in ordered]
