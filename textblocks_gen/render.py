"""Render: the function from a recipe and random numbers to a block of text on a background."""

from typing import NamedTuple

import cv2
import numpy as np

from ivl_shards import Sample
from ivl_shards.format.memory import step_map
from ivl_shards.format.schema import Array
from textblocks_gen.backgrounds.pool import crop
from textblocks_gen.compose import compose
from textblocks_gen.effects.ink import Mask
from textblocks_gen.effects.look import Look, draw_look
from textblocks_gen.other_words import Other, draw_others
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.studio import Studio
from textblocks_gen.typesetting.block import Block, Lettering, draw_block
from textblocks_gen.typesetting.raster import Outlines, Place, empty_area, fill_glyphs, take_mask
from textblocks_gen.typesetting.typeset import box_polygons, box_quads
from textblocks_gen.typesetting.warp import bend_page, draw_warp
from textblocks_gen.words.spelling import OTHER_TEXT, line_bytes

# Pixels around the text that shadow, outline, extrusion and blur may reach.
_REACH = 4


class Canvas:
    """Reusable buffers for rendering. Each thread needs its own."""

    def __init__(self, recipe: TextRecipe) -> None:
        self.area = empty_area(recipe.height, recipe.width)
        self.image: Array = np.zeros((recipe.height, recipe.width, 3), np.uint8)


class Drawn(NamedTuple):
    """A block with its place in the image; everything that labels are made from."""

    look: Look
    block: Block
    place: Place
    warp: int
    """Kind of the homography."""
    size: tuple[float, float]
    """Width and height of the page, bend included."""


def render(studio: Studio, canvas: Canvas, count: int, rng: np.random.Generator) -> Sample:
    """Render one block of text."""
    recipe = studio.recipe
    drawn = draw(studio, count, rng)
    outline = box_polygons if recipe.bend else box_quads
    polygons = outline(drawn.block.line_boxes, drawn.place)
    steps = step_map(polygons, (recipe.height, recipe.width), max(recipe.counts))
    mask = fill(canvas, studio.lettering, drawn.block, drawn.place, reach_of(recipe))
    crop(studio.pool, rng, canvas.image, mask.box, recipe.scenes)
    others = draw_others(studio, polygons, rng) if recipe.cut or recipe.distant else []
    inks = [fill(canvas, studio.lettering, other.block, other.place) for other in others]
    image = compose(studio, drawn, canvas.image, (mask, inks), steps)
    sample = label(studio, drawn, image, steps, polygons)
    if recipe.cut or recipe.distant:
        return Sample({**sample, **label_others(others)}, "line_count")
    return sample


def draw(studio: Studio, count: int, rng: np.random.Generator) -> Drawn:
    """Draw the look, the words and the place of a block."""
    lettering, recipe = studio.lettering, studio.recipe
    look = draw_look(recipe, count, lettering.kinds, rng)
    block = draw_block(recipe, lettering, studio.vocabulary, look, rng)
    width, height = block.size
    bend, rise = bend_page(look.bend, block.size, float(block.heights.mean()))
    size = (width, height + rise)
    homography, warp = draw_warp(recipe, size, rng)
    return Drawn(look, block, Place(homography, bend), warp, size)


def reach_of(recipe: TextRecipe) -> int:
    """Return how many pixels around the text its effects may reach."""
    return max(
        _REACH,
        recipe.shadow_most + 4 if recipe.shadow else 0,
        recipe.extrusion_most + 1 if recipe.extrusion else 0,
        recipe.outline_most + 1 if recipe.outline else 0,
    )


def fill(canvas: Canvas, lettering: Lettering, block: Block, place: Place, reach: int = 0) -> Mask:
    """Return the ink of a block, with some room around it for effects."""
    faces = lettering.faces
    left, top, right, bottom = fill_glyphs(
        Outlines(faces.points, faces.contours, faces.glyphs),
        block.glyphs,
        block.origins,
        block.scales,
        place,
        canvas.area,
    )
    height, width = canvas.image.shape[:2]
    left, top = max(0, left - reach), max(0, top - reach)
    right, bottom = min(width, right + reach), min(height, bottom + reach)
    return Mask(take_mask(canvas.area, left, top, right, bottom), top, left)


def label(studio: Studio, drawn: Drawn, image: Array, steps: Array, polygons: Array) -> Sample:
    """Encode the image and write down what is in it."""
    recipe, block, place, look = studio.recipe, drawn.block, drawn.place, drawn.look
    jpeg = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, look.quality))[1]
    names = studio.lettering.names
    fields = {
        "image": jpeg.ravel(),
        "image_size": np.array([recipe.height, recipe.width], np.int32),
        "steps": steps,
        "line_count": np.int32(len(block.lines)),
        "line_text": np.array([line.encode() for line in block.lines], f"S{line_bytes(recipe)}"),
        "line_quad": box_quads(block.line_boxes, place) if recipe.bend else polygons,
        "line_height": block.heights.astype(np.float32),
        "word_count": np.int32(len(block.word_lines)),
        "word_quad": box_quads(block.word_boxes, place),
        "word_line": block.word_lines,
        "font": names[look.faces[0], ...],
        "alignment": np.uint8(look.align),
        "warp": np.uint8(drawn.warp),
        "transform": place.homography.astype(np.float32),
    }
    if recipe.bend:
        fields["line_polygon"] = polygons
    if recipe.mixed_faces:
        fields["line_font"] = names[look.faces]
    if recipe.char_quads:
        quads = box_quads(character_boxes(studio.lettering, block), place)
        fields |= {"char_count": np.int32(len(quads)), "char_quad": quads}
    return Sample(fields, "line_count")


def label_others(others: list[Other]) -> dict[str, Array]:
    """Write down what text there is that is not to be read."""
    quads = [box_quads(other.block.line_boxes, other.place) for other in others]
    return {
        "other_count": np.asarray(np.int32(len(others))),
        "other_quad": np.concatenate([np.empty((0, 4, 2), np.float32), *quads]),
        "other_text": np.array([other.block.lines[0].encode() for other in others], OTHER_TEXT),
        "other_kind": np.array([other.kind for other in others], np.uint8),
    }


def character_boxes(lettering: Lettering, block: Block) -> Array:
    """Return the boxes of all characters but spaces on the page, in reading order, (C, 4)."""
    box = lettering.faces.box
    inked = block.glyphs % box.shape[1] != 0
    glyphs, origins, scales = block.glyphs[inked], block.origins[inked], block.scales[inked]
    em = box.reshape(-1, 4)[glyphs][:, [0, 3, 2, 1]] * (1, -1, 1, -1)
    return np.asarray(np.tile(origins, 2) + np.tile(scales, 2) * em)
