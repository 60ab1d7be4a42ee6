"""Scenes: drawn places where text is found, in integer arithmetic.

Signs on walls, shop fronts, packages, notice boards and the like, without any text, for users who
have no photographs. Each scene is one small function from a random generator and a size to RGB
pixels, built from the textures. They are made once for a pool, so they may take some milliseconds.
"""

from collections.abc import Callable

import cv2
import numpy as np

from textblocks_gen.backgrounds import textures
from textblocks_gen.backgrounds.noise import Rng, centred, grain, layered, ramp, smooth
from textblocks_gen.backgrounds.paint import (
    DARK,
    FRONTS,
    LAMPS,
    METALS,
    PAINTS,
    PALE,
    blend,
    box_corners,
    box_outline,
    cast_shadow,
    corner_radius,
    draw_rim,
    fill_box,
    lighter,
    pick,
    place_box,
    polygon_mask,
    wear_off,
)
from textblocks_gen.backgrounds.scene_parts import (
    cork,
    decorate_carton,
    draw_awning,
    draw_carton,
    draw_panel,
    draw_pin,
    draw_post,
    draw_window_grid,
    draw_windows,
    landscape,
    photograph,
    print_sheet,
    wall,
)
from textblocks_gen.backgrounds.textures import Pixels, base_colour, shaded


def sign(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a painted sign or a name plate, screwed to a wall."""
    image = wall(rng, height, width)
    box = place_box(rng, height, width, 72, 94, 46, 84)
    draw_panel(rng, image, box_outline(rng, box, pick(rng, 0, 5), corner_radius(rng, box)))
    if rng.integers(3) == 0:  # a smaller one hangs below or above
        left, top, right, bottom = box
        tall = height * pick(rng, 10, 16) // 100
        above = top > height - bottom
        y = top - tall - 8 if above else bottom + 8
        inset = (right - left) * pick(rng, 0, 20) // 100
        draw_panel(rng, image, box_outline(rng, (left + inset, y, right - inset, y + tall), 0, 0))
    return photograph(rng, image)


def shop_front(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a fascia over shop windows, with masonry above and perhaps an awning below."""
    image = wall(rng, height, width)
    colour = base_colour(rng, PAINTS)
    top = height * pick(rng, 8, 30) // 100
    bottom = top + height * pick(rng, 30, 46) // 100
    draw_windows(rng, image, (0, bottom, width, height), colour)
    fascia = (-10, top, width + 10, bottom)
    draw_panel(rng, image, box_outline(rng, fascia, 1, 0), colour, border=False)
    # A cornice above and a ledge below: a light and a dark line each.
    thick = max(4, height // 60)
    for y in (top - thick, bottom - thick):
        fill_box(image, (0, y, width, y + thick), lighter(colour, 36))
        fill_box(image, (0, y + thick, width, y + thick + thick // 2 + 1), lighter(colour, -50))
    if rng.integers(2):
        draw_awning(rng, image, bottom + thick, height * pick(rng, 9, 16) // 100)
    return photograph(rng, image)


def package(rng: Rng, height: int, width: int) -> Pixels:
    """Draw boxes on a shelf, with a band or a label on the front one."""
    image = textures.blurred(rng, height, width)
    image = (image.astype(np.int16) * pick(rng, 50, 90) // 100).astype(np.uint8)
    floor = height * pick(rng, 90, 97) // 100
    shelf = polygon_mask(image, box_corners((0, floor, width, height)))
    blend(image, shelf, textures.wood(rng, height, width))
    for _ in range(pick(rng, 1, 3)):  # the ones behind
        x, y = pick(rng, -10, 90) * width // 100, pick(rng, 10, 50) * height // 100
        draw_carton(rng, image, (x, y, x + width * pick(rng, 20, 40) // 100, floor - 4))
    left = width * pick(rng, 3, 14) // 100
    right = width - width * pick(rng, 10, 18) // 100
    front = (left, height * pick(rng, 10, 26) // 100, right, floor)
    draw_carton(rng, image, front)
    decorate_carton(rng, image, front)
    return photograph(rng, image)


def notice_board(rng: Rng, height: int, width: int) -> Pixels:
    """Draw sheets of paper pinned to a board or pasted on a wall, one over the other."""
    image = cork(rng, height, width) if rng.integers(2) else wall(rng, height, width)
    for k in range(pick(rng, 4, 8)):
        last = k >= 3
        wide = width * (pick(rng, 56, 80) if last else pick(rng, 24, 44)) // 100
        tall = height * (pick(rng, 40, 72) if last else pick(rng, 26, 50)) // 100
        x, y = pick(rng, -wide // 6, width - wide * 5 // 6), pick(rng, 0, height - tall)
        corners = box_outline(rng, (x, y, x + wide, y + tall), pick(rng, 0, 7), 0)
        mask = polygon_mask(image, corners)
        cast_shadow(image, mask, (3, 4), 5, 110)
        sheet = textures.paper(rng, height, width)
        tint = np.array(base_colour(rng, PALE), np.uint16)
        blend(image, mask, (sheet * (128 + tint // 2) >> 8).astype(np.uint8))
        if rng.integers(2):
            print_sheet(rng, image, mask, corners)
        draw_pin(image, (x + wide // 2, y + max(6, tall // 30)), base_colour(rng, PAINTS[:9]))
        if last and rng.integers(2):
            break
    return photograph(rng, image)


def road_sign(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a sign on posts before sky, trees and road, which are out of focus."""
    image = landscape(rng, height, width)
    box = place_box(rng, height, width, 66, 90, 44, 74)
    left, top, right, bottom = box
    posts = (left + (right - left) // 5, right - (right - left) // 5)
    for x in posts[: pick(rng, 1, 3)]:
        wide = max(5, width // 60)
        draw_post(image, (x, (top + bottom) // 2, x + wide, height), base_colour(rng, METALS))
    colour = base_colour(
        rng, ((16, 74, 150), (0, 104, 74), (240, 240, 238), (236, 190, 20), (120, 70, 40))
    )
    radius = min(right - left, bottom - top) // pick(rng, 8, 16)
    draw_panel(rng, image, box_outline(rng, box, pick(rng, 0, 4), radius), colour)
    return photograph(rng, image)


def shutter(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a rolling shutter or a corrugated wall, with a painted field on it."""
    colour = base_colour(rng, (*METALS, *PAINTS[:3], *PAINTS[6:10]))
    period = pick(rng, 10, 30)
    along = np.arange(height, dtype=np.int16)[:, None] % period
    ribs = (np.abs(along * 64 // period - 32) - 16) * pick(rng, 1, 3)
    ribs = ribs - np.where(along < 2, 50, 0)
    stains = (layered(rng, height, width, 8, 4) >> 2) + (
        centred(smooth(rng, height, width, 2, 4)) >> 4
    )
    shade = np.broadcast_to(ribs, (height, width)).astype(np.int16) + stains
    image = shaded(colour, shade + grain(rng, height, width, 6))
    box = place_box(rng, height, width, 70, 96, 44, 80)
    painted = shaded(base_colour(rng, PAINTS), (shade >> 1) + (stains >> 1))
    blend(image, wear_off(rng, polygon_mask(image, box_outline(rng, box, 1, 0)), 70), painted)
    return photograph(rng, image)


def light_box(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a lit sign at night, with its glow and with lights out of focus."""
    dark = layered(rng, height, width, 8, 4) >> 2
    image = shaded(base_colour(rng, ((40, 38, 46), (30, 34, 44), (52, 42, 38))), dark - 30)
    for _ in range(pick(rng, 5, 16)):
        centre = (pick(rng, 0, width), pick(rng, 0, height))
        spot = np.zeros((height, width), np.uint8)
        cv2.circle(spot, centre, pick(rng, height // 50, height // 18), pick(rng, 60, 190), -1)
        blend(image, cv2.blur(spot, (5, 5)), base_colour(rng, LAMPS))
    box = place_box(rng, height, width, 74, 94, 44, 76)
    mask = polygon_mask(image, box_outline(rng, box, pick(rng, 0, 4), corner_radius(rng, box)))
    colour = base_colour(
        rng, ((250, 246, 232), (255, 236, 190), (196, 226, 255), (240, 64, 52), (255, 196, 60))
    )
    reach = height // 12 * 2 + 1
    halo = cv2.blur(cv2.blur(mask, (reach, reach)), (reach, reach))
    blend(image, (halo.astype(np.int16) * 100 // 255).astype(np.uint8), colour)
    tubes = (ramp(rng, height, width) >> 3) + (layered(rng, height, width, 7, 2) >> 3)
    blend(image, mask, shaded(colour, tubes - 6))
    draw_rim(image, mask, 5, (26, 26, 28))
    return photograph(rng, image)


def blackboard(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a slate with smears of chalk in a wooden frame, as cafés put out."""
    image = wall(rng, height, width)
    box = place_box(rng, height, width, 80, 96, 62, 92)
    outer = polygon_mask(image, box_outline(rng, box, pick(rng, 0, 2), 0))
    cast_shadow(image, outer, (5, 7), 11, 140)
    blend(image, outer, textures.wood(rng, height, width))
    side = 2 * (min(height, width) // pick(rng, 34, 56)) + 1
    slate = cv2.erode(outer, np.ones((side, side), np.uint8))
    smears = np.maximum(layered(rng, height, width, 7, 4), -20) >> 2
    streaks = centred(smooth(rng, height, width, 2, 4)) >> 4
    shade = smears + streaks + grain(rng, height, width, 6)
    blend(image, slate, shaded(base_colour(rng, DARK), shade + 8))
    draw_rim(image, slate, 3, (20, 16, 14))
    return photograph(rng, image)


def street(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a street out of focus: sky, a row of fronts with windows and shops, ground."""
    image = landscape(rng, height, width)
    x = -pick(rng, 0, width // 5)
    ground = height * pick(rng, 80, 94) // 100
    while x < width:
        wide = width * pick(rng, 26, 60) // 100
        top = height * pick(rng, -20, 30) // 100
        front = (x, top, x + wide, ground)
        colour = base_colour(rng, FRONTS)
        shade = (layered(rng, height, width, 7, 3) >> 3) + pick(rng, -30, 20)
        blend(image, polygon_mask(image, box_corners(front)), shaded(colour, shade))
        shop = ground - height * pick(rng, 18, 28) // 100
        draw_window_grid(rng, image, (x, top, x + wide, shop))
        if rng.integers(3):
            draw_windows(rng, image, (x, shop, x + wide, ground), base_colour(rng, PAINTS))
            fill_box(image, (x, shop - height // 22, x + wide, shop), base_colour(rng, PAINTS))
        x += wide
    soft = 2 * pick(rng, 3, 8) + 1
    return photograph(rng, cv2.blur(cv2.blur(image, (soft, soft)), (soft, soft)))


def vehicle(rng: Rng, height: int, width: int) -> Pixels:
    """Draw the side of a van or a bus: lacquer that mirrors, stripes, seams, rivets and windows."""
    colour = base_colour(rng, PAINTS)
    gloss = np.abs(np.arange(height) * 512 // height - pick(rng, 100, 300)).astype(np.int16)
    shade = (40 - (gloss >> 2))[:, None] + (layered(rng, height, width, 8, 2) >> 4)
    image = shaded(colour, shade + grain(rng, height, width, 3))
    y = height * pick(rng, 62, 84) // 100
    for _ in range(pick(rng, 0, 3)):
        thick = height * pick(rng, 2, 9) // 100
        slant = height * pick(rng, -8, 9) // 100
        stripe = [(0, y), (width, y + slant), (width, y + slant + thick), (0, y + thick)]
        blend(image, polygon_mask(image, stripe), shaded(base_colour(rng, PAINTS), shade))
        y += thick + height * pick(rng, 1, 5) // 100
    if rng.integers(2):
        sill = height * pick(rng, 10, 20) // 100
        draw_windows(rng, image, (0, -4, width, sill), lighter(colour, -30))
    for _ in range(pick(rng, 1, 3)):
        x = pick(rng, width // 12, width)
        fill_box(image, (x, 0, x + 2, height), lighter(colour, -60))
        fill_box(image, (x + 2, 0, x + 3, height), lighter(colour, 30))
        for at in range(pick(rng, 4, 20), height, max(12, height // 20)):
            cv2.circle(image, (x + 7, at), 2, lighter(colour, -36), -1, cv2.LINE_AA)
    return photograph(rng, image)


Scene = Callable[[Rng, int, int], Pixels]
SCENES: tuple[Scene, ...] = (
    sign,
    shop_front,
    package,
    road_sign,
    notice_board,
    light_box,
    street,
    shutter,
    blackboard,
    vehicle,
)
