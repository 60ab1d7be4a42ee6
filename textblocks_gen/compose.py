"""Compose: paint the plate, the distractors and the text on a background, then apply the camera."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from ivl_shards.format.schema import Array
from textblocks_gen.backgrounds.pool import shift
from textblocks_gen.backgrounds.readability import Box, calm_behind
from textblocks_gen.effects import shapes
from textblocks_gen.effects.camera import add_grain, defocus, enlarge, light_up, shake
from textblocks_gen.effects.colour import (
    Colour,
    brightness,
    shift_needed,
    sign_colour,
    text_colour,
)
from textblocks_gen.effects.ink import Mask, cast_shadow, extrude, paint_mask, reach, soften, widen
from textblocks_gen.effects.look import ColourDraw, Distractor, Look, Plate
from textblocks_gen.effects.pixels import NORMAL, Ink, blended, cover_all, paint_ink
from textblocks_gen.studio import Studio
from textblocks_gen.typesetting.raster import ink_strength, strengthen

if TYPE_CHECKING:
    from textblocks_gen.render import Drawn

# A plate reaches at most so far beyond the text, over the size of the page: not to the horizon.
_WIDEST_PLATE = 0.8


def compose(
    studio: Studio, drawn: Drawn, background: Array, inks: tuple[Mask, list[Mask]], steps: Array
) -> Array:
    """Draw text and all its effects on the background, (H, W, 3) BGR; return the image.

    inks: of the block, and of other text.
    """
    mask, others = inks
    look, contrast = drawn.look, studio.recipe.contrast
    lowest = float(drawn.block.heights.min())
    if look.plate and look.plate.whole:
        colour = plate_colour(look.plate.colour, stands_for_dark_text(look))
        cover(background, colour, look.plate.opacity)
    elif look.plate:
        put_plate(drawn, look.plate, background)
    low, high = make_room(look, background, steps, mask.box, contrast)
    draw = look.colour if look.polarity is None else look.colour._replace(side=look.polarity)
    colour = text_colour(draw, low, high, contrast)
    for distractor in look.distractors:
        put_distractor(drawn, distractor, background, mask, colour)
    for other in others:
        paint_mask(background, other, colour)
    paint_text(studio, look, background, mask, steps, (colour, low, high, lowest))
    return finish(studio, look, background, lowest)


def make_room(
    look: Look, background: Array, steps: Array, box: Box, contrast: int
) -> tuple[float, float]:
    """Change the background's brightness until text can stand out; return the range behind text."""
    low, high = calm_behind(background, steps, box, 255.0 - 2 * contrast - 20)
    if look.polarity is None:
        return low, high
    by = shift_needed(low, high, contrast, look.polarity < 0.5)
    if by:
        shift(background, by)
    return max(0.0, low + by), min(255.0, high + by)


def put_plate(drawn: Drawn, plate: Plate, background: Array) -> None:
    """Paint a panel behind the block, or one behind each line."""
    height = float(drawn.block.heights.mean())
    wide, tall = drawn.size
    left, above, right, below = (
        min(part * height, _WIDEST_PLATE * side)
        for part, side in zip(plate.padding, (wide, tall, wide, tall), strict=True)
    )
    boxes = [(0.0, 0.0, wide, tall)]
    if plate.lines and drawn.look.bend is None:
        boxes = [tuple(box) for box in drawn.block.line_boxes.tolist()]
        above = below = min(above, 0.15 * height)
    light = stands_for_dark_text(drawn.look)
    colour = plate_colour(plate.colour, light)
    size = background.shape[:2]
    for x0, y0, x1, y1 in boxes:
        x0, y0, x1, y1 = x0 - left, y0 - above, x1 + right, y1 + below
        corner = plate.corner * min(x1 - x0, y1 - y0)
        whole = shapes.draw_shape(
            [shapes.rectangle(x0, y0, x1, y1, corner)], drawn.place.homography, size
        )
        if whole is None:
            continue
        if plate.opacity < 1:
            whole = Mask(
                np.asarray(cv2.convertScaleAbs(whole.ink, alpha=plate.opacity)),
                whole.top,
                whole.left,
            )
        paint_mask(background, whole, colour)
        if plate.border:
            inset = 0.4 * min(above, left) * (plate.colour.side < 0.5)
            edge = shapes.frame(
                x0 + inset, y0 + inset, x1 - inset, y1 - inset, plate.border * height, corner
            )
            border = shapes.draw_shape(edge, drawn.place.homography, size)
            if border:
                paint_mask(background, border, plate_colour(plate.colour, not light))


def stands_for_dark_text(look: Look) -> bool:
    """Tell whether what is behind the text is to be light."""
    return look.polarity is None or look.polarity < 0.5


def cover(background: Array, colour: Colour, opacity: float) -> None:
    """Paint a panel that is larger than the image; a little of the background is its surface."""
    cover_all(background, np.array(colour[::-1], np.uint8), int(256 * (0.75 + 0.25 * opacity)) - 12)


def plate_colour(draw: ColourDraw, light: bool) -> Colour:
    """Return a plate's colour: of signs, or a pale or dark one of any hue."""
    if draw.sign >= 0:
        return sign_colour(draw, light)
    base = 140 if light else 10
    r, g, b = (base + int(110 * part) for part in (draw.red, draw.green, draw.blue))
    return r, g, b


def put_distractor(
    drawn: Drawn, thing: Distractor, background: Array, mask: Mask, text: Colour
) -> None:
    """Paint a thing that is not text: a rule or frame along the block, or a sign beside it."""
    height = float(drawn.block.heights.mean())
    wide, tall = drawn.size
    size = background.shape[:2]
    away = (0.2 + 0.5 * thing.size) * height
    thick = max(1.0, (0.03 + 0.09 * thing.down) * height)
    homography = drawn.place.homography
    if thing.kind < 0.3:
        y = -away - thick if thing.place < 0.5 else tall + away
        x0, x1 = wide * 0.3 * thing.across, wide * (1 - 0.3 * thing.down)
        shape = [shapes.rectangle(x0, y, x1, y + thick)]
    elif thing.kind < 0.45:
        away = min(away, _WIDEST_PLATE * tall)
        shape = shapes.frame(-away, -away, wide + away, tall + away, thick, away * thing.across)
    else:
        found = free_place(thing, mask, size)
        if found is None:
            return
        kind = int((thing.kind - 0.45) / 0.55 * len(shapes.FREE))
        shape, homography = shapes.FREE[kind](*found), np.eye(3)
    drawn_shape = shapes.draw_shape(shape, homography, size)
    if drawn_shape:
        own = thing.colour.side < 0.5
        paint_mask(
            background,
            drawn_shape,
            sign_colour(thing.colour, thing.colour.blue < 0.5) if own else text,
        )


def free_place(
    thing: Distractor, mask: Mask, size: tuple[int, ...]
) -> tuple[float, float, float] | None:
    """Return centre and radius of a sign above, below, left or right of the text."""
    height, width = size[:2]
    bottom, right = mask.top + mask.ink.shape[0], mask.left + mask.ink.shape[1]
    bands = [
        (0, 0, width, mask.top),
        (0, bottom, width, height),
        (0, 0, mask.left, height),
        (right, 0, width, height),
    ]
    bands = [band for band in bands if min(band[2] - band[0], band[3] - band[1]) >= 16]
    if not bands:
        return None
    x0, y0, x1, y1 = bands[int(thing.place * len(bands))]
    radius = min(x1 - x0, y1 - y0) * (0.2 + 0.28 * thing.size)
    x = x0 + radius + thing.across * (x1 - x0 - 2 * radius)
    y = y0 + radius + thing.down * (y1 - y0 - 2 * radius)
    return x, y, radius


def paint_text(
    studio: Studio,
    look: Look,
    image: Array,
    mask: Mask,
    steps: Array,
    against: tuple[Colour, float, float, float],
) -> None:
    """Paint shadow, depth, outline and ink.

    against: the colour, the background's least and greatest brightness, and the height of the
    shortest line.
    """
    colour, low, high, lowest = against
    light = brightness(colour) > (low + high) / 2
    other: Colour = (0, 0, 0) if light else (255, 255, 255)
    ink = soften(mask.ink) if look.blur else mask.ink
    painted = mix_ink(studio, look, colour, low, high)
    apart = max(low - painted[1], painted[1] - high, 1.0)
    ensure_contrast(
        Mask(ink, mask.top, mask.left), steps, look.lines, studio.recipe.contrast / apart
    )
    body = extrude(ink, look.extrusion, lowest) if look.extrusion else ink
    if look.shadow:
        _paint(image, mask, cast_shadow(body, look.shadow, lowest), other)
    if look.extrusion:
        _paint(image, mask, body, middle(colour, other))
    if look.outline:
        own = look.outline.colour
        _paint(
            image,
            mask,
            widen(ink, reach(look.outline.width, lowest)),
            sign_colour(own, not light) if own else other,
        )
    if look.ink is None:
        _paint(image, mask, ink, colour)
    else:
        paint_ink(image, ink, mask.top, mask.left, painted[0])


def _paint(image: Array, at: Mask, ink: Array, colour: Colour) -> None:
    paint_mask(image, Mask(ink, at.top, at.left), colour)


def middle(a: Colour, b: Colour) -> Colour:
    """Return a colour nearer to the first of two."""
    red, green, blue = ((2 * x + y) // 3 for x, y in zip(a, b, strict=True))
    return red, green, blue


def mix_ink(
    studio: Studio, look: Look, colour: Colour, low: float, high: float
) -> tuple[Ink, float]:
    """Return the ink, and the brightness that it has on the background.

    Blending and translucency that would take away the contrast are left out.
    """
    drawn = look.ink
    texture = studio.textures[int(drawn.texture * len(studio.textures)) if drawn else 0]
    bgr = np.array(colour[::-1], np.uint8)
    if drawn is None:
        return Ink(bgr, texture, 0, 256, NORMAL), brightness(colour)
    rough = int(drawn.roughness * 256)
    background = round((low + high) / 2)
    r, g, b = (blended(background, value, drawn.blending) for value in colour)
    seen = background + (brightness((r, g, b)) - background) * drawn.opacity
    if max(low - seen, seen - high) < studio.recipe.contrast:
        return Ink(bgr, texture, rough, 256, NORMAL), brightness(colour)
    return Ink(bgr, texture, rough, int(drawn.opacity * 256), drawn.blending), seen


def ensure_contrast(mask: Mask, steps: Array, lines: int, wanted: float) -> None:
    """Give more ink to lines whose thin strokes have less than they need of their colour."""
    wanted = min(wanted, 1.0)
    strengths = ink_strength(mask.ink, steps, mask.top, mask.left, lines)
    if strengths.min() < wanted:
        gains = np.maximum(wanted / strengths, 1.0)
        strengthen(mask.ink, steps, mask.top, mask.left, gains)


def finish(studio: Studio, look: Look, image: Array, lowest: float) -> Array:
    """Take the image with a camera: focus, movement, resolution, light and grain."""
    image = defocus(image, look.defocus * lowest)
    if look.motion:
        image = shake(image, look.motion.across * lowest, look.motion.down * lowest)
    if look.enlargement > 1:
        image = enlarge(image, look.enlargement, lowest)
    if look.light:
        light_up(image, studio.camera, look.light)
    if look.grain:
        add_grain(image, studio.camera, look.grain)
    return image
