"""Textures: drawn surfaces that text is found on, in integer arithmetic.

Each is one small function from a generator and a size to RGB pixels. `noise.py` says why there
are no floats.
"""

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from textblocks_gen.backgrounds.noise import Field, Rng, centred, grain, layered, ramp, smooth

Pixels = NDArray[np.uint8]
"""(H, W, 3), RGB"""
Colour = tuple[int, int, int]

# White things are not 255 in photographs; above this, light on them would burn out.
_WHITEST = 228
_SHOULDER = 224
_WALLS = (
    (226, 219, 203),
    (204, 196, 180),
    (238, 236, 230),
    (188, 170, 142),
    (214, 186, 150),
    (176, 188, 190),
    (158, 172, 156),
    (198, 146, 118),
    (120, 134, 150),
    (222, 206, 160),
    (150, 92, 76),
    (96, 112, 104),
)
_STONES = (
    (150, 148, 144),
    (128, 126, 122),
    (176, 170, 160),
    (104, 106, 110),
    (186, 172, 148),
    (142, 128, 112),
    (88, 88, 90),
)
_WOODS = (
    ((92, 58, 34), (156, 106, 64)),
    ((126, 84, 48), (196, 150, 98)),
    ((64, 42, 30), (112, 76, 52)),
    ((150, 118, 84), (214, 184, 142)),
    ((98, 88, 78), (158, 148, 136)),
    ((84, 36, 24), (140, 72, 46)),
)
_PAPERS = (
    (246, 243, 234),
    (238, 230, 210),
    (250, 249, 246),
    (226, 210, 178),
    (196, 164, 122),
    (232, 226, 224),
    (244, 232, 190),
    (214, 222, 226),
)
_BRICKS = (
    (152, 74, 56),
    (170, 96, 72),
    (128, 62, 50),
    (176, 124, 92),
    (196, 178, 158),
    (142, 90, 70),
)
_TILES = (
    (232, 234, 232),
    (206, 220, 224),
    (120, 150, 160),
    (64, 92, 118),
    (176, 196, 170),
    (222, 206, 178),
    (150, 84, 66),
    (70, 78, 80),
)
_PAINTS = (
    (24, 58, 110),
    (178, 34, 38),
    (16, 96, 66),
    (236, 188, 40),
    (30, 32, 36),
    (240, 240, 236),
    (222, 104, 34),
    (98, 50, 108),
    (70, 150, 190),
    (120, 126, 130),
)
_CLOTHS = (
    (52, 66, 96),
    (120, 40, 46),
    (196, 186, 168),
    (84, 96, 76),
    (148, 126, 100),
    (60, 58, 60),
    (206, 204, 200),
    (160, 120, 60),
)
_SCENES = (  # dark to light, as in photographs that are out of focus
    ((30, 42, 26), (84, 108, 52), (168, 180, 120)),
    ((40, 50, 66), (120, 140, 164), (222, 226, 228)),
    ((44, 32, 26), (140, 98, 68), (228, 196, 150)),
    ((26, 28, 36), (88, 84, 92), (196, 176, 150)),
    ((50, 62, 60), (110, 132, 122), (204, 206, 186)),
    ((58, 36, 44), (160, 104, 96), (236, 206, 180)),
)


def plaster(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a painted wall: uneven colour, rough surface, light from one side."""
    rough = _bumps(layered(rng, height, width, int(rng.integers(1, 4)), 2), int(rng.integers(1, 4)))
    shade = rough + (layered(rng, height, width, 8, 4) >> 3) + (ramp(rng, height, width) >> 2)
    return shaded(base_colour(rng, _WALLS), shade + grain(rng, height, width, 5))


def concrete(rng: Rng, height: int, width: int) -> Pixels:
    """Draw cast stone: stains of all sizes, and pits."""
    shade = (layered(rng, height, width, 8, 4) >> 2) + (layered(rng, height, width, 5, 5) >> 2)
    pits = centred(smooth(rng, height, width, 2))
    shade += np.minimum(pits + int(rng.integers(56, 84)), 0) + (ramp(rng, height, width) >> 3)
    return shaded(base_colour(rng, _STONES), shade + grain(rng, height, width, 14))


def granite(rng: Rng, height: int, width: int) -> Pixels:
    """Draw polished stone: grains of three minerals."""
    base = base_colour(rng, _STONES)
    mineral = centred(smooth(rng, height, width, 1)) + centred(smooth(rng, height, width, 2))
    dark, light = (int(part) for part in rng.integers(4, 12, 2))
    # Soft steps: the edges of grains are not as hard as those of letters.
    shade = np.clip(mineral + 30, -8, 0) * dark // 2 + np.clip(mineral - 40, 0, 8) * light // 2
    shade = shade + (mineral >> 3) + (ramp(rng, height, width) >> 3)
    return shaded(base, shade + grain(rng, height, width, 12))


def marble(rng: Rng, height: int, width: int) -> Pixels:
    """Draw marble; its veins are the lines on which a field changes its sign."""
    field = layered(rng, height, width, int(rng.integers(7, 9)), 6)
    thin = np.maximum(0, 40 - np.abs(field) * 4)
    clouds = layered(rng, height, width, 7, 5)
    sign = -1 if rng.integers(4) else 1
    shade = sign * thin * (clouds + 128 >> 4) // 10 + (clouds >> 2)
    base = base_colour(rng, (*_PAPERS[:3], *_STONES))
    return shaded(base, shade + grain(rng, height, width, 4))


def wood(rng: Rng, height: int, width: int) -> Pixels:
    """Draw planks with grain along them, upright or lying."""
    upright = bool(rng.integers(2))
    rows, columns = (width, height) if upright else (height, width)
    plank = int(rng.integers(60, 200))
    dark, light = _WOODS[int(rng.integers(len(_WOODS)))]
    bend = layered(rng, rows, columns, 7, 2) * int(rng.integers(2, 10))
    down = np.arange(rows, dtype=np.int16)[:, None]
    number = down // plank
    # Each plank is cut from another part of the tree: its rings are shifted by a draw.
    shift = rng.integers(0, 256, int(number[-1, 0]) + 1).astype(np.int16)[number]
    rings = _wave(down * int(rng.integers(8, 28)) + (bend >> 2) + shift * 7)
    fibre = centred(smooth(rng, rows, columns, 1, 6))
    shade = (rings >> 2) + (fibre >> 1) + (shift % 61 - 30) + grain(rng, rows, columns, 10)
    edge = down % plank
    shade = np.where(edge < 2, -128, np.where(edge == 2, shade - 40, shade))
    image = _mixed((dark, light), shade + (ramp(rng, rows, columns) >> 3))
    return np.ascontiguousarray(image.transpose(1, 0, 2)) if upright else image


def paper(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a sheet of paper: fibres, faint stains, sometimes folds."""
    shade = (layered(rng, height, width, 8, 3) >> 5) + (ramp(rng, height, width) >> 3)
    shade += centred(smooth(rng, height, width, 1, 3)) >> 4
    for _ in range(int(rng.integers(0, 4))):
        across, down, offset = (int(part) for part in rng.integers(-64, 65, 3))
        rows = (np.arange(height, dtype=np.int32)[:, None] - height // 2) * down
        columns = (np.arange(width, dtype=np.int32)[None, :] - width // 2) * across
        side = np.clip((columns + rows >> 5) + offset * 4, -8, 8).astype(np.int16)
        shade += np.clip(side, -3, 3) * 2 - np.maximum(0, 6 - np.abs(side)) * 2
    return shaded(base_colour(rng, _PAPERS), shade + grain(rng, height, width, 8))


def tiles(rng: Rng, height: int, width: int) -> Pixels:
    """Draw square tiles, each a little different, with joints."""
    side = int(rng.integers(40, 130))
    return _laid(rng, height, width, base_colour(rng, _TILES), (side, side), staggered=False)


def bricks(rng: Rng, height: int, width: int) -> Pixels:
    """Draw courses of bricks, each shifted by half a brick."""
    tall = int(rng.integers(22, 52))
    return _laid(rng, height, width, base_colour(rng, _BRICKS), (tall, tall * 3), staggered=True)


def gradient(rng: Rng, height: int, width: int) -> Pixels:
    """Draw paint, print or sky: one colour that runs into another."""
    first = base_colour(rng, _PAINTS)
    other = base_colour(rng, _PAINTS) if rng.integers(3) == 0 else _offset(first, 40)
    shade = ramp(rng, height, width) + (layered(rng, height, width, 8, 3) >> 3)
    return _mixed((first, other), shade + grain(rng, height, width, 5))


def blurred(rng: Rng, height: int, width: int) -> Pixels:
    """Draw a scene far out of focus."""
    colours = _SCENES[int(rng.integers(len(_SCENES)))]
    image = _mixed(colours, layered(rng, height, width, 8, int(rng.integers(2, 5))) * 3 // 2)
    # Some patch of another hue: each channel a little off, where the field says so.
    spots = layered(rng, height, width, 6, 2)[..., None]
    hue = rng.integers(-40, 41, 3).astype(np.int16)
    shift = (spots * hue >> 8) + grain(rng, height, width, 6)[..., None]
    return np.clip(image + shift, 0, 255).astype(np.uint8)


def metal(rng: Rng, height: int, width: int) -> Pixels:
    """Draw brushed sheet metal: long scratches, and the light of a room."""
    scratches = centred(smooth(rng, height, width, 0, 7)) >> 2
    light = layered(rng, 1, width, 8, 3) + ramp(rng, height, width) >> 1
    colour = base_colour(rng, ((164, 168, 172), (120, 124, 128), (176, 160, 130), (84, 92, 104)))
    return shaded(colour, scratches + light + grain(rng, height, width, 5))


def cloth(rng: Rng, height: int, width: int) -> Pixels:
    """Draw woven threads and soft folds."""
    period = int(rng.integers(2, 5))
    down = np.arange(height, dtype=np.int16)[:, None] // period
    across = np.arange(width, dtype=np.int16)[None, :] // period
    threads = ((down + across) % 2 * 2 - 1) * int(rng.integers(6, 16))
    uneven = centred(smooth(rng, height, width, 1, 4)) >> 3
    folds = layered(rng, height, width, 7, 2) >> 2
    return shaded(
        base_colour(rng, _CLOTHS), threads + uneven + folds + grain(rng, height, width, 10)
    )


Texture = Callable[[Rng, int, int], Pixels]
TEXTURES: tuple[Texture, ...] = (
    plaster,
    wood,
    concrete,
    paper,
    bricks,
    blurred,
    granite,
    gradient,
    tiles,
    marble,
    cloth,
    metal,
)


def _laid(
    rng: Rng, height: int, width: int, base: Colour, size: tuple[int, int], staggered: bool
) -> Pixels:
    """Draw pieces of a size laid in rows, with joints of mortar."""
    tall, wide = size
    joint = int(rng.integers(2, 6))
    down = np.arange(height, dtype=np.int16)[:, None] + int(rng.integers(tall))
    row = down // tall
    across = np.arange(width, dtype=np.int16)[None, :] + int(rng.integers(wide))
    across = across + (row % 2) * (wide // 2 if staggered else 0)  # (H, W)
    column = across // wide
    from_top, from_left = down % tall, across % wide
    tones = rng.integers(-22, 23, (int(row.max()) + 1, int(column.max()) + 1)).astype(np.int16)
    surface = tones[row, column] + (layered(rng, height, width, 4, 4) >> (2 if staggered else 4))
    # A bevel: the upper left edge catches the light, the lower right one lies in shadow.
    surface += np.where((from_top < joint + 2) | (from_left < joint + 2), 18, 0)
    surface -= np.where((from_top >= tall - 2) | (from_left >= wide - 2), 24, 0)
    mortar = np.minimum(from_top, from_left) < joint
    light = (ramp(rng, height, width) >> 2) + grain(rng, height, width, 10 if staggered else 4)
    rough = layered(rng, height, width, 3, 3) >> 2
    grey = base_colour(rng, _STONES[:3])
    return np.where(mortar[..., None], shaded(grey, light + rough), shaded(base, surface + light))


def base_colour(rng: Rng, colours: Sequence[Colour]) -> Colour:
    """Draw one of the colours, a little changed."""
    colour = colours[int(rng.integers(len(colours)))]
    all_over = min(int(rng.integers(-14, 15)), _WHITEST - max(colour))
    red, green, blue = (int(part) + all_over for part in rng.integers(-4, 5, 3))
    return _byte(colour[0] + red), _byte(colour[1] + green), _byte(colour[2] + blue)


def _offset(colour: Colour, by: int) -> Colour:
    """Return a dark colour lighter, a light one darker."""
    step = by if sum(colour) < 384 else -by
    return _byte(colour[0] + step), _byte(colour[1] + step), _byte(colour[2] + step)


def _byte(value: int) -> int:
    return min(max(value, 0), 255)


def _wave(phase: Field) -> Field:
    """Return a wave without a sine: a parabola in each period of 256; within -128 … 128."""
    part = (phase & 255) - 128
    return 128 - (part * part >> 6)


def _bumps(surface: Field, strength: int) -> Field:
    """Return the light on a rough surface, from the upper left."""
    light = np.zeros_like(surface)
    light[1:, 1:] = surface[1:, 1:] - surface[:-1, :-1]
    return light * strength >> 3


def shaded(colour: Colour, shade: Field) -> Pixels:
    """Return a colour under light and shadow: 0 leaves it, -128 makes it black."""
    table = np.arange(256, dtype=np.int32)[:, None] * np.array(colour, np.int32) + 64 >> 7
    # Highlights are compressed, as cameras do, so that white things keep their structure.
    table = np.where(table > _SHOULDER, _SHOULDER + (table - _SHOULDER) // 4, table)
    return _looked_up(np.clip(table, 0, 255), shade)


def _mixed(colours: Sequence[Colour], shade: Field) -> Pixels:
    """Return colours that run into each other over shades -128 … 127."""
    where = np.arange(256, dtype=np.int32)[:, None] * (len(colours) - 1)
    left, part = where // 255, where % 255
    all_colours = np.array([*colours, colours[-1]], np.int32)
    table = all_colours[left[:, 0]] * (255 - part) + all_colours[left[:, 0] + 1] * part
    return _looked_up(table // 255, shade)


def _looked_up(table: NDArray[np.int32], shade: Field) -> Pixels:
    """Look shades -128 … 127 up in a table of colours, (256, 3)."""
    index = cv2.cvtColor(np.clip(shade + 128, 0, 255).astype(np.uint8), cv2.COLOR_GRAY2RGB)
    return np.asarray(cv2.LUT(index, table.astype(np.uint8)[None]))
