"""Look: the random parameters of a block's appearance, drawn before any of its words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ivl_shards.format.schema import Array
from textblocks_gen.effects.pixels import BLENDINGS, NORMAL
from textblocks_gen.recipe import TextRecipe

# More than any block needs; one call for all, which costs as much as a few numbers.
_NUMBERS = 128
ALIGNMENTS = ("left", "centre", "right")
# Studio noise, light and glare are larger than the image by so much: room to move.
SPARE = 24
BENDS = ("arc up", "arc down", "wave", "wave back")


class ColourDraw(NamedTuple):
    """Random numbers from 0 to 1 that decide a colour."""

    side: float
    """Whether it is darker or lighter than the background."""
    brightness: float
    red: float
    green: float
    blue: float
    sign: float = -1.0
    """Which colour of signs it is; negative for any colour."""


class Bend(NamedTuple):
    """Kind and strength of the bend of baselines."""

    kind: int
    """Number in `BENDS`."""
    strength: float
    """Rise over the height of a line."""


class Plate(NamedTuple):
    """A panel behind the text."""

    colour: ColourDraw
    padding: tuple[float, float, float, float]
    """Left, top, right and bottom, over the mean height of a line."""
    opacity: float
    corner: float
    """Radius of its corners over its lower side; 0 for square ones."""
    border: float
    """Width of its border over the mean height of a line; 0 for none."""
    lines: bool
    """Each line has a plate of its own."""
    whole: bool
    """It is larger than the image."""


class Shadow(NamedTuple):
    """Offset of a shadow to the right and down in pixels, and its darkness."""

    right: int
    down: int
    strength: float
    soft: bool


class Extrusion(NamedTuple):
    """Depth of letters in pixels, and its direction."""

    depth: int
    right: int
    down: int


class Outline(NamedTuple):
    """A border around letters."""

    width: int
    colour: ColourDraw | None
    """None for black or white, whichever stands out."""


class InkDraw(NamedTuple):
    """Translucency, blend mode and texture of the ink."""

    opacity: float
    blending: int
    roughness: float
    texture: float
    """Which image of the pool is the texture, from 0 to 1."""


class Distractor(NamedTuple):
    """A thing beside the text that is not text."""

    kind: float
    place: float
    across: float
    down: float
    size: float
    colour: ColourDraw


class Light(NamedTuple):
    """Light that falls on the whole image; strengths from 0 to 1."""

    field: float
    """Which of the studio's fields, from 0 to 1."""
    strength: float
    glare_field: float
    glare: float
    vignette: float


class Grain(NamedTuple):
    """The grain of an image: its strength of 255, and where in the studio's noise it begins."""

    strength: int
    down: int
    right: int


class Motion(NamedTuple):
    """Direction and length of a movement, over the height of the shortest line."""

    across: float
    down: float


class Look(NamedTuple):
    """A block's appearance. An effect that is None does not happen."""

    lines: int
    faces: Array
    """(L,): number of each line's face."""
    case: str
    """`upper`, `title` or `as is`."""
    align: int
    spacing: float
    """Added between letters, in em."""
    bend: Bend | None
    colour: ColourDraw
    polarity: float | None
    """Below 0.5 the background is made light enough for dark text, above dark enough for light."""
    plate: Plate | None
    distractors: tuple[Distractor, ...]
    ink: InkDraw | None
    shadow: Shadow | None
    extrusion: Extrusion | None
    outline: Outline | None
    blur: bool
    light: Light | None
    defocus: float
    """Radius over the height of the shortest line."""
    motion: Motion | None
    enlargement: float
    """1 for none."""
    grain: Grain | None
    quality: int


class Faces(NamedTuple):
    """Properties of the faces that a look depends on."""

    caps_only: tuple[bool, ...]
    """Whether each face has capitals alone."""
    script: tuple[bool, ...]
    """Whether each face is a handwriting."""
    plain: tuple[int, ...]
    """Indices of the faces that are neither display faces nor handwritings."""


class Numbers:
    """Random numbers from 0 to 1, taken one after the other."""

    def __init__(self, rng: np.random.Generator) -> None:
        values: list[float] = rng.random(_NUMBERS).tolist()
        self.next = iter(values).__next__

    def happens(self, probability: float) -> bool:
        """Decide whether something of a given probability happens."""
        return self.next() < probability

    def whole(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return low + int(self.next() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        """Draw a number between two."""
        return low + self.next() * (high - low)

    def seldom_large(self) -> float:
        """Draw a number from 0 to 1, half of them below a quarter: most photographs are sharp."""
        draw = self.next()
        return draw * draw

    def colour(self, of_signs: float) -> ColourDraw:
        """Draw what decides a colour, which is one of signs with some probability."""
        draw = ColourDraw(self.next(), self.next(), self.next(), self.next(), self.next())
        return draw._replace(sign=self.next()) if self.happens(of_signs) else draw


def draw_look(recipe: TextRecipe, lines: int, faces: Faces, rng: np.random.Generator) -> Look:
    """Draw the appearance of a block of some lines."""
    n = Numbers(rng)
    chosen = draw_faces(recipe, n, lines, faces)
    different = set(chosen)
    caps_only = any([faces.caps_only[face] for face in different])
    script = any([faces.script[face] for face in different])
    return Look(
        lines=lines,
        faces=np.array(chosen),
        case=draw_case(recipe, n.next(), caps_only, script),
        align=n.whole(0, len(ALIGNMENTS) - 1),
        spacing=n.between(0, recipe.spacing_most) if n.happens(recipe.spacing) else 0.0,
        bend=draw_bend(recipe, n) if n.happens(recipe.bend) else None,
        colour=n.colour(recipe.sign_colours),
        polarity=n.next() if n.happens(recipe.light_text) else None,
        plate=draw_plate(n) if n.happens(recipe.plate) else None,
        distractors=draw_distractors(recipe, n) if n.happens(recipe.distractors) else (),
        ink=draw_ink(recipe, n),
        shadow=draw_shadow(recipe, n) if n.happens(recipe.shadow) else None,
        extrusion=draw_extrusion(recipe, n) if n.happens(recipe.extrusion) else None,
        outline=draw_outline(recipe, n) if n.happens(recipe.outline) else None,
        blur=n.happens(recipe.blur),
        light=draw_light(recipe, n),
        defocus=recipe.defocus_most * n.seldom_large() if n.happens(recipe.defocus) else 0.0,
        motion=draw_motion(recipe, n) if n.happens(recipe.motion) else None,
        enlargement=draw_enlargement(recipe, n),
        grain=draw_grain(recipe, n) if n.happens(recipe.noise) else None,
        quality=n.whole(recipe.quality - recipe.quality_spread, recipe.quality),
    )


def draw_faces(recipe: TextRecipe, n: Numbers, lines: int, faces: Faces) -> list[int]:
    """Draw the face of each line."""
    plain = n.happens(recipe.plain_faces) and bool(faces.plain)
    among: Sequence[int] = faces.plain if plain else range(len(faces.caps_only))
    first = n.next()
    if not n.happens(recipe.mixed_faces):
        return [among[int(first * len(among))]] * lines
    # Of one number, because there may be a hundred lines.
    spread = n.next()
    return [among[int((first + spread * k * (k + 1)) % 1 * len(among))] for k in range(lines)]


def draw_case(recipe: TextRecipe, draw: float, caps_only: bool, script: bool) -> str:
    """Decide how a block is set: `upper`, `title`, or as the words stand in the lexicon.

    A handwriting is not set in capitals alone: its swashes make them unreadable.
    """
    if caps_only or (draw < recipe.upper_case and not script):
        return "upper"
    if recipe.upper_case <= draw < recipe.upper_case + recipe.title_case:
        return "title"
    return "as is"


def draw_bend(recipe: TextRecipe, n: Numbers) -> Bend:
    """Draw an arc or a wave."""
    return Bend(n.whole(0, len(BENDS) - 1), n.between(0.1, recipe.bend_most))


def draw_plate(n: Numbers) -> Plate:
    """Draw a panel of any colour."""
    colour = n.colour(0.9)
    wide, tall = n.between(0.15, 1.6), n.between(0.1, 0.9)
    even = n.happens(0.5)
    return Plate(
        colour,
        (wide, tall, wide if even else n.between(0.15, 3), tall if even else n.between(0.1, 2.0)),
        opacity=1.0 if n.happens(0.6) else n.between(0.55, 1),
        corner=n.between(0.05, 0.4) if n.happens(0.35) else 0.0,
        border=n.between(0.04, 0.18) if n.happens(0.3) else 0.0,
        lines=n.happens(0.1),
        whole=n.happens(0.45),
    )


def draw_distractors(recipe: TextRecipe, n: Numbers) -> tuple[Distractor, ...]:
    """Draw things beside the text."""
    return tuple(
        Distractor(n.next(), n.next(), n.next(), n.next(), n.next(), n.colour(1.0))
        for _ in range(n.whole(1, min(recipe.distractors_most, 4)))
    )


def draw_ink(recipe: TextRecipe, n: Numbers) -> InkDraw | None:
    """Draw opacity, blending and texture; None if the ink is plain."""
    opacity = 1.0
    if n.happens(recipe.translucency):
        opacity -= n.between(0, recipe.translucency_most)
    blending = n.whole(1, len(BLENDINGS) - 1) if n.happens(recipe.blending) else NORMAL
    roughness = n.between(0.1, recipe.texture_most) if n.happens(recipe.texture) else 0.0
    if opacity == 1.0 and blending == NORMAL and not roughness:
        return None
    return InkDraw(opacity, blending, roughness, n.next())


def draw_shadow(recipe: TextRecipe, n: Numbers) -> Shadow:
    """Draw where a shadow falls."""
    most = recipe.shadow_most
    return Shadow(n.whole(1, most), n.whole(1, most), n.between(0.45, 0.75), n.happens(0.8))


def draw_extrusion(recipe: TextRecipe, n: Numbers) -> Extrusion:
    """Draw how deep letters are."""
    right = n.whole(-1, 1)
    return Extrusion(n.whole(1, recipe.extrusion_most), right, 1 if right else n.whole(0, 1) or -1)


def draw_outline(recipe: TextRecipe, n: Numbers) -> Outline:
    """Draw the border of letters."""
    width = n.whole(1, recipe.outline_most)
    coloured = n.happens(0.4 * recipe.sign_colours)
    return Outline(width, n.colour(1.0) if coloured else None)


def draw_light(recipe: TextRecipe, n: Numbers) -> Light | None:
    """Draw uneven light, glare and dark corners."""
    strength = n.between(0.1, recipe.light_most) if n.happens(recipe.light) else 0.0
    glare = n.between(0.1, recipe.glare_most) if n.happens(recipe.glare) else 0.0
    vignette = n.between(0.1, recipe.vignette_most) if n.happens(recipe.vignette) else 0.0
    if not (strength or glare or vignette):
        return None
    return Light(n.next(), strength, n.next(), glare, vignette)


def draw_motion(recipe: TextRecipe, n: Numbers) -> Motion:
    """Draw a movement of the camera."""
    length = recipe.motion_most * n.seldom_large()
    return Motion(length * n.between(-1, 1), length * n.between(-1, 1))


def draw_enlargement(recipe: TextRecipe, n: Numbers) -> float:
    """Draw the factor by which the image is shrunk and enlarged again."""
    if not n.happens(recipe.low_resolution):
        return 1.0
    return 1.1 + max(recipe.low_resolution_most - 1.1, 0.0) * n.seldom_large()


def draw_grain(recipe: TextRecipe, n: Numbers) -> Grain:
    """Draw the grain of an image."""
    strength = n.whole((recipe.noise_most + 1) // 2, recipe.noise_most)
    return Grain(strength, n.whole(0, SPARE - 1), n.whole(0, SPARE - 1))
