"""Other words: text beside the block that is not to be read, because it is cut off or far away.

It is drawn and labelled as what it is, and belongs to no step.
"""

from dataclasses import dataclass

import numpy as np

from ivl_shards.format.schema import Array
from textblocks_gen.studio import Studio
from textblocks_gen.typesetting.block import Block, set_block
from textblocks_gen.typesetting.raster import STRAIGHT, Place
from textblocks_gen.typesetting.typeset import Setting

KINDS = ("cut", "distant")
# Most of them in an image: one of each kind.
MOST = len(KINDS)
# Height in pixels of text that is too far away to be read.
_DISTANT = (4.0, 7.0)
# Height of text that is cut off, over the image's, and how much of its width is in the image.
_CUT, _INSIDE = (0.08, 0.2), (0.3, 0.75)
# Pixels between such text and the block.
_APART = 4.0
_LONGEST = 14


@dataclass(frozen=True)
class Other:
    """A word beside the block."""

    kind: int
    """Number in `KINDS`."""
    block: Block
    place: Place


def draw_others(studio: Studio, polygons: Array, rng: np.random.Generator) -> list[Other]:
    """Draw text of each kind, as often as the recipe says, where the block leaves room for it.

    polygons (L, k, 2): of the block's lines.
    """
    recipe, found = studio.recipe, []
    for kind, probability in enumerate((recipe.cut, recipe.distant)):
        # The same numbers whether it happens or not: one kind does not change the other.
        happens, word, face, size, across, down = rng.random(6).tolist()
        if happens >= probability:
            continue
        low, high = _DISTANT if kind else (_CUT[0] * recipe.height, _CUT[1] * recipe.height)
        block = _word(
            studio, word, int(face * len(studio.lettering.ids)), low + size * (high - low)
        )
        at = _free_band(block.size, polygons, recipe.height, down)
        if at is None:
            continue
        x = across * max(recipe.width - block.size[0], 0.0)
        if kind == 0:
            # Over the left or the right edge.
            inside = block.size[0] * (_INSIDE[0] + (_INSIDE[1] - _INSIDE[0]) * size)
            x = inside - block.size[0] if across < 0.5 else recipe.width - inside
        homography = np.array([[1.0, 0.0, x], [0.0, 1.0, at], [0.0, 0.0, 1.0]])
        found.append(Other(kind, block, Place(homography, STRAIGHT)))
    return found


def _word(studio: Studio, draw: float, face: int, height: float) -> Block:
    """Set one of the shorter words."""
    vocabulary, lettering = studio.vocabulary, studio.lettering
    short = vocabulary.up_to[min(_LONGEST, len(vocabulary.up_to) - 1)]
    word = vocabulary.words[vocabulary.by_length[int(draw * max(short, 1))]]
    if lettering.kinds.caps_only[face] and len(word.upper()) == len(word):
        word = word.upper()
    low, high = lettering.metrics.line[face].tolist()
    ems = np.array([height / (high - low)])
    return set_block(
        lettering.metrics,
        [[word]],
        Setting(np.array([face]), ems, np.zeros(1), studio.recipe.width * 0.9, 0, 0.0),
    )


def _free_band(
    size: tuple[float, float], polygons: Array, height: int, draw: float
) -> float | None:
    """Return the top of a word above or below the block; None if there is no room for it."""
    above = float(polygons[..., 1].min()) - size[1] - 2 * _APART
    below = height - float(polygons[..., 1].max()) - size[1] - 2 * _APART
    if max(above, below) < 0:
        return None
    if above >= 0 and (below < 0 or draw < 0.5):
        return _APART + above * (2 * draw % 1)
    return float(polygons[..., 1].max()) + _APART + below * (2 * draw % 1)
