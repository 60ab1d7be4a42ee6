"""Block: lines of words set in a face, stacked and aligned on a page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from ivl_shards.schema import Array
from textblocks_gen.recipe import WIDEST_GAP, TextRecipe
from textblocks_gen.typeface import Typefaces
from textblocks_gen.typeset import set_page
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
        # Plain numbers: for so few, NumPy takes several times as long.
        _, _, right, bottom = zip(*self.line_boxes.tolist(), strict=True)
        return max(right), max(bottom)


def draw_block(
    recipe: TextRecipe, faces: Typefaces, face: int, index: Array, words: Sequence[str],
    lengths: Array, widths: Array, count: int, case: str, align: int, rng: np.random.Generator,
) -> Block:  # fmt: skip
    """Draw the words of a block and set them; each line has its own height.

    lengths (words,): letters of each word. widths (2,): of the face's mean letter in the words
    as they are and in capitals, in em.
    """
    low, high = faces.line[face].tolist()
    least, most = recipe.line_pixels()
    # All that may be needed in one call, which costs no more than a few of them.
    draws = rng.random((count, 3 + _TRIES * recipe.most_words))
    room = _WIDEST * recipe.width
    ems = (least + (most - least) * draws[:, 0]) / (high - low)
    gaps = most * (_NARROWEST_GAP + (WIDEST_GAP - _NARROWEST_GAP) * draws[:, 1])
    letters = room / (ems * _LEAST_SHRINK * widths[int(case == "upper")])
    chosen, numbers = _fitting(draws[:, 2:], lengths, recipe.fewest_words, letters)
    lines = [
        set_words(recipe, [words[i] for i in row[:number]], case, rng)
        for row, number in zip(chosen.tolist(), numbers.tolist(), strict=True)
    ]
    return set_block(faces, face, index, lines, ems, gaps, room, align)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _fitting(draws: Array, lengths: Array, fewest: int, letters: Array) -> tuple[Array, Array]:
    """Words of each line, (L, most), and how many of them it has, (L,), at least `fewest`.

    draws (L, 1 + T · most): from 0 to 1; the first for the number, the others for T tries.
    letters (L,): how many letters of mean width fit. The first try that need not shrink too much
    is taken, or the shortest: long words are drawn again, their number stays.
    """
    count, most = len(draws), (draws.shape[1] - 1) // _TRIES
    chosen, numbers = np.empty((count, most), np.int64), np.empty(count, np.int64)
    row = np.empty(most, np.int64)
    for k in range(count):
        numbers[k] = fewest + int(draws[k, 0] * (most - fewest + 1))
        shortest = np.inf
        for t in range(_TRIES):
            total = 0
            for i in range(most):
                row[i] = int(draws[k, 1 + t * most + i] * len(lengths))
                if i < numbers[k]:
                    total += lengths[row[i]] + 1  # with the space behind it
            if total < shortest:
                shortest = total
                chosen[k] = row
            if total <= letters[k]:
                break
    return chosen, numbers


def set_block(
    faces: Typefaces, face: int, index: Array, lines: list[list[str]], ems: Array, gaps: Array,
    room: float, align: int,
) -> Block:  # fmt: skip
    """Set lines of words in a face.

    index: of `character_index`. ems (L,): pixels an em, at most; a line that is wider than the
    room shrinks. gaps (L,): pixels below each line.
    """
    texts = [" ".join(words) for words in lines]
    codes = np.frombuffer("\n".join(texts).encode("utf-32-le"), np.uint32)
    low, high = faces.line[face].tolist()
    ems = ems.copy()
    ids, origins, scales, line_boxes, word_boxes, word_lines = set_page(
        codes, index, faces.advance[face], faces.kern[face], faces.box[face], ems, gaps, low, high,
        room, align,
    )  # fmt: skip
    return Block(
        texts, ems * (high - low), line_boxes, word_boxes, word_lines, ids, origins, scales
    )
