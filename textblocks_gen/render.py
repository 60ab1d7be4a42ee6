"""Render: the function from a recipe and random numbers to a block of text on a ground."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from ivl_shards import Sample
from ivl_shards.memory import step_dtype
from ivl_shards.schema import Array
from textblocks_gen.backgrounds import Pool, crop, shift
from textblocks_gen.block import ALIGNMENTS, Block, draw_block
from textblocks_gen.colour import Colour, brightness, calm, ground_range, text_colour
from textblocks_gen.raster import empty_area, fill_glyphs, fill_quads, paint, take_mask
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.typeface import Typefaces
from textblocks_gen.typeset import box_quads
from textblocks_gen.warp import draw_warp
from textblocks_gen.words import WORD_BYTES, draw_case

# Pixels around the text that shadow, outline and blur may reach.
_REACH = 4
_GRAIN = 24


@dataclass(frozen=True)
class Studio:
    """What samples are made from, opened once a process; nothing in it changes."""

    recipe: TextRecipe
    faces: Typefaces
    face_ids: tuple[str, ...]
    caps_only: tuple[bool, ...]
    script: tuple[bool, ...]
    """Which faces are handwritings."""
    index: Array
    """Number of each character in the typefaces, by code point."""
    words: Sequence[str]
    lengths: Array
    """Letters of each word."""
    widths: Array
    """(F, 2): mean width of a letter in the words as they are, and in capitals, in em."""
    pool: Pool
    """Its images in BGR, OpenCV's order, so that samples need not be turned to be encoded."""
    grain: Array
    """Noise, a little larger than the image."""


class Canvas:
    """Buffers that are drawn on and used again. Each thread needs its own."""

    def __init__(self, recipe: TextRecipe) -> None:
        self.area = empty_area(recipe.height, recipe.width)
        self.mask: Array = np.zeros((recipe.height, recipe.width), np.uint8)


Box = tuple[int, int, int, int]


def make_grain(recipe: TextRecipe) -> Array:
    """Noise for grainy images."""
    rng = np.random.Generator(np.random.Philox(key=recipe.seed))
    shape = (recipe.height + _GRAIN, recipe.width + _GRAIN, 3)
    return rng.integers(_GRAIN + 1, size=shape, dtype=np.uint8)


def render(studio: Studio, canvas: Canvas, count: int, rng: np.random.Generator) -> Sample:
    """One block of text."""
    recipe = studio.recipe
    which, aligned, *draws = rng.random(18).tolist()
    face, align = int(which * len(studio.faces)), int(aligned * len(ALIGNMENTS))
    case = draw_case(recipe, draws[0], studio.caps_only[face], studio.script[face])
    block = draw_block(
        recipe, studio.faces, face, studio.index, studio.words, studio.lengths,
        studio.widths[face], count, case, align, rng,
    )  # fmt: skip
    homography, kind = draw_warp(recipe, block.size, rng)
    ground = crop(studio.pool, rng, recipe.height, recipe.width).pixels
    box = fill(canvas, studio.faces, face, block, homography)
    _compose(studio, canvas, ground, box, draws[1:], rng)
    return _sample(studio, block, homography, ground, face, align, kind)


def fill(canvas: Canvas, faces: Typefaces, face: int, block: Block, homography: Array) -> Box:
    """Draw the block into the canvas's mask; the box it takes, with room for effects."""
    chosen = face * faces.advance.shape[1] + block.ids
    left, top, right, bottom = fill_glyphs(
        faces.points, faces.contours, faces.glyphs, chosen, block.origins, block.scales,
        homography, canvas.area,
    )  # fmt: skip
    height, width = canvas.mask.shape
    box = (
        max(0, left - _REACH), max(0, top - _REACH),
        min(width, right + _REACH), min(height, bottom + _REACH),
    )  # fmt: skip
    take_mask(canvas.area, canvas.mask, *box)
    return box


def _compose(
    studio: Studio, canvas: Canvas, ground: Array, box: Box, draws: list[float],
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw text and its effects on the ground, (H, W, 3) BGR."""
    recipe = studio.recipe
    left, top, right, bottom = box
    low, high = ground_range(ground[top:bottom, left:right])
    low, high = calm(ground, low, high, 255.0 - 2 * recipe.contrast - 20)
    colour = text_colour(draws[:5], low, high, recipe.contrast)
    against: Colour = (0, 0, 0) if brightness(colour) > (low + high) / 2 else (255, 255, 255)
    mask = canvas.mask[top:bottom, left:right]
    if draws[5] < recipe.blur:
        mask = cv2.GaussianBlur(mask, (3, 3), 0)
    view = ground[top:bottom, left:right]
    if draws[6] < recipe.shadow:
        _blend(view, _shadow(mask, draws[7], draws[8]), against)
    if draws[9] < recipe.outline:
        _blend(view, cv2.dilate(mask, np.ones((3, 3), np.uint8)), against)
    _blend(view, mask, colour)
    if draws[10] < recipe.noise:
        y, x = rng.integers(_GRAIN, size=2).tolist()
        grain = studio.grain[y : y + recipe.height, x : x + recipe.width]
        # Up by the grain, then down by its mean; both stop at black and white.
        cv2.add(ground, grain, dst=ground)
        shift(ground, -_GRAIN // 2)


def _shadow(mask: Array, right: float, down: float) -> Array:
    """The mask moved by up to three pixels, softened and weakened."""
    dx, dy = 1 + int(right * 3), 1 + int(down * 3)
    moved = np.zeros_like(mask)
    moved[dy:, dx:] = mask[:-dy, :-dx]
    return np.asarray(cv2.convertScaleAbs(cv2.blur(moved, (3, 3)), alpha=0.6))


def _blend(view: Array, mask: Array, colour: Colour) -> None:
    paint(view, mask, np.array(colour[::-1], np.uint8))


def _sample(
    studio: Studio, block: Block, homography: Array, image: Array, face: int, align: int, kind: int
) -> Sample:
    recipe = studio.recipe
    quads = box_quads(block.line_boxes, homography)
    steps = np.zeros((recipe.height, recipe.width), step_dtype(max(recipe.counts)))
    fill_quads(quads, steps)
    jpeg = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, recipe.quality))[1]
    fields = {
        "image": jpeg.ravel(),
        "image_size": np.array([recipe.height, recipe.width], np.int32),
        "steps": steps,
        "line_count": np.int32(len(block.lines)),
        "line_text": np.array([line.encode() for line in block.lines], f"S{line_bytes(recipe)}"),
        "line_quad": quads,
        "line_height": block.heights.astype(np.float32),
        "word_count": np.int32(len(block.word_lines)),
        "word_quad": box_quads(block.word_boxes, homography),
        "word_line": block.word_lines,
        "font": np.array(studio.face_ids[face].encode(), "S96"),
        "alignment": np.uint8(align),
        "warp": np.uint8(kind),
        "transform": homography.astype(np.float32),
    }
    if recipe.char_quads:
        fields |= _characters(studio, block, homography, face)
    return Sample(fields, "line_count")


def _characters(studio: Studio, block: Block, homography: Array, face: int) -> dict[str, Array]:
    """Quads of all characters but spaces, in reading order."""
    inked = block.ids != 0
    ids, origins, scales = block.ids[inked], block.origins[inked], block.scales[inked, None]
    em = studio.faces.box[face][ids][:, [0, 3, 2, 1]] * (1, -1, 1, -1)
    boxes = np.tile(origins, 2) + scales * em
    quads = box_quads(boxes, homography)
    return {"char_count": np.asarray(np.int32(len(quads))), "char_quad": quads}


def line_bytes(recipe: TextRecipe) -> int:
    """Room for the text of a line, in bytes of UTF-8."""
    return (WORD_BYTES + 2) * recipe.most_words
