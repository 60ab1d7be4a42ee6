"""Hard coloured shapes: repeated colours, shading, texture, outlines and overlap.

Neither the number of colours nor that of connected regions tells the number of shapes. All
arithmetic on pixels is that of integers, so the images are the same on every machine.
"""

import math
from collections.abc import Iterator

import cv2
import numpy as np

from ivl_shards import UserError
from ivl_shards.format.schema import Array
from shapes_gen.coloured.layout import (
    KINDS,
    LAYOUTS,
    PLACES_A_TRY,
    TOUCHING,
    Box,
    Colour,
    Disc,
    Drawing,
    allowed_colour,
    no_place,
    on_grid,
    paint,
    random_colours,
    random_numbers,
)
from shapes_gen.coloured.recipe import ColouredRecipe

VISIBLE = 0.72
"""Fraction of each shape that the others leave visible, at least."""
# Maximum number of colours in an image, besides that of the background.
_COLOURS = 4
# Centres may be closer than `spacing` by this factor; the peaks in the memory stay apart.
_CLOSER = 0.8
# Layouts that may overlap more; after so many in vain, shapes keep the distance of `spacing`.
_CLOSE_LAYOUTS = 20
# Width of an outline, as the difference between the radii of the circles around the shape and
# around what is within its outline: about one and a half pixels for each kind.
_OUTLINE = {"circle": 1.5, "triangle": 2.75, "square": 2.0}
# Amplitudes in levels of 255: small enough that a shape stands out from what it lies on.
_SHADING, _STRIPES, _NOISE = 20, 12, 6

Window = tuple[slice, slice]
"""Rows and columns of the image."""


def draw_hard(recipe: ColouredRecipe, count: int, rng: np.random.Generator) -> Drawing:
    """Place shapes, some of them over others, then paint them in the stored order."""
    discs, kinds = _place(recipe, count, rng)
    candidates = random_colours(rng)
    background = next(candidates)
    palette = _palette(recipe, background, candidates, rng)
    colours = [palette[k] for k in rng.integers(len(palette), size=count)]
    image = _textured((recipe.size, recipe.size), background, rng)
    boxes = []
    for k, (disc, kind) in enumerate(zip(discs, kinds, strict=True)):
        # Where two shapes of one colour meet, the outline of the upper one tells them apart.
        alike = any(disc.near(discs[j], TOUCHING) and colours[j] == colours[k] for j in range(k))
        outlined = bool(rng.random() < 0.5) or alike
        boxes.append(_paint(image, disc, kind, colours[k], outlined, rng))
    image += rng.integers(-_NOISE, _NOISE + 1, size=image.shape)
    return Drawing(np.clip(image, 0, 255).astype(np.uint8), discs, kinds, colours, boxes)


def _place(
    recipe: ColouredRecipe, count: int, rng: np.random.Generator
) -> tuple[list[Disc], list[int]]:
    """Draw places, radii and kinds; a layout that does not work out is begun anew."""
    numbers = random_numbers(rng)
    for attempt in range(LAYOUTS):
        spacing = recipe.spacing * (_CLOSER if attempt < _CLOSE_LAYOUTS else 1)
        range_ = (recipe.largest - recipe.smallest) * max(0.0, 1 - attempt / _CLOSE_LAYOUTS)
        layout = _Layout(recipe.size, spacing)
        for _ in range(count):
            radius = on_grid(recipe.smallest + range_ * next(numbers))
            kind = int(next(numbers) * len(KINDS))
            places = _places(recipe.size, radius, layout.discs, numbers)
            if not any(layout.add(disc, kind) for disc in places):
                break
        else:
            return layout.discs, layout.kinds
    raise no_place(recipe, count)


def _places(
    size: int, radius: float, discs: list[Disc], numbers: Iterator[float]
) -> Iterator[Disc]:
    """Yield random places for a shape; every other one is close to a shape that is there."""
    low, high = radius + 1, size - radius - 1  # a pixel is left at the edge
    for attempt in range(PLACES_A_TRY):
        if discs and attempt % 2 == 0:
            beside = discs[int(next(numbers) * len(discs))]
            reach = radius + beside.radius
            x = beside.x + reach * (2 * next(numbers) - 1)
            y = beside.y + reach * (2 * next(numbers) - 1)
        else:
            x, y = (low + (high - low) * next(numbers) for _ in range(2))
        disc = Disc(on_grid(x), on_grid(y), radius)
        if low <= disc.x <= high and low <= disc.y <= high:
            yield disc


class _Layout:
    """The shapes placed so far, and what is visible of each."""

    def __init__(self, size: int, spacing: float) -> None:
        self.discs: list[Disc] = []
        self.kinds: list[int] = []
        self._spacing = spacing
        self._owner = np.full((size, size), -1, np.int32)  # the uppermost shape at each pixel
        self._areas = np.zeros(0, np.int64)

    def add(self, disc: Disc, kind: int) -> bool:
        """Add a shape above the others, unless it is too close to one or hides too much of it."""
        if any(disc.near(other, self._spacing) for other in self.discs):
            return False
        window, mask, _ = _mask(len(self._owner), disc, kind)
        covers = mask > 127
        owner = self._owner.copy()
        owner[window][covers] = len(self.discs)
        areas = np.append(self._areas, np.count_nonzero(covers))
        visible = np.bincount(owner[owner >= 0], minlength=len(areas))
        if (visible < VISIBLE * areas).any():
            return False
        self.discs.append(disc)
        self.kinds.append(kind)
        self._owner, self._areas = owner, areas
        return True


def _mask(size: int, disc: Disc, kind: int) -> tuple[Window, Array, Box]:
    """Return the window around a shape, how much of each of its pixels the shape covers, 0 to
    255, (h, w), and the shape's box in the image."""
    reach = disc.radius + 2
    left, top = max(0, math.floor(disc.x - reach)), max(0, math.floor(disc.y - reach))
    right = min(size, math.ceil(disc.x + reach))
    bottom = min(size, math.ceil(disc.y + reach))
    mask = np.zeros((bottom - top, right - left), np.uint8)
    moved = disc._replace(x=disc.x - left, y=disc.y - top)
    x0, y0, x1, y1 = paint(mask, moved, kind, (255, 255, 255))
    box = (x0 + left, y0 + top, x1 + left, y1 + top)
    return (slice(top, bottom), slice(left, right)), mask, box


def _palette(
    recipe: ColouredRecipe,
    background: Colour,
    candidates: Iterator[Colour],
    rng: np.random.Generator,
) -> list[Colour]:
    """Return the few colours of an image; their number does not depend on that of the shapes."""
    palette = [allowed_colour(recipe, [background], candidates)]
    for _ in range(int(rng.integers(_COLOURS))):
        try:
            palette.append(allowed_colour(recipe, [background, *palette], candidates))
        except UserError:  # a high contrast leaves space for fewer colours
            break
    return palette


def _paint(
    image: Array,
    disc: Disc,
    kind: int,
    colour: Colour,
    outlined: bool,
    rng: np.random.Generator,
) -> Box:
    """Paint a textured shape, perhaps with an outline; return its box."""
    window, mask, box = _mask(len(image), disc, kind)
    part = image[window]
    part[:] = _blend(part, _textured(mask.shape, colour, rng), mask)
    if outlined:
        inner = disc._replace(radius=disc.radius - _OUTLINE[KINDS[kind]])
        within, filled, _ = _mask(len(image), inner, kind)
        whole = np.zeros(image.shape[:2], np.uint8)
        whole[within] = filled
        part[:] = _blend(part, _outline_colour(colour), cv2.subtract(mask, whole[window]))
    return box


def _textured(shape: tuple[int, ...], colour: Colour, rng: np.random.Generator) -> Array:
    """Return a canvas of a colour with shading and, half of the time, with stripes, (h, w, 3)."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    across, down = rng.integers(-3, 4, size=2).tolist()
    # The shading is a triangle wave that goes from 0 to 48 and back.
    place = (across * x + down * y + int(rng.integers(96))) % 96
    light = np.minimum(place, 96 - place) * 2 * _SHADING // 48 - _SHADING
    if rng.random() < 0.5:
        width = int(rng.integers(5, 10))
        slope_x, slope_y = ((2, 0), (0, 2), (2, 1), (1, -2))[int(rng.integers(4))]
        light = light + ((slope_x * x + slope_y * y) // width % 2 * 2 - 1) * _STRIPES
    canvas: Array = np.array(colour, np.int64) + light[:, :, None]
    return canvas


def _outline_colour(colour: Colour) -> Array:
    """Return dark for a light colour and light for a dark one."""
    light = 3 * colour[0] + 6 * colour[1] + colour[2] > 10 * 110
    return np.array((20, 20, 20) if light else (235, 235, 235), np.int64)


def _blend(image: Array, above: Array, mask: Array) -> Array:
    """Return an image with another one above it, where the mask is."""
    share = mask[:, :, None].astype(np.int64)
    return (image * (255 - share) + above * share + 127) // 255
