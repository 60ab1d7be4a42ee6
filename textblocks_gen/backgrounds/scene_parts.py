"""Scene parts: walls, panels, cartons, windows and the like that scenes consist of."""

from collections.abc import Sequence

import cv2
import numpy as np

from textblocks_gen.backgrounds import textures
from textblocks_gen.backgrounds.noise import Grey, Rng, centred, grain, layered, ramp, smooth
from textblocks_gen.backgrounds.paint import (
    PAINTS,
    PALE,
    Box,
    Point,
    blend,
    bounding_box,
    box_corners,
    box_outline,
    cast_shadow,
    contrasting,
    corner_radius,
    darken_box,
    draw_rim,
    fill_box,
    lighter,
    pick,
    polygon_mask,
)
from textblocks_gen.backgrounds.textures import Colour, Pixels, Texture, base_colour, shaded

WALLS: tuple[Texture, ...] = (
    textures.plaster,
    textures.bricks,
    textures.concrete,
    textures.wood,
    textures.tiles,
    textures.plaster,
    textures.bricks,
    textures.granite,
)


def wall(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a wall of a random kind."""
    return WALLS[int(rng.integers(len(WALLS)))](rng, height, width)


def cork(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a cork board."""
    crumbs = (centred(smooth(rng, height, width, 2)) >> 1) + (
        centred(smooth(rng, height, width, 1)) >> 2
    )
    shade = (crumbs >> 1) + (layered(rng, height, width, 8, 3) >> 4)
    return shaded(base_colour(rng, ((176, 128, 82), (150, 106, 66))), shade)


def landscape(rng: Rng, height: int, width: int) -> Pixels:
    """Draw sky, trees and ground, all far out of focus."""
    sky = base_colour(rng, ((150, 186, 222), (200, 208, 214), (110, 160, 214), (226, 214, 200)))
    down = (np.arange(height, dtype=np.int16)[:, None] * 60 // height).astype(np.int16)
    image = shaded(sky, down - 30 + (layered(rng, height, width, 8, 3) >> 3))
    horizon = height * pick(rng, 45, 80) // 100
    leaves = layered(rng, height, width, 5, 5) + (layered(rng, height, width, 7, 3) >> 1)
    trees = shaded(
        base_colour(rng, ((52, 76, 40), (70, 84, 52), (44, 60, 44), (96, 84, 50))), leaves
    )
    crown = layered(rng, 1, width, 7, 5)[0].astype(np.int32) * height // 400
    row = np.arange(height, dtype=np.int32)[:, None]
    top = horizon - height * pick(rng, 8, 40) // 100
    behind = (row > top + crown) & (row <= horizon)
    blend(image, cv2.blur((behind * 255).astype(np.uint8), (9, 9)), trees)
    earth = base_colour(rng, ((112, 112, 114), (110, 122, 70), (150, 140, 120)))
    rough = (layered(rng, height, width, 6, 4) >> 2) + grain(rng, height, width, 8)
    below = polygon_mask(image, box_corners((0, horizon, width, height)))
    blend(image, below, shaded(earth, rough))
    soft = 2 * pick(rng, 2, 7) + 1
    return np.asarray(cv2.blur(cv2.blur(image, (soft, soft)), (soft, soft)))


def draw_panel(
    rng: Rng,
    image: Pixels,
    corners: Sequence[Point],
    colour: Colour | None = None,
    border: bool = True,
) -> None:
    """Draw a panel with a shadow, a rim of light and, mostly, a border and screws."""
    height, width, _ = image.shape
    colour = colour or base_colour(rng, PAINTS)
    mask = polygon_mask(image, corners)
    cast_shadow(image, mask, (pick(rng, 1, 6), pick(rng, 2, 8)), 2 * pick(rng, 2, 7) + 1, 130)
    if rng.integers(5) == 0:
        surface = textures.wood(rng, height, width)
    else:
        stains = (layered(rng, height, width, 8, 4) >> 4) + (ramp(rng, height, width) >> 2)
        surface = shaded(colour, stains + grain(rng, height, width, 5))
    blend(image, mask, surface)
    draw_rim(image, mask, 1, lighter(colour, -44))
    if border and rng.integers(4):
        inset, thick = (
            max(4, height // pick(rng, 30, 60)),
            max(2, height // pick(rng, 90, 180)),
        )
        outer = cv2.erode(mask, np.ones((2 * inset + 1, 2 * inset + 1), np.uint8))
        paint = base_colour(rng, PAINTS) if rng.integers(3) else contrasting(colour)
        draw_rim(image, outer, thick, paint)
    elif border and len(corners) == 4 and rng.integers(2):
        left, top, right, bottom = bounding_box(corners)
        inset = max(6, height // 40)
        for x in (left + inset, right - inset):
            for y in (top + inset, bottom - inset):
                draw_pin(image, (x, y), (150, 150, 148))


def draw_carton(rng: Rng, image: Pixels, front: Box) -> None:
    """Draw a box: its front, its lid and its right side."""
    left, top, right, bottom = front
    height, width, _ = image.shape
    colour = base_colour(rng, (*PAINTS, (186, 146, 100), (186, 146, 100)))
    depth = (right - left) * pick(rng, 8, 14) // 100
    lift = depth * pick(rng, 40, 70) // 100
    lid = [(left, top), (left + depth, top - lift), (right + depth, top - lift), (right, top)]
    side = [
        (right, top),
        (right + depth, top - lift),
        (right + depth, bottom - lift),
        (right, bottom),
    ]
    shadow = polygon_mask(image, box_corners((left + 6, bottom - 8, right + depth, bottom + 10)))
    cast_shadow(image, shadow, (4, 4), 15, 150)
    stains = (layered(rng, height, width, 7, 4) >> 4) + (ramp(rng, height, width) >> 3)
    stains = stains + grain(rng, height, width, 6)
    for corners, light in ((box_corners(front), 0), (lid, 22), (side, -34)):
        blend(image, polygon_mask(image, corners), shaded(colour, stains + light))


def decorate_carton(rng: Rng, image: Pixels, front: Box) -> None:
    """Print bands, a disc or a label on the front of a box."""
    left, top, right, bottom = front
    wide, tall = right - left, bottom - top
    if rng.integers(2):
        band = top + tall * pick(rng, 0, 70) // 100
        fill_box(
            image,
            (left, band, right, min(bottom, band + tall * pick(rng, 6, 26) // 100)),
            base_colour(rng, PAINTS),
        )
    if rng.integers(3) == 0:
        centre = (
            left + wide * pick(rng, 15, 85) // 100,
            top + tall * pick(rng, 15, 85) // 100,
        )
        cv2.circle(
            image,
            centre,
            tall * pick(rng, 8, 22) // 100,
            base_colour(rng, PAINTS),
            -1,
            cv2.LINE_AA,
        )
    if rng.integers(3):
        inset_x, inset_y = wide * pick(rng, 5, 12) // 100, tall * pick(rng, 8, 24) // 100
        label = (left + inset_x, top + inset_y, right - inset_x, bottom - inset_y)
        mask = polygon_mask(image, box_outline(rng, label, 1, corner_radius(rng, label)))
        colour = base_colour(rng, (*PALE, *PAINTS))
        height, width, _ = image.shape
        shade = (ramp(rng, height, width) >> 3) + grain(rng, height, width, 5)
        blend(image, mask, shaded(colour, shade))
        draw_rim(image, mask, 2, contrasting(colour))


def draw_windows(rng: Rng, image: Pixels, box: Box, frame: Colour) -> None:
    """Draw a row of panes: dark glass with a reflection, in frames."""
    height, width, _ = image.shape
    left, top, right, bottom = box
    fill_box(image, box, frame)
    dim = (layered(rng, height, width, 6, 3) >> 1) + (ramp(rng, height, width) >> 1)
    glass = shaded(base_colour(rng, ((46, 54, 60), (70, 80, 84), (90, 84, 70), (34, 36, 40))), dim)
    gleam = np.clip(layered(rng, height, width, 8, 2) * 2, 0, 90).astype(np.uint8)
    blend(glass, gleam, (206, 216, 224))
    count, bar = pick(rng, 2, 5), max(5, width // 70)
    pane = (right - left) // count
    for k in range(count):
        x = left + k * pane
        hole = (x + bar, top + bar, x + pane - bar, bottom)
        blend(image, polygon_mask(image, box_corners(hole)), glass)


def draw_window_grid(rng: Rng, image: Pixels, front: Box) -> None:
    """Draw rows of windows on a front."""
    left, top, right, bottom = front
    pane = max(12, (right - left) // pick(rng, 2, 6))
    columns, floor = (right - left) // pane, pane * pick(rng, 100, 170) // 100
    rows = max(0, bottom - top) // floor
    colour = base_colour(rng, ((40, 48, 56), (70, 84, 96), (160, 180, 196), (230, 200, 130)))
    for row in range(rows):
        for column in range(columns):
            x, y = left + column * pane + pane // 4, top + row * floor + floor // 4
            tone = lighter(colour, pick(rng, -24, 25))
            fill_box(image, (x, y, x + pane // 2, y + floor * 6 // 10), tone)


def draw_awning(rng: Rng, image: Pixels, top: int, tall: int) -> None:
    """Draw an awning in stripes that fan out a little, with its shadow."""
    _, width, _ = image.shape
    first, other = (
        base_colour(rng, PAINTS),
        base_colour(rng, (PAINTS[5], PAINTS[10], PAINTS[13])),
    )
    stripe, flare = max(10, width // pick(rng, 10, 22)), 1 + pick(rng, 2, 8)
    whole = polygon_mask(image, box_corners((0, top, width, top + tall)))
    cast_shadow(image, whole, (0, 12), 15, 150)
    for k in range(-2, width // stripe + 3):
        a, b = k * stripe, (k + 1) * stripe
        low_a, low_b = (x + (x - width // 2) * flare // 100 for x in (a, b))
        quad = [(a, top), (b, top), (low_b, top + tall), (low_a, top + tall)]
        blend(image, polygon_mask(image, quad), first if k % 2 else other)
    hem = (0, top + tall - max(3, tall // 6), width, top + tall)
    darken_box(image, hem, 210)


def print_sheet(rng: Rng, image: Pixels, mask: Grey, corners: Sequence[Point]) -> None:
    """Print a coloured head, or a picture, on a sheet."""
    left, top, right, bottom = bounding_box(corners)
    tall = (bottom - top) * pick(rng, 10, 30) // 100
    at = top if rng.integers(2) else bottom - tall
    area = np.zeros_like(mask)
    fill_box(area, (left, at, right, at + tall), 255)
    blend(image, cv2.min(mask, area), base_colour(rng, PAINTS))


def draw_post(image: Pixels, box: Box, colour: Colour) -> None:
    """Draw an upright post, lit from the left."""
    left, top, right, bottom = box
    for x in range(left, right):
        light = 40 - (x - left) * 100 // max(1, right - left)
        fill_box(image, (x, top, x + 1, bottom), lighter(colour, light))


def draw_pin(image: Pixels, centre: Point, colour: Colour) -> None:
    """Draw the head of a pin or a screw, with a highlight and a shadow."""
    radius = max(2, image.shape[0] // 110)
    x, y = centre
    cv2.circle(image, (x + 1, y + 2), radius + 1, lighter(colour, -90), -1, cv2.LINE_AA)
    cv2.circle(image, centre, radius, colour, -1, cv2.LINE_AA)
    cv2.circle(image, (x - 1, y - 1), max(1, radius // 2), lighter(colour, 60), -1, cv2.LINE_AA)


def photograph(rng: Rng, image: Pixels) -> Pixels:
    """Light a scene unevenly, dim its corners and add the grain of a camera."""
    height, width, _ = image.shape
    rows = np.abs(np.arange(height, dtype=np.int32) * 512 // height - 256)[:, None]
    columns = np.abs(np.arange(width, dtype=np.int32) * 512 // width - 256)[None, :]
    corners = (rows * rows + columns * columns) * pick(rng, 0, 26) >> 16
    light = (ramp(rng, height, width) >> 2) + (layered(rng, height, width, 8, 2) >> 3) - corners
    factor = (128 + np.clip(light, -70, 40)).astype(np.uint16)
    lit = (image * factor[..., None] >> 7).astype(np.int16)
    lit += grain(rng, height, width, pick(rng, 3, 9))[..., None]
    return np.asarray(np.clip(lit, 0, 250), np.uint8)
