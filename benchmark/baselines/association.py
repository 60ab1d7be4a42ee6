"""Association: which words belong together, in a block of a scene or in a line of a block."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icdar_blocks import PUBLISHED, Word, words_to_lines
from icdar_blocks.words import Box
from ivl_shards import Sample
from ivl_shards.format.schema import Array

# Of a word's area that must lie in the lines of a block for it to belong there. Detectors draw
# wider boxes than the truth has, so it is not much.
_LEAST = 0.4


@dataclass(frozen=True)
class Piece:
    """Text that an engine found in one place: a line, or a part of one."""

    quad: Array
    """(4, 2) corners in pixels, clockwise from where the text begins."""
    words: list[Word]

    @property
    def text(self) -> str:
        """The words with a space between them."""
        return " ".join(word.text for word in self.words)


def associate(words: Sequence[Word], blocks: Sequence[Sequence[Box]]) -> list[list[Word]]:
    """Return the words of each block, given the boxes of its lines.

    A word goes to the block that has the largest part of it; one that lies in none is left out.

    >>> left, right = [(0, 0, 50, 10)], [(60, 0, 90, 10)]
    >>> words = [Word(2, 1, 40, 9, "Mind"), Word(62, 0, 88, 12, "gap"), Word(0, 80, 9, 90, "no")]
    >>> [[word.text for word in block] for block in associate(words, [left, right])]
    [['Mind'], ['gap']]
    """
    found: list[list[Word]] = [[] for _ in blocks]
    for word in words:
        shares = [share(word.box, lines) for lines in blocks]
        best = max(range(len(blocks)), key=shares.__getitem__, default=None)
        if best is not None and shares[best] >= _LEAST:
            found[best].append(word)
    return found


def share(box: Box, lines: Sequence[Box]) -> float:
    """Return how much of a box lies in the line that has the most of it.

    >>> share((0, 0, 10, 10), [(5, 0, 20, 10), (0, 0, 2, 10)])
    0.5
    """
    area = (box[2] - box[0]) * (box[3] - box[1])
    return max((_common(box, line) for line in lines), default=0.0) / area if area > 0 else 0.0


def _common(a: Box, b: Box) -> float:
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(across, 0) * max(down, 0)


def scene_lines(sample: Sample) -> list[Box]:
    """Return the boxes of a block's lines in pixels of its scene."""
    scale, shift = sample["scale"].astype(float), sample["offset"] - 0.0
    corners = sample["line_box"].reshape(-1, 2, 2)  # (L, 2, x and y)
    there = (corners - shift) / scale + sample["window"][:2]
    return [(x0, y0, x1, y1) for (x0, y0), (x1, y1) in there.tolist()]


def word_lines(words: Sequence[Word]) -> list[str]:
    """Return the text of the lines that words form, top to bottom.

    >>> word_lines([Word(0, 30, 9, 40, "x"), Word(40, 0, 70, 9, "gap"), Word(0, 1, 30, 11, "Mind")])
    ['Mind gap', 'x']
    """
    lines = words_to_lines(sorted(words), PUBLISHED)
    return [line.text for line in sorted(lines, key=lambda line: line.box[1])]


def piece_lines(pieces: Sequence[Piece]) -> list[str]:
    """Return the text of the lines that the pieces of one block form, top to bottom.

    Lines may be tilted: above and below are across the mean direction of the text. Pieces whose
    middles are less than half a line's height apart there are of one line.
    """
    if not pieces:
        return []
    quads = np.stack([piece.quad for piece in pieces])  # N, 4, 2
    along = (quads[:, 1] + quads[:, 2] - quads[:, 0] - quads[:, 3]).sum(0)
    along /= max(float(np.linalg.norm(along)), 1e-9)
    down = np.array([-along[1], along[0]])
    middles = quads.mean(1)
    places, depths = middles @ along, middles @ down
    heights = np.linalg.norm(quads[:, 3] + quads[:, 2] - quads[:, 0] - quads[:, 1], axis=1) / 2
    lines: list[list[int]] = []
    for k in np.argsort(depths, kind="stable").tolist():
        last = lines[-1][-1] if lines else k
        if lines and depths[k] - depths[last] < min(heights[k], heights[last]) / 2:
            lines[-1].append(k)
        else:
            lines.append([k])
    ordered = [sorted(line, key=places.__getitem__) for line in lines]
    return [" ".join(pieces[k].text for k in line) for line in ordered]
