"""Warp: a small perspective or affine transform that puts a block into the image."""

import numpy as np

from ivl_shards.schema import Array
from textblocks_gen.geometry import Point, from_page, square_to_quad, turned
from textblocks_gen.recipe import TextRecipe

# Kept free at the image's edge, for shadows and outlines.
MARGIN = 5.0
_HALVINGS = 6

AFFINE, PERSPECTIVE = 0, 1
KINDS = ("affine", "perspective")


def draw_warp(
    recipe: TextRecipe, size: tuple[float, float], rng: np.random.Generator
) -> tuple[Array, int]:
    """The homography from the page to the image, and which kind it is.

    A transform by which the block would leave the image is halved until it does not: the
    block's own size, which the height of its lines depends on, is not touched unless even
    the upright block is too large.
    """
    turn, lean, kind, short, side, across, down = rng.random(7).tolist()
    perspective = kind < recipe.perspective
    degrees, shear = recipe.rotation * (2 * turn - 1), recipe.shear * (2 * lean - 1)
    shortened = recipe.foreshortening * short if perspective else 0.0
    room = (recipe.width - 2 * MARGIN, recipe.height - 2 * MARGIN)
    strength = 1.0
    for halving in range(_HALVINGS + 1):
        strength = 0.5**halving if halving < _HALVINGS else 0.0
        corners = _foreshortened(size, shortened * strength, int(side * 4))
        corners = turned(corners, degrees * strength, shear * strength)
        wide, tall = _extent(corners)
        if wide <= room[0] and tall <= room[1]:
            break
    shrink = min(1.0, room[0] / wide, room[1] / tall)
    left, top = min(x for x, _ in corners), min(y for _, y in corners)
    dx = MARGIN + across * (room[0] - wide * shrink)
    dy = MARGIN + down * (room[1] - tall * shrink)
    quad = [((x - left) * shrink + dx, (y - top) * shrink + dy) for x, y in corners]
    return from_page(square_to_quad(quad), *size), PERSPECTIVE if perspective else AFFINE


def _foreshortened(size: tuple[float, float], by: float, side: int) -> list[Point]:
    """Corners of the block about its centre, one of its four sides shortened."""
    x, y = size[0] / 2, size[1] / 2
    if side % 2 == 0:
        # A single line is far wider than high: by the same share its letters would fan out.
        by *= min(1.0, 2 * y / x)
    corners = [(-x, -y), (x, -y), (x, y), (-x, y)]
    for k in (side, (side + 1) % 4):
        cx, cy = corners[k]
        # Sides 0 and 2 are horizontal: their ends move sideways, those of 1 and 3 up or down.
        corners[k] = (cx * (1 - by), cy) if side % 2 == 0 else (cx, cy * (1 - by))
    return corners


def _extent(points: list[Point]) -> tuple[float, float]:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return max(xs) - min(xs), max(ys) - min(ys)
