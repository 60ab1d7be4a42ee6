"""Block: lines of words set in a face, stacked and aligned on a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from ivl_shards.format.schema import Array
from textblocks_gen.effects.look import Faces, Look
from textblocks_gen.recipe import GAPS, NARROWEST, TALLEST, WIDEST, TextRecipe, room_needed
from textblocks_gen.typesetting.typeface import Typefaces
from textblocks_gen.typesetting.typeset import Metrics, Setting, set_page
from textblocks_gen.words.spelling import set_case, set_words

# How often the words of a line are drawn until they fit.
_TRIES = 12
# Letters of a short word: where not even such words fit, a line gets fewer of them.
_SHORT = 4
# Type of the name of a face.
FACE_NAME = "S96"
# How much lower than the tallest line others may be where heights are free.
_SPREAD = 0.6


@dataclass(frozen=True)
class Lettering:
    """The faces that blocks are set in."""

    faces: Typefaces
    ids: tuple[str, ...]
    names: Array
    """The same as bytes, as they are stored."""
    kinds: Faces
    metrics: Metrics
    widths: Array
    """(F, 2): mean width of a letter in the words as they are, and in capitals, in em."""


@dataclass(frozen=True)
class Vocabulary:
    """The words that lines are made of."""

    words: Sequence[str]
    lengths: Array
    """Letters of each word."""
    by_length: Array
    """The words' numbers, shortest first."""
    up_to: Array
    """How many words have at most 0, 1, 2 … letters."""
    running: bool
    """Whether the words are a text, to be read in this order."""


def make_vocabulary(words: Sequence[str], running: bool = False) -> Vocabulary:
    """Sort words by length."""
    lengths = np.array([len(word) for word in words])
    return Vocabulary(
        words, lengths, np.argsort(lengths, kind="stable"), np.cumsum(np.bincount(lengths)), running
    )


class Block(NamedTuple):
    """A page of lines. Lengths in pixels, y down; the ink begins at (0, 0)."""

    lines: list[str]
    heights: Array
    """(L,): height of each line, tails to tops."""
    line_boxes: Array
    """(L, 4): ink of each line."""
    word_boxes: Array
    """(w, 4): ink of each word."""
    word_lines: Array
    """(w,): the line of each."""
    glyphs: Array
    """(n,): outlines of all characters, spaces included, among those of all faces."""
    origins: Array
    """(n, 2): where each is drawn."""
    scales: Array
    """(n, 2): pixels an em of each, across and down."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the ink."""
        _, _, right, bottom = zip(*self.line_boxes.tolist(), strict=True)
        return max(right), max(bottom)


def draw_block(
    recipe: TextRecipe,
    lettering: Lettering,
    vocabulary: Vocabulary,
    look: Look,
    rng: np.random.Generator,
) -> Block:
    """Draw the heights and the words of a block and set them."""
    heights = draw_heights(recipe, look.lines, rng)
    gaps = rng.random(look.lines)
    room = WIDEST * recipe.width
    widths = lettering.widths[look.faces, int(look.case == "upper")] + look.spacing
    ems, letters = _measure(heights, gaps, widths, lettering.metrics.line, look.faces, room)
    lines = draw_lines(recipe, vocabulary, look.case, letters, rng)
    setting = Setting(look.faces, ems, gaps, room, look.align, look.spacing)
    return set_block(lettering.metrics, lines, setting)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _measure(
    heights: Array, gaps: Array, widths: Array, line: Array, faces: Array, room: float
) -> tuple[Array, Array]:
    """Return pixels an em of each line, (L,), and how many letters of mean width it holds, (L,).

    widths (L,): of a letter in em. line (F, 2): extent of each face's lines. gaps (L,): from 0 to
    1; they become pixels. For so few numbers NumPy would take several times as long.
    """
    ems, letters = np.empty(len(heights)), np.empty(len(heights))
    for k in range(len(heights)):
        low, high = line[faces[k]]
        ems[k] = heights[k] / (high - low)
        gaps[k] = heights[k] * (GAPS[0] + (GAPS[1] - GAPS[0]) * gaps[k])
        letters[k] = room / (ems[k] * NARROWEST * widths[k])
    return ems, letters


def draw_lines(
    recipe: TextRecipe, vocabulary: Vocabulary, case: str, letters: Array, rng: np.random.Generator
) -> list[list[str]]:
    """Draw the words of lines, (L,) of them, that hold so many letters each."""
    draws = rng.random((len(letters), 1 + _TRIES * recipe.words[1]))
    if vocabulary.running:
        chosen, numbers = _following(draws[:, :2], vocabulary.lengths, recipe.words, letters)
    else:
        sorted_words = vocabulary.lengths, vocabulary.by_length, vocabulary.up_to
        chosen, numbers = _fitting(draws, sorted_words, recipe.words[0], letters)
    words = [
        [vocabulary.words[i] for i in row[:number]]
        for row, number in zip(chosen.tolist(), numbers.tolist(), strict=True)
    ]
    if vocabulary.running:  # a text has numbers and punctuation of its own
        return [set_case(line, case) for line in words]
    return [set_words(recipe, line, case, rng) for line in words]


def draw_heights(recipe: TextRecipe, lines: int, rng: np.random.Generator) -> Array:
    """Draw the heights of a block's lines in pixels.

    The range is cut into as many equal parts as there are lines, and each line gets a part of
    its own: heights within a block differ visibly, their sum hardly varies, and still the height
    of a line is spread evenly over the whole range, whatever the number of lines.
    """
    least, most = recipe.line_pixels()
    if not recipe.same_heights:
        return _free_heights(recipe, lines, rng)
    draws = rng.random(2 * lines).tolist()
    # Plain numbers: for so few, NumPy takes several times as long.
    parts = sorted(range(lines), key=draws.__getitem__)
    return np.array(
        [
            least + (most - least) * (k + x) / lines
            for k, x in zip(parts, draws[lines:], strict=True)
        ]
    )


def _free_heights(recipe: TextRecipe, lines: int, rng: np.random.Generator) -> Array:
    """Draw heights in pixels where fewer lines may be taller: one of the block, from which lines
    differ in some blocks more than in others."""
    least, most = recipe.line_pixels()
    most = min(most, recipe.height * TALLEST / room_needed(lines, 1, 1))
    one, other, spread = rng.random(3).tolist()
    # Photographs of signs are taken for their text: large heights are more frequent.
    tall = least + (most - least) * max(one, other)
    return np.asarray(np.maximum(tall * (1 - _SPREAD * spread * rng.random(lines)), least))


@njit(cache=True)  # type: ignore[untyped-decorator]
def _fitting(
    draws: Array, words: tuple[Array, Array, Array], fewest: int, letters: Array
) -> tuple[Array, Array]:
    """Return words for each line, (L, most), and how many it has, (L,), at least `fewest`.

    draws (L, 1 + T · most): from 0 to 1; the first for the number, the others for T tries.
    words: lengths, by_length and up_to of a `Vocabulary`. letters (L,): how many letters of mean
    width fit. The first try that fits is taken. In the last third of the tries words are only as
    long as their share of the line, and there are fewer where that is hardly a word.
    """
    lengths, by_length, up_to = words
    count, most = len(draws), (draws.shape[1] - 1) // _TRIES
    chosen, numbers = np.empty((count, most), np.int64), np.empty(count, np.int64)
    for k in range(count):
        numbers[k] = fewest + int(draws[k, 0] * (most - fewest + 1))
        for t in range(_TRIES):
            limit = len(lengths)
            if t >= _TRIES * 2 // 3:
                while numbers[k] > fewest and letters[k] + 1 < numbers[k] * (_SHORT + 1):
                    numbers[k] -= 1
                share = max(1, int((letters[k] + 1) / numbers[k]) - 1)
                limit = max(up_to[min(share, len(up_to) - 1)], 1)
            total = -1
            for i in range(numbers[k]):
                word = int(draws[k, 1 + t * most + i] * limit)
                chosen[k, i] = by_length[word]
                total += lengths[chosen[k, i]] + 1  # with the space behind it
            if total <= letters[k]:
                break
    return chosen, numbers


@njit(cache=True)  # type: ignore[untyped-decorator]
def _following(
    draws: Array, lengths: Array, words: tuple[int, int], letters: Array
) -> tuple[Array, Array]:
    """Return words for each line, (L, most), and how many it has, (L,), in the order of a text.

    draws (L, 2): from 0 to 1; the first for the number of words, the second, of the first line,
    for the place where it begins. words: the least and greatest number in a line; one that is full
    before gets fewer, but not less than the least.
    """
    fewest, most = words
    count = len(draws)
    chosen, numbers = np.zeros((count, most), np.int64), np.zeros(count, np.int64)
    at = int(draws[0, 1] * len(lengths))
    for k in range(count):
        wanted, total = fewest + int(draws[k, 0] * (most - fewest + 1)), -1
        while numbers[k] < wanted:
            word = at % len(lengths)  # a text that ends begins anew
            total += lengths[word] + 1
            if total > letters[k] and numbers[k] >= fewest:
                break
            chosen[k, numbers[k]] = word
            numbers[k] += 1
            at += 1
    return chosen, numbers


def set_block(metrics: Metrics, lines: list[list[str]], setting: Setting) -> Block:
    """Set lines of words; the `ems` of the setting are lowered where a line does not fit."""
    texts = [" ".join(words) for words in lines]
    codes = np.frombuffer("\n".join(texts).encode("utf-32-le"), np.uint32)
    return Block(texts, *set_page(codes, metrics, setting))
