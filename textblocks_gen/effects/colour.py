"""Colour: choose text colours that can be read on their background."""

from collections.abc import Sequence

from textblocks_gen.effects.look import ColourDraw

Colour = tuple[int, int, int]
# Brightness that is left for text beyond its least contrast where a background makes room for it.
_ROOM = 30
# Colours of signs vary by so much about these; the first ones of each are the most frequent.
_SPREAD = 40
_DARK: tuple[Colour, ...] = (
    (20, 20, 20),
    (25, 25, 28),
    (40, 38, 36),
    (60, 58, 55),
    (25, 45, 110),
    (15, 60, 140),
    (0, 80, 60),
    (20, 90, 45),
    (165, 25, 30),
    (190, 30, 35),
    (95, 60, 35),
    (70, 20, 30),
    (80, 80, 85),
    (0, 90, 120),
)
_LIGHT: tuple[Colour, ...] = (
    (245, 245, 242),
    (250, 250, 250),
    (235, 232, 225),
    (225, 222, 212),
    (215, 214, 210),
    (245, 235, 205),
    (248, 215, 60),
    (240, 200, 30),
    (235, 160, 60),
    (200, 205, 210),
    (190, 215, 235),
    (205, 225, 190),
    (255, 255, 255),
    (225, 200, 150),
)


def brightness(colour: Sequence[int]) -> float:
    """Return the brightness of a colour, 0 to 255, as in television (ITU-R BT.601)."""
    return (299 * colour[0] + 587 * colour[1] + 114 * colour[2]) / 1000


def text_colour(draw: ColourDraw, low: float, high: float, contrast: int) -> Colour:
    """Return a colour whose brightness keeps its distance from the background's, low to high.

    Either side is taken where both have room, and any brightness on it; the hue is free, or that
    of a sign.
    """
    dark, light = low - contrast, 255 - (high + contrast)  # room below and above
    below = draw.side * (max(dark, 0.0) + max(light, 0.0)) < max(dark, 0.0)
    if dark <= 0 and light <= 0:
        below = dark > light
    room = max(dark, 0.0) if below else max(light, 0.0)
    wanted = draw.brightness * room if below else 255 - draw.brightness * room
    if draw.sign < 0:
        return _with_brightness([draw.red * 255, draw.green * 255, draw.blue * 255], wanted)
    colour = sign_colour(draw, not below)
    found = brightness(colour)
    if (found <= dark if below else found >= 255 - light) and room:
        return colour
    # Most signs are as dark or as light as can be.
    wanted = wanted * draw.brightness if below else 255 - (255 - wanted) * draw.brightness
    return _with_brightness(list(colour), wanted)


def sign_colour(draw: ColourDraw, light: bool) -> Colour:
    """Return a dark or light colour of signs, not quite the same each time."""
    colours = _LIGHT if light else _DARK
    # Squared: half of the draws are among the first quarter.
    r, g, b = colours[int(draw.sign * draw.sign * len(colours))]
    return (_near(r, draw.red), _near(g, draw.green), _near(b, draw.blue))


def _near(value: int, draw: float) -> int:
    return min(255, max(0, value + int((draw - 0.5) * _SPREAD)))


def shift_needed(low: float, high: float, contrast: int, dark_text: bool) -> int:
    """Return how much lighter or darker a background must be for text of one kind to stand out."""
    if dark_text:
        return max(0, round(contrast + _ROOM - low))
    return -max(0, round(high + contrast + _ROOM - 255))


def _with_brightness(colour: list[float], wanted: float) -> Colour:
    """Return the hue of a colour at a given brightness, mixed with black or white."""
    found = (299 * colour[0] + 587 * colour[1] + 114 * colour[2]) / 1000
    if wanted <= found:
        mixed = [c * wanted / max(found, 1.0) for c in colour]
    else:
        mixed = [255 - (255 - c) * (255 - wanted) / max(255 - found, 1.0) for c in colour]
    r, g, b = (min(255, max(0, round(c))) for c in mixed)
    return r, g, b
