"""Layout: where shapes lie, in which colours they may be, and how one is painted."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import cv2
import numpy as np

from ivl_shards import UserError
from ivl_shards.format.schema import Array
from shapes_gen.coloured.recipe import ColouredRecipe

KINDS = ("circle", "triangle", "square")
_HALF_SQRT3 = math.sqrt(3) / 2
_HALF_SQRT2 = math.sqrt(2) / 2
PLACES_A_TRY = 64
LAYOUTS = 200
_COLOURS = 256
# Distance of two centres over the sum of their radii below which colours must differ.
TOUCHING = 1.15
# OpenCV takes fixed-point coordinates: 4 bits are a sixteenth of a pixel.
_SHIFT = 4
# OpenCV smooths an edge outwards, a circle's by half a pixel and a polygon's by two thirds. Shapes
# are drawn so much smaller, in sixteenths, that their area is right. (The circle around a triangle
# is twice as large as the one inside it, so it loses twice as much.)
_INSET = {"circle": 8, "triangle": 21, "square": 11}

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]


class Drawing(NamedTuple):
    """An image and what is in it, in the order of painting."""

    image: Array
    """(H, W, 3), uint8"""
    discs: list["Disc"]
    kinds: list[int]
    colours: list[Colour]
    boxes: list[Box]


class Disc(NamedTuple):
    """The circle around a shape."""

    x: float
    y: float
    radius: float

    def near(self, other: "Disc", spacing: float) -> bool:
        """Tell whether the two are closer than the spacing allows."""
        least = spacing * (self.radius + other.radius)
        return (self.x - other.x) ** 2 + (self.y - other.y) ** 2 < least * least


def place(recipe: ColouredRecipe, count: int, rng: np.random.Generator) -> list[Disc]:
    """Draw places and radii. A layout that does not work out is begun anew with smaller shapes."""
    numbers = random_numbers(rng)
    for attempt in range(LAYOUTS):
        # From all sizes at first down to the smallest only, which always fit.
        range_ = (recipe.largest - recipe.smallest) * max(0.0, 1 - attempt / 20)
        discs: list[Disc] = []
        for _ in range(count):
            disc = _find(recipe, recipe.smallest + range_ * next(numbers), numbers, discs)
            if disc is None:
                break
            discs.append(disc)
        if len(discs) == count:
            return discs
    raise no_place(recipe, count)


def no_place(recipe: ColouredRecipe, count: int) -> UserError:
    """Return the error about shapes that did not fit."""
    return UserError(
        f"{count} shapes of radius {recipe.smallest:g} found no place on "
        f"{recipe.size}×{recipe.size}: ask for fewer, or for a larger --size"
    )


def on_grid(value: float) -> float:
    """Round to a sixteenth of a pixel, so that what is painted is what is stored."""
    return round(value * 16) / 16


def _find(
    recipe: ColouredRecipe, radius: float, numbers: Iterator[float], discs: list[Disc]
) -> Disc | None:
    """Return the first of the drawn places that keeps its distance from all discs."""
    radius = on_grid(radius)
    room = recipe.size - 2 * (radius + 1)  # a pixel is left at the edge
    for _ in range(PLACES_A_TRY):
        x = on_grid(radius + 1 + room * next(numbers))
        y = on_grid(radius + 1 + room * next(numbers))
        disc = Disc(x, y, radius)
        if not any(disc.near(other, recipe.spacing) for other in discs):
            return disc
    return None


def random_numbers(rng: np.random.Generator) -> Iterator[float]:
    """Yield numbers from 0 to 1 without end, drawn many at a time, which is far cheaper."""
    while True:
        drawn: list[float] = rng.random(64).tolist()
        yield from drawn


def choose_colours(
    recipe: ColouredRecipe, discs: list[Disc], background: Colour, candidates: Iterator[Colour]
) -> list[Colour]:
    """Return a colour for each disc that differs from the background and from all it may touch."""
    colours: list[Colour] = []
    for disc in discs:
        # Shapes this close share an edge or nearly do.
        others = [c for d, c in zip(discs, colours, strict=False) if disc.near(d, TOUCHING)]
        others.append(background)
        colours.append(allowed_colour(recipe, others, candidates))
    return colours


def allowed_colour(
    recipe: ColouredRecipe, others: list[Colour], candidates: Iterator[Colour]
) -> Colour:
    """Return the first candidate that differs enough from all other colours."""
    for candidate in islice(candidates, _COLOURS):
        if all(distance(candidate, other) >= recipe.contrast for other in others):
            return candidate
    raise UserError(
        f"no colour is {recipe.contrast:g} away from {len(others)} others: ask for less --contrast"
    )


def distance(a: Colour, b: Colour) -> float:
    """Return the "redmean" colour distance, near to how people see it, in exact arithmetic.

    >>> distance((0, 0, 0), (255, 255, 255)) > 760
    True
    """
    red = (a[0] + b[0]) / 2
    dr, dg, db = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt((2 + red / 256) * dr * dr + 4 * dg * dg + (2 + (255 - red) / 256) * db * db)


def random_colours(rng: np.random.Generator) -> Iterator[Colour]:
    """Yield colours without end, drawn many at a time as well."""
    while True:
        drawn: list[Colour] = rng.integers(256, size=(64, 3), dtype=np.uint8).tolist()
        yield from drawn


def paint(image: Any, disc: Disc, kind: int, colour: Colour) -> Box:
    """Paint a shape with smooth edges; return its box."""
    # Our pixel centres lie at + 0.5, OpenCV's at whole numbers.
    x, y = round(disc.x * 16) - 8, round(disc.y * 16) - 8
    inset = _INSET[KINDS[kind]]
    drawn, real = round(disc.radius * 16) - inset, disc.radius
    if KINDS[kind] == "circle":
        cv2.circle(image, (x, y), drawn, colour, cv2.FILLED, cv2.LINE_AA, _SHIFT)
        return disc.x - real, disc.y - real, disc.x + real, disc.y + real
    if KINDS[kind] == "triangle":
        half = round(drawn * _HALF_SQRT3)
        corners = [(x, y - drawn), (x + half, y + drawn // 2), (x - half, y + drawn // 2)]
        side = real * _HALF_SQRT3
        box = disc.x - side, disc.y - real, disc.x + side, disc.y + real / 2
    else:
        half = round((drawn + inset) * _HALF_SQRT2) - inset
        left, top, right, bottom = x - half, y - half, x + half, y + half
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        side = real * _HALF_SQRT2
        box = disc.x - side, disc.y - side, disc.x + side, disc.y + side
    cv2.fillConvexPoly(image, np.array(corners, np.int32), colour, cv2.LINE_AA, _SHIFT)
    return box
