"""Warp: the bend and the perspective or affine transform that put a block into the image.

Closed forms with plain arithmetic, because results must be equal on every machine: no
trigonometric functions, no linear solvers.
"""

import numpy as np
from numba import njit

from ivl_shards.format.schema import Array
from textblocks_gen.effects.look import Bend
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.typesetting.raster import STRAIGHT

# Kept free at the image's edge, for shadows and outlines.
MARGIN = 5.0
_HALVINGS = 6
# Twice the greatest value of t (1 - t) (1 - 2 t) between 0 and 1, rounded up.
_WAVE = 0.1926

AFFINE, PERSPECTIVE = 0, 1
KINDS = ("affine", "perspective")


def bend_page(bend: Bend | None, size: tuple[float, float], height: float) -> tuple[Array, float]:
    """Return the polynomial of a bend for `Place`, and by how much the page grows in height.

    height: mean of the lines. No point is moved up.
    """
    if bend is None:
        return STRAIGHT, 0.0
    # A short line bends less than a long one: its letters must not fan out.
    by = min(bend.strength * height, 0.12 * size[0])
    arc_down, wave = (
        (0.0, 4 * by, -4 * by, 0.0),
        (by / 2, by / _WAVE, -3 * by / _WAVE, 2 * by / _WAVE),
    )
    arc_up, back = (
        (by, -4 * by, 4 * by, 0.0),
        (by / 2, -by / _WAVE, 3 * by / _WAVE, -2 * by / _WAVE),
    )
    return np.array([1 / size[0], *(arc_up, arc_down, wave, back)[bend.kind]]), by


def draw_warp(
    recipe: TextRecipe, size: tuple[float, float], rng: np.random.Generator
) -> tuple[Array, int]:
    """Draw the homography from the page to the image; return it and its kind.

    A transform by which the block would leave the image is halved until it does not: the
    block's own size, which the height of its lines depends on, is not touched unless even
    the upright block is too large.
    """
    turn, lean, kind, short, side, across, down = rng.random(7).tolist()
    perspective = kind < recipe.perspective
    warp = (
        recipe.rotation * (2 * turn - 1),
        recipe.shear * (2 * lean - 1),
        recipe.foreshortening * short if perspective else 0.0,
    )
    room = (recipe.width - 2 * MARGIN, recipe.height - 2 * MARGIN)
    quad = place_page(size, room, warp, int(side * 4), (across, down))
    return page_to_quad(quad, *size), PERSPECTIVE if perspective else AFFINE


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def place_page(
    size: tuple[float, float],
    room: tuple[float, float],
    warp: tuple[float, float, float],
    side: int,
    at: tuple[float, float],
) -> Array:
    """Return where the corners of a page lie in the image, (4, 2).

    warp: degrees, shear, and by how much one side is shortened. at: from 0 to 1, across and down.
    """
    corners = np.empty((4, 2))
    strength = 1.0
    for halving in range(_HALVINGS + 1):
        strength = 0.5**halving if halving < _HALVINGS else 0.0
        foreshorten(corners, size, warp[2] * strength, side)
        turn_points(corners, warp[0] * strength, warp[1] * strength)
        wide, tall = np.ptp(corners[:, 0]), np.ptp(corners[:, 1])
        if wide <= room[0] and tall <= room[1]:
            break
    shrink = min(1.0, room[0] / wide, room[1] / tall)
    left, top = corners[:, 0].min(), corners[:, 1].min()
    for k in range(4):
        x, y = corners[k]
        corners[k, 0] = (x - left) * shrink + MARGIN + at[0] * (room[0] - wide * shrink)
        corners[k, 1] = (y - top) * shrink + MARGIN + at[1] * (room[1] - tall * shrink)
    return corners


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def foreshorten(corners: Array, size: tuple[float, float], by: float, side: int) -> None:
    """Write the corners of a page about its centre, one of its four sides shortened."""
    x, y = size[0] / 2, size[1] / 2
    if side % 2 == 0:
        # A single line is far wider than high: by the same share its letters would fan out.
        by *= min(1.0, 2 * y / x)
    corners[0, 0], corners[0, 1], corners[1, 0], corners[1, 1] = -x, -y, x, -y
    corners[2, 0], corners[2, 1], corners[3, 0], corners[3, 1] = x, y, -x, y
    for k in (side, (side + 1) % 4):
        # Sides 0 and 2 are horizontal: their ends move sideways, those of 1 and 3 up or down.
        corners[k, side % 2] *= 1 - by


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def page_to_quad(quad: Array, width: float, height: float) -> Array:
    """Return the homography from a page, (0, 0) to (width, height), to a convex quad, (4, 2).

    >>> (page_to_quad(np.array([[0, 0], [2, 0], [2, 2], [0, 2.0]]), 1.0, 1.0) + 0.0).tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = quad[0], quad[1], quad[2], quad[3]
    sx, sy = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    dx1, dx2, dy1, dy2 = x1 - x2, x3 - x2, y1 - y2, y3 - y2
    determinant = dx1 * dy2 - dx2 * dy1
    g = (sx * dy2 - dx2 * sy) / determinant
    h = (dx1 * sy - sx * dy1) / determinant
    return np.array(
        [
            [(x1 - x0 + g * x1) / width, (x3 - x0 + h * x3) / height, x0],
            [(y1 - y0 + g * y1) / width, (y3 - y0 + h * y3) / height, y0],
            [g / width, h / height, 1.0],
        ]
    )


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def turn_points(points: Array, degrees: float, shear: float) -> None:
    """Shear points, (n, 2), about the origin and then turn them clockwise.

    The turn is by half its angle twice over, with tan(a) taken as a: exact arithmetic, and for
    the few degrees in question the angle is right to a hundredth of a degree.
    """
    t = degrees * (3.141592653589793 / 360)
    cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    for k in range(len(points)):
        y = points[k, 1]
        x = points[k, 0] + shear * y
        points[k, 0], points[k, 1] = cos * x - sin * y, sin * x + cos * y
