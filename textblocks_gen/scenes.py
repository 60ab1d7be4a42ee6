"""Scenes: places where text is found, drawn from whole numbers alone.

Signs on walls, shop fronts, packages, notice boards and the like, without any text, for users who
have no photographs. Each scene is one small function from a random generator and a size to RGB
pixels, built from the textures. They are made once for a pool, so they may take some milliseconds.
"""

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from textblocks_gen import textures
from textblocks_gen.noise import Grey, Rng, centred, grain, layered, ramp, smooth
from textblocks_gen.textures import Colour, Pixels, Texture, base_colour, shaded

Point = tuple[int, int]
Box = tuple[int, int, int, int]
"""left, top, right, bottom in pixels"""

_WALLS: tuple[Texture, ...] = (
    textures.plaster,
    textures.bricks,
    textures.concrete,
    textures.wood,
    textures.tiles,
    textures.plaster,
    textures.bricks,
    textures.granite,
)
# What signs, awnings and packages are painted in.
_PAINTS: tuple[Colour, ...] = (
    (22, 60, 116),
    (176, 32, 40),
    (12, 92, 62),
    (232, 186, 44),
    (34, 34, 38),
    (236, 234, 226),
    (214, 98, 34),
    (92, 44, 100),
    (64, 144, 186),
    (128, 132, 134),
    (240, 224, 190),
    (60, 26, 30),
    (24, 110, 118),
    (226, 226, 230),
    (196, 160, 96),
    (250, 246, 236),
    (160, 30, 90),
    (20, 40, 50),
)
_PALE: tuple[Colour, ...] = (
    (246, 243, 234),
    (238, 230, 210),
    (226, 210, 178),
    (244, 232, 190),
    (214, 222, 226),
    (236, 214, 214),
    (216, 230, 206),
    (250, 240, 150),
)
_FRONTS: tuple[Colour, ...] = (
    (214, 200, 176),
    (168, 98, 76),
    (226, 222, 212),
    (150, 148, 144),
    (196, 168, 124),
    (110, 124, 140),
    (180, 138, 120),
    (92, 86, 84),
)
_DARK: tuple[Colour, ...] = ((30, 44, 38), (34, 36, 40), (26, 38, 56), (48, 30, 28))
_LAMPS: tuple[Colour, ...] = (
    (255, 214, 150),
    (255, 240, 220),
    (250, 90, 60),
    (120, 220, 160),
    (140, 180, 255),
)
_METALS: tuple[Colour, ...] = ((150, 152, 154), (110, 112, 116), (176, 172, 164), (72, 74, 78))
# Steps of a pixel in the corners of polygons, so that their edges are smooth.
_BITS = 4


def sign(rng: Rng, height: int, width: int) -> Pixels:
    """A painted sign or a name plate, screwed to a wall."""
    image = _wall(rng, height, width)
    box = _frame(rng, height, width, 72, 94, 46, 84)
    _panel(rng, image, _outline(rng, box, _some(rng, 0, 5), _round(rng, box)))
    if rng.integers(3) == 0:  # a smaller one hangs below or above
        left, top, right, bottom = box
        tall = height * _some(rng, 10, 16) // 100
        above = top > height - bottom
        y = top - tall - 8 if above else bottom + 8
        inset = (right - left) * _some(rng, 0, 20) // 100
        _panel(rng, image, _outline(rng, (left + inset, y, right - inset, y + tall), 0, 0))
    return _photographed(rng, image)


def shop_front(rng: Rng, height: int, width: int) -> Pixels:
    """A fascia over shop windows, with masonry above and perhaps an awning below."""
    image = _wall(rng, height, width)
    colour = base_colour(rng, _PAINTS)
    top = height * _some(rng, 8, 30) // 100
    bottom = top + height * _some(rng, 30, 46) // 100
    _windows(rng, image, (0, bottom, width, height), colour)
    fascia = (-10, top, width + 10, bottom)
    _panel(rng, image, _outline(rng, fascia, 1, 0), colour, border=False)
    # A cornice above and a ledge below: a light and a dark line each.
    thick = max(4, height // 60)
    for y in (top - thick, bottom - thick):
        _fill(image, (0, y, width, y + thick), _lit(colour, 36))
        _fill(image, (0, y + thick, width, y + thick + thick // 2 + 1), _lit(colour, -50))
    if rng.integers(2):
        _awning(rng, image, bottom + thick, height * _some(rng, 9, 16) // 100)
    return _photographed(rng, image)


def package(rng: Rng, height: int, width: int) -> Pixels:
    """Boxes on a shelf, with a band or a label on the front one."""
    image = textures.blurred(rng, height, width)
    image = (image.astype(np.int16) * _some(rng, 50, 90) // 100).astype(np.uint8)
    floor = height * _some(rng, 90, 97) // 100
    _put(
        image, _mask(image, _corners((0, floor, width, height))), textures.wood(rng, height, width)
    )
    for _ in range(_some(rng, 1, 3)):  # the ones behind
        x, y = _some(rng, -10, 90) * width // 100, _some(rng, 10, 50) * height // 100
        _carton(rng, image, (x, y, x + width * _some(rng, 20, 40) // 100, floor - 4))
    left = width * _some(rng, 3, 14) // 100
    right = width - width * _some(rng, 10, 18) // 100
    front = (left, height * _some(rng, 10, 26) // 100, right, floor)
    _carton(rng, image, front)
    _decorate(rng, image, front)
    return _photographed(rng, image)


def notice_board(rng: Rng, height: int, width: int) -> Pixels:
    """Sheets of paper pinned to a board or pasted on a wall, one over the other."""
    image = _cork(rng, height, width) if rng.integers(2) else _wall(rng, height, width)
    for k in range(_some(rng, 4, 8)):
        last = k >= 3
        wide = width * (_some(rng, 56, 80) if last else _some(rng, 24, 44)) // 100
        tall = height * (_some(rng, 40, 72) if last else _some(rng, 26, 50)) // 100
        x, y = _some(rng, -wide // 6, width - wide * 5 // 6), _some(rng, 0, height - tall)
        corners = _outline(rng, (x, y, x + wide, y + tall), _some(rng, 0, 7), 0)
        mask = _mask(image, corners)
        _cast(image, mask, (3, 4), 5, 110)
        sheet = textures.paper(rng, height, width)
        tint = np.array(base_colour(rng, _PALE), np.uint16)
        _put(image, mask, (sheet * (128 + tint // 2) >> 8).astype(np.uint8))
        if rng.integers(2):
            _bars(rng, image, mask, corners)
        _pin(image, (x + wide // 2, y + max(6, tall // 30)), base_colour(rng, _PAINTS[:9]))
        if last and rng.integers(2):
            break
    return _photographed(rng, image)


def road_sign(rng: Rng, height: int, width: int) -> Pixels:
    """A sign on posts before sky, trees and road, which are out of focus."""
    image = _landscape(rng, height, width)
    box = _frame(rng, height, width, 66, 90, 44, 74)
    left, top, right, bottom = box
    posts = (left + (right - left) // 5, right - (right - left) // 5)
    for x in posts[: _some(rng, 1, 3)]:
        wide = max(5, width // 60)
        _tube(image, (x, (top + bottom) // 2, x + wide, height), base_colour(rng, _METALS))
    colour = base_colour(
        rng, ((16, 74, 150), (0, 104, 74), (240, 240, 238), (236, 190, 20), (120, 70, 40))
    )
    radius = min(right - left, bottom - top) // _some(rng, 8, 16)
    _panel(rng, image, _outline(rng, box, _some(rng, 0, 4), radius), colour)
    return _photographed(rng, image)


def shutter(rng: Rng, height: int, width: int) -> Pixels:
    """A rolling shutter or a corrugated wall, with a painted field on it."""
    colour = base_colour(rng, (*_METALS, *_PAINTS[:3], *_PAINTS[6:10]))
    period = _some(rng, 10, 30)
    along = np.arange(height, dtype=np.int16)[:, None] % period
    ribs = (np.abs(along * 64 // period - 32) - 16) * _some(rng, 1, 3)
    ribs = ribs - np.where(along < 2, 50, 0)
    stains = (layered(rng, height, width, 8, 4) >> 2) + (
        centred(smooth(rng, height, width, 2, 4)) >> 4
    )
    shade = np.broadcast_to(ribs, (height, width)).astype(np.int16) + stains
    image = shaded(colour, shade + grain(rng, height, width, 6))
    box = _frame(rng, height, width, 70, 96, 44, 80)
    painted = shaded(base_colour(rng, _PAINTS), (shade >> 1) + (stains >> 1))
    _put(image, _worn(rng, _mask(image, _outline(rng, box, 1, 0)), 70), painted)
    return _photographed(rng, image)


def light_box(rng: Rng, height: int, width: int) -> Pixels:
    """A lit sign at night, with its glow and with lights out of focus."""
    dark = layered(rng, height, width, 8, 4) >> 2
    image = shaded(base_colour(rng, ((40, 38, 46), (30, 34, 44), (52, 42, 38))), dark - 30)
    for _ in range(_some(rng, 5, 16)):
        centre = (_some(rng, 0, width), _some(rng, 0, height))
        spot = np.zeros((height, width), np.uint8)
        cv2.circle(spot, centre, _some(rng, height // 50, height // 18), _some(rng, 60, 190), -1)
        _put(image, cv2.blur(spot, (5, 5)), base_colour(rng, _LAMPS))
    box = _frame(rng, height, width, 74, 94, 44, 76)
    mask = _mask(image, _outline(rng, box, _some(rng, 0, 4), _round(rng, box)))
    colour = base_colour(
        rng, ((250, 246, 232), (255, 236, 190), (196, 226, 255), (240, 64, 52), (255, 196, 60))
    )
    reach = height // 12 * 2 + 1
    halo = cv2.blur(cv2.blur(mask, (reach, reach)), (reach, reach))
    _put(image, (halo.astype(np.int16) * 100 // 255).astype(np.uint8), colour)
    tubes = (ramp(rng, height, width) >> 3) + (layered(rng, height, width, 7, 2) >> 3)
    _put(image, mask, shaded(colour, tubes - 6))
    _rim(image, mask, 5, (26, 26, 28))
    return _photographed(rng, image)


def blackboard(rng: Rng, height: int, width: int) -> Pixels:
    """A slate with smears of chalk in a wooden frame, as cafés put out."""
    image = _wall(rng, height, width)
    box = _frame(rng, height, width, 80, 96, 62, 92)
    outer = _mask(image, _outline(rng, box, _some(rng, 0, 2), 0))
    _cast(image, outer, (5, 7), 11, 140)
    _put(image, outer, textures.wood(rng, height, width))
    side = 2 * (min(height, width) // _some(rng, 34, 56)) + 1
    slate = cv2.erode(outer, np.ones((side, side), np.uint8))
    smears = np.maximum(layered(rng, height, width, 7, 4), -20) >> 2
    streaks = centred(smooth(rng, height, width, 2, 4)) >> 4
    shade = smears + streaks + grain(rng, height, width, 6)
    _put(image, slate, shaded(base_colour(rng, _DARK), shade + 8))
    _rim(image, slate, 3, (20, 16, 14))
    return _photographed(rng, image)


def street(rng: Rng, height: int, width: int) -> Pixels:
    """A street out of focus: sky, a row of fronts with windows and shops, ground."""
    image = _landscape(rng, height, width)
    x = -_some(rng, 0, width // 5)
    ground = height * _some(rng, 80, 94) // 100
    while x < width:
        wide = width * _some(rng, 26, 60) // 100
        top = height * _some(rng, -20, 30) // 100
        front = (x, top, x + wide, ground)
        colour = base_colour(rng, _FRONTS)
        shade = (layered(rng, height, width, 7, 3) >> 3) + _some(rng, -30, 20)
        _put(image, _mask(image, _corners(front)), shaded(colour, shade))
        shop = ground - height * _some(rng, 18, 28) // 100
        _window_grid(rng, image, (x, top, x + wide, shop))
        if rng.integers(3):
            _windows(rng, image, (x, shop, x + wide, ground), base_colour(rng, _PAINTS))
            _fill(image, (x, shop - height // 22, x + wide, shop), base_colour(rng, _PAINTS))
        x += wide
    soft = 2 * _some(rng, 3, 8) + 1
    return _photographed(rng, cv2.blur(cv2.blur(image, (soft, soft)), (soft, soft)))


def vehicle(rng: Rng, height: int, width: int) -> Pixels:
    """The side of a van or a bus: lacquer that mirrors, stripes, seams, rivets and windows."""
    colour = base_colour(rng, _PAINTS)
    gloss = np.abs(np.arange(height) * 512 // height - _some(rng, 100, 300)).astype(np.int16)
    shade = (40 - (gloss >> 2))[:, None] + (layered(rng, height, width, 8, 2) >> 4)
    image = shaded(colour, shade + grain(rng, height, width, 3))
    y = height * _some(rng, 62, 84) // 100
    for _ in range(_some(rng, 0, 3)):
        thick = height * _some(rng, 2, 9) // 100
        slant = height * _some(rng, -8, 9) // 100
        stripe = [(0, y), (width, y + slant), (width, y + slant + thick), (0, y + thick)]
        _put(image, _mask(image, stripe), shaded(base_colour(rng, _PAINTS), shade))
        y += thick + height * _some(rng, 1, 5) // 100
    if rng.integers(2):
        sill = height * _some(rng, 10, 20) // 100
        _windows(rng, image, (0, -4, width, sill), _lit(colour, -30))
    for _ in range(_some(rng, 1, 3)):
        x = _some(rng, width // 12, width)
        _fill(image, (x, 0, x + 2, height), _lit(colour, -60))
        _fill(image, (x + 2, 0, x + 3, height), _lit(colour, 30))
        for at in range(_some(rng, 4, 20), height, max(12, height // 20)):
            cv2.circle(image, (x + 7, at), 2, _lit(colour, -36), -1, cv2.LINE_AA)
    return _photographed(rng, image)


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


# What scenes are put together from.


def _wall(rng: Rng, height: int, width: int) -> Pixels:
    return _WALLS[int(rng.integers(len(_WALLS)))](rng, height, width)


def _cork(rng: Rng, height: int, width: int) -> Pixels:
    crumbs = (centred(smooth(rng, height, width, 2)) >> 1) + (
        centred(smooth(rng, height, width, 1)) >> 2
    )
    shade = (crumbs >> 1) + (layered(rng, height, width, 8, 3) >> 4)
    return shaded(base_colour(rng, ((176, 128, 82), (150, 106, 66))), shade)


def _landscape(rng: Rng, height: int, width: int) -> Pixels:
    """Sky, trees and ground, all far out of focus."""
    sky = base_colour(rng, ((150, 186, 222), (200, 208, 214), (110, 160, 214), (226, 214, 200)))
    down = (np.arange(height, dtype=np.int16)[:, None] * 60 // height).astype(np.int16)
    image = shaded(sky, down - 30 + (layered(rng, height, width, 8, 3) >> 3))
    horizon = height * _some(rng, 45, 80) // 100
    leaves = layered(rng, height, width, 5, 5) + (layered(rng, height, width, 7, 3) >> 1)
    trees = shaded(
        base_colour(rng, ((52, 76, 40), (70, 84, 52), (44, 60, 44), (96, 84, 50))), leaves
    )
    crown = layered(rng, 1, width, 7, 5)[0].astype(np.int32) * height // 400
    row = np.arange(height, dtype=np.int32)[:, None]
    top = horizon - height * _some(rng, 8, 40) // 100
    behind = (row > top + crown) & (row <= horizon)
    _put(image, cv2.blur((behind * 255).astype(np.uint8), (9, 9)), trees)
    earth = base_colour(rng, ((112, 112, 114), (110, 122, 70), (150, 140, 120)))
    rough = (layered(rng, height, width, 6, 4) >> 2) + grain(rng, height, width, 8)
    _put(image, _mask(image, _corners((0, horizon, width, height))), shaded(earth, rough))
    soft = 2 * _some(rng, 2, 7) + 1
    return np.asarray(cv2.blur(cv2.blur(image, (soft, soft)), (soft, soft)))


def _panel(
    rng: Rng,
    image: Pixels,
    corners: Sequence[Point],
    colour: Colour | None = None,
    border: bool = True,
) -> None:
    """Draw a panel with a shadow, a rim of light and, mostly, a border and screws."""
    height, width, _ = image.shape
    colour = colour or base_colour(rng, _PAINTS)
    mask = _mask(image, corners)
    _cast(image, mask, (_some(rng, 1, 6), _some(rng, 2, 8)), 2 * _some(rng, 2, 7) + 1, 130)
    if rng.integers(5) == 0:
        surface = textures.wood(rng, height, width)
    else:
        stains = (layered(rng, height, width, 8, 4) >> 4) + (ramp(rng, height, width) >> 2)
        surface = shaded(colour, stains + grain(rng, height, width, 5))
    _put(image, mask, surface)
    _rim(image, mask, 1, _lit(colour, -44))
    if border and rng.integers(4):
        inset, thick = max(4, height // _some(rng, 30, 60)), max(2, height // _some(rng, 90, 180))
        outer = cv2.erode(mask, np.ones((2 * inset + 1, 2 * inset + 1), np.uint8))
        _rim(
            image, outer, thick, base_colour(rng, _PAINTS) if rng.integers(3) else _against(colour)
        )
    elif border and len(corners) == 4 and rng.integers(2):
        left, top, right, bottom = _bounds(corners)
        inset = max(6, height // 40)
        for x in (left + inset, right - inset):
            for y in (top + inset, bottom - inset):
                _pin(image, (x, y), (150, 150, 148))


def _carton(rng: Rng, image: Pixels, front: Box) -> None:
    """Draw a box: its front, its lid and its right side."""
    left, top, right, bottom = front
    height, width, _ = image.shape
    colour = base_colour(rng, (*_PAINTS, (186, 146, 100), (186, 146, 100)))
    depth = (right - left) * _some(rng, 8, 14) // 100
    lift = depth * _some(rng, 40, 70) // 100
    lid = [(left, top), (left + depth, top - lift), (right + depth, top - lift), (right, top)]
    side = [
        (right, top),
        (right + depth, top - lift),
        (right + depth, bottom - lift),
        (right, bottom),
    ]
    shadow = _mask(image, _corners((left + 6, bottom - 8, right + depth, bottom + 10)))
    _cast(image, shadow, (4, 4), 15, 150)
    stains = (layered(rng, height, width, 7, 4) >> 4) + (ramp(rng, height, width) >> 3)
    stains = stains + grain(rng, height, width, 6)
    for corners, light in ((_corners(front), 0), (lid, 22), (side, -34)):
        _put(image, _mask(image, corners), shaded(colour, stains + light))


def _decorate(rng: Rng, image: Pixels, front: Box) -> None:
    """Print bands, a disc or a label on the front of a box."""
    left, top, right, bottom = front
    wide, tall = right - left, bottom - top
    if rng.integers(2):
        band = top + tall * _some(rng, 0, 70) // 100
        _fill(
            image,
            (left, band, right, min(bottom, band + tall * _some(rng, 6, 26) // 100)),
            base_colour(rng, _PAINTS),
        )
    if rng.integers(3) == 0:
        centre = (left + wide * _some(rng, 15, 85) // 100, top + tall * _some(rng, 15, 85) // 100)
        cv2.circle(
            image,
            centre,
            tall * _some(rng, 8, 22) // 100,
            base_colour(rng, _PAINTS),
            -1,
            cv2.LINE_AA,
        )
    if rng.integers(3):
        inset_x, inset_y = wide * _some(rng, 5, 12) // 100, tall * _some(rng, 8, 24) // 100
        label = (left + inset_x, top + inset_y, right - inset_x, bottom - inset_y)
        mask = _mask(image, _outline(rng, label, 1, _round(rng, label)))
        colour = base_colour(rng, (*_PALE, *_PAINTS))
        height, width, _ = image.shape
        shade = (ramp(rng, height, width) >> 3) + grain(rng, height, width, 5)
        _put(image, mask, shaded(colour, shade))
        _rim(image, mask, 2, _against(colour))


def _windows(rng: Rng, image: Pixels, box: Box, frame: Colour) -> None:
    """Draw a row of panes: dark glass with a reflection, in frames."""
    height, width, _ = image.shape
    left, top, right, bottom = box
    _fill(image, box, frame)
    dim = (layered(rng, height, width, 6, 3) >> 1) + (ramp(rng, height, width) >> 1)
    glass = shaded(base_colour(rng, ((46, 54, 60), (70, 80, 84), (90, 84, 70), (34, 36, 40))), dim)
    gleam = np.clip(layered(rng, height, width, 8, 2) * 2, 0, 90).astype(np.uint8)
    _put(glass, gleam, (206, 216, 224))
    count, bar = _some(rng, 2, 5), max(5, width // 70)
    pane = (right - left) // count
    for k in range(count):
        x = left + k * pane
        hole = (x + bar, top + bar, x + pane - bar, bottom)
        _put(image, _mask(image, _corners(hole)), glass)


def _window_grid(rng: Rng, image: Pixels, front: Box) -> None:
    """Draw rows of windows on a front."""
    left, top, right, bottom = front
    pane = max(12, (right - left) // _some(rng, 2, 6))
    columns, floor = (right - left) // pane, pane * _some(rng, 100, 170) // 100
    rows = max(0, bottom - top) // floor
    colour = base_colour(rng, ((40, 48, 56), (70, 84, 96), (160, 180, 196), (230, 200, 130)))
    for row in range(rows):
        for column in range(columns):
            x, y = left + column * pane + pane // 4, top + row * floor + floor // 4
            tone = _lit(colour, _some(rng, -24, 25))
            _fill(image, (x, y, x + pane // 2, y + floor * 6 // 10), tone)


def _awning(rng: Rng, image: Pixels, top: int, tall: int) -> None:
    """Draw an awning in stripes that fan out a little, with its shadow."""
    _, width, _ = image.shape
    first, other = (
        base_colour(rng, _PAINTS),
        base_colour(rng, (_PAINTS[5], _PAINTS[10], _PAINTS[13])),
    )
    stripe, flare = max(10, width // _some(rng, 10, 22)), 1 + _some(rng, 2, 8)
    _cast(image, _mask(image, _corners((0, top, width, top + tall))), (0, 12), 15, 150)
    for k in range(-2, width // stripe + 3):
        a, b = k * stripe, (k + 1) * stripe
        low_a, low_b = (x + (x - width // 2) * flare // 100 for x in (a, b))
        quad = [(a, top), (b, top), (low_b, top + tall), (low_a, top + tall)]
        _put(image, _mask(image, quad), first if k % 2 else other)
    hem = (0, top + tall - max(3, tall // 6), width, top + tall)
    _fill_shade(image, hem, 210)


def _bars(rng: Rng, image: Pixels, mask: Grey, corners: Sequence[Point]) -> None:
    """Print a coloured head, or a picture, on a sheet."""
    left, top, right, bottom = _bounds(corners)
    tall = (bottom - top) * _some(rng, 10, 30) // 100
    at = top if rng.integers(2) else bottom - tall
    area = np.zeros_like(mask)
    _fill(area, (left, at, right, at + tall), 255)
    _put(image, cv2.min(mask, area), base_colour(rng, _PAINTS))


def _tube(image: Pixels, box: Box, colour: Colour) -> None:
    """Draw an upright post, lit from the left."""
    left, top, right, bottom = box
    for x in range(left, right):
        light = 40 - (x - left) * 100 // max(1, right - left)
        _fill(image, (x, top, x + 1, bottom), _lit(colour, light))


def _pin(image: Pixels, centre: Point, colour: Colour) -> None:
    radius = max(2, image.shape[0] // 110)
    x, y = centre
    cv2.circle(image, (x + 1, y + 2), radius + 1, _lit(colour, -90), -1, cv2.LINE_AA)
    cv2.circle(image, centre, radius, colour, -1, cv2.LINE_AA)
    cv2.circle(image, (x - 1, y - 1), max(1, radius // 2), _lit(colour, 60), -1, cv2.LINE_AA)


def _photographed(rng: Rng, image: Pixels) -> Pixels:
    """Light a scene unevenly, dim its corners and add the grain of a camera."""
    height, width, _ = image.shape
    rows = np.abs(np.arange(height, dtype=np.int32) * 512 // height - 256)[:, None]
    columns = np.abs(np.arange(width, dtype=np.int32) * 512 // width - 256)[None, :]
    corners = (rows * rows + columns * columns) * _some(rng, 0, 26) >> 16
    light = (ramp(rng, height, width) >> 2) + (layered(rng, height, width, 8, 2) >> 3) - corners
    factor = (128 + np.clip(light, -70, 40)).astype(np.uint16)
    lit = (image * factor[..., None] >> 7).astype(np.int16)
    lit += grain(rng, height, width, _some(rng, 3, 9))[..., None]
    return np.asarray(np.clip(lit, 0, 250), np.uint8)


# Shapes and paint.


def _frame(rng: Rng, height: int, width: int, narrow: int, wide: int, flat: int, tall: int) -> Box:
    """Place a box whose width and height are within these hundredths of the image's."""
    across, down = width * _some(rng, narrow, wide) // 100, height * _some(rng, flat, tall) // 100
    left, top = _within(rng, width, across), _within(rng, height, down)
    return left, top, left + across, top + down


def _within(rng: Rng, room: int, length: int) -> int:
    """Place a length in a room, nearer to the middle than to the ends."""
    free = max(0, room - length)
    return (_some(rng, 0, free + 1) + _some(rng, 0, free + 1)) // 2


def _round(rng: Rng, box: Box) -> int:
    """Choose the radius of a box's corners; often there is none."""
    side = min(box[2] - box[0], box[3] - box[1])
    return (0, 0, side // 16, side // 7, side // 3)[int(rng.integers(5))]


def _corners(box: Box) -> list[Point]:
    left, top, right, bottom = box
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _outline(rng: Rng, box: Box, askew: int, radius: int) -> list[Point]:
    """Return the outline of a box: corners rounded, and moved by hundredths of its height."""
    left, top, right, bottom = box
    if radius:
        # Points on a quarter of a circle from Pythagorean triples, which are whole numbers.
        arc = (
            (65, 0),
            (49, 2),
            (40, 5),
            (32, 9),
            (26, 13),
            (13, 26),
            (9, 32),
            (5, 40),
            (2, 49),
            (0, 65),
        )
        bend = [(radius * a // 65, radius * b // 65) for a, b in arc]
        points = [(left + y, top + x) for x, y in bend]
        points += [(right - x, top + y) for x, y in bend]
        points += [(right - y, bottom - x) for x, y in bend]
        points += [(left + x, bottom - y) for x, y in bend]
    else:
        points = _corners(box)
    tall, wide = bottom - top, right - left
    turn, lean = (int(rng.integers(-askew, askew + 1)) for _ in range(2))
    mid_x, mid_y = (left + right) // 2, (top + bottom) // 2
    return [
        (x + (y - mid_y) * lean // 100, y + (x - mid_x) * turn * tall // (100 * wide))
        for x, y in points
    ]


def _bounds(points: Sequence[Point]) -> Box:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def _mask(image: NDArray[np.uint8], corners: Sequence[Point]) -> Grey:
    """Rasterise a polygon, edges smoothed, (H, W)."""
    mask = np.zeros(image.shape[:2], np.uint8)
    points = np.array(corners, np.int32) << _BITS
    cv2.fillPoly(mask, [points.reshape(-1, 1, 2)], 255, cv2.LINE_AA, _BITS)
    return mask


def _put(image: Pixels, mask: Grey, surface: Pixels | Colour) -> None:
    """Blend a surface or a colour into an image by a mask."""
    area = _area(mask)
    part = mask[area].astype(np.int16)[..., None]
    ground = image[area].astype(np.int16)
    if isinstance(surface, np.ndarray):
        surface = surface[area]
    colour = np.asarray(surface, np.int16)
    # 256 levels of a mask are 0 … 256, so that a shift divides and 16 bits suffice.
    image[area] = ground + ((colour - ground) * (part + (part >> 7) >> 1) + 64 >> 7)


def _area(mask: Grey) -> tuple[slice, slice]:
    """Return the rows and columns that a mask has anything in."""
    left, top, wide, tall = cv2.boundingRect(mask)
    return slice(top, top + tall), slice(left, left + wide)


def _cast(image: Pixels, mask: Grey, by: Point, soft: int, dark: int) -> None:
    """Cast the shadow of a shape: moved, softened, so dark of 255."""
    moved = np.zeros_like(mask)
    dx, dy = by
    height, width = mask.shape
    moved[dy:, dx:] = mask[: height - dy, : width - dx]
    soft_mask = cv2.blur(moved, (soft, soft))
    _put(image, cv2.convertScaleAbs(soft_mask, alpha=dark / 255), (0, 0, 0))


def _rim(image: Pixels, mask: Grey, thick: int, colour: Colour) -> None:
    """Draw a line along the inner edge of a shape."""
    inner = cv2.erode(mask, np.ones((2 * thick + 1, 2 * thick + 1), np.uint8))
    _put(image, cv2.subtract(mask, inner), colour)


def _worn(rng: Rng, mask: Grey, rest: int) -> Grey:
    """Wear a painted shape off in places, to `rest` hundredths at the most worn."""
    wear = np.clip(
        (layered(rng, mask.shape[0], mask.shape[1], 6, 5).astype(np.int32) + 70) * 4, 0, 255
    )
    return (mask * (rest * 255 + (100 - rest) * wear) // 25500).astype(np.uint8)


def _fill(image: NDArray[np.uint8], box: Box, colour: Colour | int) -> None:
    left, top, right, bottom = (max(0, side) for side in box)
    image[top:bottom, left:right] = colour


def _fill_shade(image: Pixels, box: Box, light: int) -> None:
    """Darken a box to so many 255ths."""
    left, top, right, bottom = box
    view = image[top:bottom, left:right]
    view[:] = view.astype(np.int32) * light // 255


def _lit(colour: Colour, by: int) -> Colour:
    red, green, blue = (min(max(part + by, 0), 255) for part in colour)
    return red, green, blue


def _against(colour: Colour) -> Colour:
    """Return a colour that stands out: white on dark, dark on light."""
    return (240, 238, 230) if sum(colour) < 384 else (30, 32, 40)


def _some(rng: Rng, least: int, below: int) -> int:
    return int(rng.integers(least, max(below, least + 1)))
