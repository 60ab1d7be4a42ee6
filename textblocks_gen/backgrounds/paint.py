"""Paint: colours, shapes and masks that scenes are drawn with, in integer arithmetic."""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from textblocks_gen.backgrounds.noise import Grey, Rng, layered
from textblocks_gen.backgrounds.textures import Colour, Pixels

Point = tuple[int, int]
Box = tuple[int, int, int, int]
"""left, top, right, bottom in pixels"""

# What signs, awnings and packages are painted in.
PAINTS: tuple[Colour, ...] = (
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
PALE: tuple[Colour, ...] = (
    (246, 243, 234),
    (238, 230, 210),
    (226, 210, 178),
    (244, 232, 190),
    (214, 222, 226),
    (236, 214, 214),
    (216, 230, 206),
    (250, 240, 150),
)
FRONTS: tuple[Colour, ...] = (
    (214, 200, 176),
    (168, 98, 76),
    (226, 222, 212),
    (150, 148, 144),
    (196, 168, 124),
    (110, 124, 140),
    (180, 138, 120),
    (92, 86, 84),
)
DARK: tuple[Colour, ...] = ((30, 44, 38), (34, 36, 40), (26, 38, 56), (48, 30, 28))
LAMPS: tuple[Colour, ...] = (
    (255, 214, 150),
    (255, 240, 220),
    (250, 90, 60),
    (120, 220, 160),
    (140, 180, 255),
)
METALS: tuple[Colour, ...] = ((150, 152, 154), (110, 112, 116), (176, 172, 164), (72, 74, 78))
# Steps of a pixel in the corners of polygons, so that their edges are smooth.
_BITS = 4


def place_box(
    rng: Rng, height: int, width: int, narrow: int, wide: int, flat: int, tall: int
) -> Box:
    """Place a box whose width and height are within these hundredths of the image's."""
    across, down = (
        width * pick(rng, narrow, wide) // 100,
        height * pick(rng, flat, tall) // 100,
    )
    left, top = _within(rng, width, across), _within(rng, height, down)
    return left, top, left + across, top + down


def _within(rng: Rng, room: int, length: int) -> int:
    """Place a length at random within a longer one, nearer to the middle than to the ends."""
    free = max(0, room - length)
    return (pick(rng, 0, free + 1) + pick(rng, 0, free + 1)) // 2


def corner_radius(rng: Rng, box: Box) -> int:
    """Choose the radius of a box's corners; often there is none."""
    side = min(box[2] - box[0], box[3] - box[1])
    return (0, 0, side // 16, side // 7, side // 3)[int(rng.integers(5))]


def box_corners(box: Box) -> list[Point]:
    """Return the corners of a box, clockwise from the upper left."""
    left, top, right, bottom = box
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def box_outline(rng: Rng, box: Box, askew: int, radius: int) -> list[Point]:
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
        points = box_corners(box)
    tall, wide = bottom - top, right - left
    turn, lean = (int(rng.integers(-askew, askew + 1)) for _ in range(2))
    mid_x, mid_y = (left + right) // 2, (top + bottom) // 2
    return [
        (x + (y - mid_y) * lean // 100, y + (x - mid_x) * turn * tall // (100 * wide))
        for x, y in points
    ]


def bounding_box(points: Sequence[Point]) -> Box:
    """Return the smallest box around some points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def polygon_mask(image: NDArray[np.uint8], corners: Sequence[Point]) -> Grey:
    """Rasterise a polygon, edges smoothed, (H, W)."""
    mask = np.zeros(image.shape[:2], np.uint8)
    points = np.array(corners, np.int32) << _BITS
    cv2.fillPoly(mask, [points.reshape(-1, 1, 2)], 255, cv2.LINE_AA, _BITS)
    return mask


def blend(image: Pixels, mask: Grey, surface: Pixels | Colour) -> None:
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


def cast_shadow(image: Pixels, mask: Grey, by: Point, soft: int, dark: int) -> None:
    """Cast the shadow of a shape: moved, softened, with a darkness of up to 255."""
    moved = np.zeros_like(mask)
    dx, dy = by
    height, width = mask.shape
    moved[dy:, dx:] = mask[: height - dy, : width - dx]
    soft_mask = cv2.blur(moved, (soft, soft))
    blend(image, cv2.convertScaleAbs(soft_mask, alpha=dark / 255), (0, 0, 0))


def draw_rim(image: Pixels, mask: Grey, thick: int, colour: Colour) -> None:
    """Draw a line along the inner edge of a shape."""
    inner = cv2.erode(mask, np.ones((2 * thick + 1, 2 * thick + 1), np.uint8))
    blend(image, cv2.subtract(mask, inner), colour)


def wear_off(rng: Rng, mask: Grey, rest: int) -> Grey:
    """Wear a painted shape off in places, to `rest` hundredths at the most worn."""
    wear = np.clip(
        (layered(rng, mask.shape[0], mask.shape[1], 6, 5).astype(np.int32) + 70) * 4, 0, 255
    )
    return (mask * (rest * 255 + (100 - rest) * wear) // 25500).astype(np.uint8)


def fill_box(image: NDArray[np.uint8], box: Box, colour: Colour | int) -> None:
    """Fill a box with a colour; parts outside of the image are left out."""
    left, top, right, bottom = (max(0, side) for side in box)
    image[top:bottom, left:right] = colour


def darken_box(image: Pixels, box: Box, light: int) -> None:
    """Multiply the brightness of a box by light / 255."""
    left, top, right, bottom = box
    view = image[top:bottom, left:right]
    view[:] = view.astype(np.int32) * light // 255


def lighter(colour: Colour, by: int) -> Colour:
    """Return a colour that is lighter by some steps of 255, or darker if they are negative."""
    red, green, blue = (min(max(part + by, 0), 255) for part in colour)
    return red, green, blue


def contrasting(colour: Colour) -> Colour:
    """Return a colour that stands out: white on dark, dark on light."""
    return (240, 238, 230) if sum(colour) < 384 else (30, 32, 40)


def pick(rng: Rng, least: int, below: int) -> int:
    """Draw a whole number, at least `least` and less than `below`."""
    return int(rng.integers(least, max(below, least + 1)))
