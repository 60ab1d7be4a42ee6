"""Block: lines of words set in a face, stacked and aligned on a page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivl_shards.schema import Array
from textblocks_gen.recipe import WIDEST_GAP, TextRecipe
from textblocks_gen.typeface import Typefaces
from textblocks_gen.typeset import set_lines, stack_lines
from textblocks_gen.words import set_words

ALIGNMENTS = ("left", "centre", "right")
_NARROWEST_GAP = 0.06
# A line that must shrink below this much of its drawn height gets other words.
_LEAST_SHRINK = 0.75
_TRIES = 12
# Of the image's width that a line may take.
_WIDEST = 0.92


@dataclass(frozen=True)
class Block:
    """A page of lines. Lengths in pixels, y down; the ink begins at (0, 0)."""

    lines: list[str]
    heights: Array
    """(L,): of each line, tails to tops."""
    line_boxes: Array
    """(L, 4): ink of each line."""
    word_boxes: Array
    """(w, 4): ink of each word."""
    word_lines: Array
    """(w,): the line of each."""
    ids: Array
    """(n,): all characters, spaces included."""
    origins: Array
    """(n, 2): where each is drawn."""
    scales: Array
    """(n,): pixels an em of each."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the ink."""
        return float(self.line_boxes[:, 2].max()), float(self.line_boxes[:, 3].max())


def draw_block(
    recipe: TextRecipe, faces: Typefaces, face: int, index: dict[str, int], words: Sequence[str],
    lengths: Array, widths: Array, count: int, case: str, align: int, rng: np.random.Generator,
) -> Block:  # fmt: skip
    """Draw the words of a block and set them; each line has its own height.

    lengths (words,): letters of each word. widths (2,): of the face's mean letter in the words
    as they are and in capitals, in em.
    """
    low, high = (float(v) for v in faces.line[face])
    least, most = recipe.line_pixels()
    draws = rng.random((2, count))
    numbers = rng.integers(recipe.fewest_words, recipe.most_words + 1, size=count)
    room = _WIDEST * recipe.width
    ems = (least + (most - least) * draws[0]) / (high - low)
    # All words that may be needed in one call, which costs no more than one of them.
    tries = rng.integers(len(words), size=(count, _TRIES, recipe.most_words))
    letters = room / (ems * _LEAST_SHRINK * widths[int(case == "upper")])
    lines = [
        set_words(recipe, [words[i] for i in row[:number]], case, rng)
        for row, number in zip(
            _fitting(tries, lengths, numbers, letters).tolist(), numbers.tolist(), strict=True
        )
    ]
    gaps = most * (_NARROWEST_GAP + (WIDEST_GAP - _NARROWEST_GAP) * draws[1])
    return set_block(faces, face, index, lines, ems, gaps, room, align)


def _fitting(tries: Array, lengths: Array, numbers: Array, letters: Array) -> Array:
    """For each line the first try that need not shrink too much to fit, or the shortest.

    tries (count, T, most): words. numbers (count,): how many of them a line has. letters (count,):
    how many letters of mean width fit. Long words are drawn again so; their number stays.
    """
    counts = lengths[tries] + 1  # with the space behind each
    total = (counts * (np.arange(tries.shape[2]) < numbers[:, None, None])).sum(
        axis=2
    )  # (count, T)
    fits = total <= letters[:, None]
    best = np.where(fits.any(axis=1), fits.argmax(axis=1), total.argmin(axis=1))
    return np.asarray(tries[np.arange(len(tries)), best])


def set_block(
    faces: Typefaces, face: int, index: dict[str, int], lines: list[list[str]], ems: Array,
    gaps: Array, room: float, align: int,
) -> Block:  # fmt: skip
    """Set lines of words in a face.

    ems (L,): pixels an em, at most; a line that is wider than the room shrinks. gaps (L,):
    pixels below each line.
    """
    texts = [" ".join(words) for words in lines]
    ids = np.array([index[c] for text in texts for c in text], np.int32)
    starts = np.cumsum([0, *map(len, texts)])
    word_lines = np.array([k for k, words in enumerate(lines) for _ in words])
    # A space belongs to no word; the one after a line's last word is not there.
    owners, number = [], 0
    for words in lines:
        for word in words:
            owners += [number] * len(word)
            owners.append(-1)
            number += 1
        owners.pop()
    low, high = (float(v) for v in faces.line[face])
    ems = ems.copy()
    pens, scales, origins = np.empty(len(ids)), np.empty(len(ids)), np.empty((len(ids), 2))
    word_boxes, line_boxes = np.empty((len(word_lines), 4)), np.empty((len(lines), 4))
    set_lines(
        ids, starts, np.array(owners), faces.advance[face], faces.kern[face], faces.box[face],
        ems, pens, word_boxes, line_boxes, room,
    )  # fmt: skip
    stack_lines(
        starts, word_lines, ems, gaps, low, high, align, pens, word_boxes, line_boxes, origins,
        scales,
    )  # fmt: skip
    return Block(
        texts, ems * (high - low), line_boxes, word_boxes, word_lines, ids, origins, scales
    )
