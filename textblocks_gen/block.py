"""Block: lines of words set in a face, stacked and aligned on a page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivl_shards.schema import Array
from textblocks_gen.raster import place_glyphs
from textblocks_gen.recipe import WIDEST_GAP, TextRecipe
from textblocks_gen.typeface import Typefaces
from textblocks_gen.words import draw_words

ALIGNMENTS = ("left", "centre", "right")
_NARROWEST_GAP = 0.06
# A line that must shrink below this much of its drawn height gets other words.
_LEAST_SHRINK = 0.75
_TRIES = 12
# Of the image's width that a line may take.
_WIDEST = 0.92


@dataclass(frozen=True)
class Line:
    """One line, set at the origin. Lengths in em, y up."""

    text: str
    ids: Array
    """(n,) int32: characters."""
    pens: Array
    """(n,): where each begins."""
    words: Array
    """(w, 4): ink of each word."""
    box: tuple[float, float, float, float]
    """Ink of the line."""


@dataclass(frozen=True)
class Block:
    """A page of lines. Lengths in pixels, y down; the ink begins at (0, 0)."""

    lines: tuple[str, ...]
    heights: Array
    """(L,): of each line, tails to tops."""
    size: tuple[float, float]
    """Width and height of the ink."""
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


def set_line(faces: Typefaces, face: int, index: dict[str, int], words: Sequence[str]) -> Line:
    """Set one line of words in a face."""
    text = " ".join(words)
    ids = np.array([index[c] for c in text], np.int32)
    owner = np.array([k for k, word in enumerate(words) for _ in range(len(word) + 1)][:-1])
    owner[ids == 0] = -1
    pens, boxes = np.empty(len(ids)), np.empty((len(words), 4))
    place_glyphs(ids, faces.advance[face], faces.kern[face], faces.box[face], owner, pens, boxes)
    x0, y0 = boxes[:, :2].min(axis=0).tolist()
    x1, y1 = boxes[:, 2:].max(axis=0).tolist()
    return Line(text, ids, pens, boxes, (x0, y0, x1, y1))


def set_block(
    recipe: TextRecipe, faces: Typefaces, face: int, index: dict[str, int], words: Sequence[str],
    count: int, case: str, align: int, rng: np.random.Generator,
) -> Block:  # fmt: skip
    """Draw the words of a block and set them; each line has its own height."""
    low, high = (float(v) for v in faces.line[face])
    least, most = recipe.line_pixels()
    draws = rng.random((count, 2)).tolist()
    numbers = rng.integers(recipe.fewest_words, recipe.most_words + 1, size=count).tolist()
    lines, ems = [], []
    for k in range(count):
        em = (least + (most - least) * draws[k][0]) / (high - low)
        line, fit = _fitting_line(recipe, faces, face, index, words, numbers[k], case, em, rng)
        lines.append(line)
        ems.append(em * fit)
    gaps = [most * (_NARROWEST_GAP + (WIDEST_GAP - _NARROWEST_GAP) * d[1]) for d in draws]
    return _stacked(lines, ems, gaps, high, high - low, align)


def _fitting_line(
    recipe: TextRecipe, faces: Typefaces, face: int, index: dict[str, int], words: Sequence[str],
    number: int, case: str, em: float, rng: np.random.Generator,
) -> tuple[Line, float]:  # fmt: skip
    """A line, and how much it must shrink to fit the image.

    Long words are drawn again a few times; the number of words stays.
    """
    room = _WIDEST * recipe.width / em
    best: Line | None = None
    for _ in range(_TRIES):
        line = set_line(faces, face, index, draw_words(recipe, words, number, case, rng))
        if best is None or line.box[2] - line.box[0] < best.box[2] - best.box[0]:
            best = line
        if best.box[2] - best.box[0] <= room / _LEAST_SHRINK:
            break
    assert best is not None
    return best, min(1.0, room / (best.box[2] - best.box[0]))


def _stacked(
    lines: list[Line], ems: list[float], gaps: list[float], high: float, tall: float, align: int
) -> Block:
    """Lines one below the other, aligned."""
    widest = max(em * (line.box[2] - line.box[0]) for line, em in zip(lines, ems, strict=True))
    top = 0.0
    line_boxes, word_boxes, origins = [], [], []
    for line, em, gap in zip(lines, ems, gaps, strict=True):
        x0, y0, x1, y1 = line.box
        left = (widest - em * (x1 - x0)) * align / 2 - em * x0
        baseline = top + em * high
        page = np.array([left, baseline, left, baseline])
        flipped = line.words[:, [0, 3, 2, 1]] * (em, -em, em, -em)
        word_boxes.append(page + flipped)
        line_boxes.append(
            (left + em * x0, baseline - em * y1, left + em * x1, baseline - em * y0)
        )
        origins.append(np.stack([left + em * line.pens, np.full(len(line.pens), baseline)], axis=1))
        top += em * tall + gap
    boxes = np.array(line_boxes)
    corner = np.array([boxes[:, 0].min(), boxes[:, 1].min()])
    boxes -= np.tile(corner, 2)
    return Block(
        lines=tuple(line.text for line in lines),
        heights=np.array([em * tall for em in ems]),
        size=(float(boxes[:, 2].max()), float(boxes[:, 3].max())),
        line_boxes=boxes,
        word_boxes=np.concatenate(word_boxes) - np.tile(corner, 2),
        word_lines=np.repeat(np.arange(len(lines)), [len(line.words) for line in lines]),
        ids=np.concatenate([line.ids for line in lines]),
        origins=np.concatenate(origins) - corner,
        scales=np.repeat(ems, [len(line.ids) for line in lines]),
    )
