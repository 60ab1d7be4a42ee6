"""Recipe of the text blocks: every knob, its default and its range."""

from dataclasses import dataclass
from typing import ClassVar

from ivl_shards import Recipe
from ivl_shards.generation.knobs import UNSET, Knob, knob, knobs_of
from ivl_shards.generation.recipe import require
from textblocks_gen.holdout import check_holdout, parse_holdout
from textblocks_gen.words.filters import CHARSETS, parse_charset

STYLES = ("paper", "scene")
# Blocks of up to this many lines share the default line heights; the paper's longest have 10.
FULL_BLOCK = 10
# Default line heights are never lower than this: such lines could hardly be read.
LEAST_PIXELS = 12.0
# The narrowest and widest gap below a line, over its height.
GAPS = (0.06, 0.3)
# Share of the image's width and height that a block may take; the rest is for the transform.
WIDEST, TALLEST = 0.92, 0.94
# A line that is too wide is set narrower, down to this much of its width; see `block.py`.
NARROWEST = 0.75
# Letters of a short word, and the width of a letter over the height of its line: estimates of the
# room that `--words` need before any face is known.
_SHORT_WORD, _LETTER = 4, 0.45


@dataclass(frozen=True)
class TextRecipe(Recipe):
    """Knobs of the text blocks. The style decides the defaults."""

    defaults_by: ClassVar[str] = "style"

    # The paper gives no size: ours keeps 10 lines of 5 words readable.
    height: int = knob(
        320, "Size of the images.", 64, 4096, unit="pixels", option="--size", image_size=True
    )
    width: int = knob(448, option="--size")
    style: str = knob("paper", "Set of defaults for all other options.", choices=STYLES)
    words: tuple[int, int] = knob(
        (3, 5),
        "Words in a line. A tall line has as many as fit, but at least MIN.",
        1,
        20,
        scene=(1, 4),
    )
    line_height: tuple[float, float] = knob(
        (0.045, 0.085),
        "Height of a line, from descenders to ascenders, over the height of the image.",
        0.001,
        1,
        scene=(0.04, 0.6),
    )
    same_heights: bool = knob(
        True,
        "Draw line heights from one distribution for all numbers of lines; otherwise blocks of "
        "fewer lines may have taller ones.",
        scene=False,
    )
    upper_case: float = knob(0.25, "Probability that a block is in capitals.", 0, 1, scene=0.46)
    title_case: float = knob(
        0.25, "Probability that the words of a block begin with a capital.", 0, 1, scene=0.35
    )
    punctuation: float = knob(
        0.0, "Probability that a word is followed by a punctuation mark.", 0, 1, scene=0.03
    )
    digits: float = knob(0.0, "Probability that a word is a number instead.", 0, 1, scene=0.05)
    codes: float = knob(
        0.0,
        "Probability that a word is a price, a telephone number, a time or an abbreviation.",
        0,
        1,
        scene=0.04,
    )
    plain_faces: float = knob(
        0.0,
        "Probability that a face is neither a display face nor a handwriting.",
        0,
        1,
        scene=0.45,
    )
    mixed_faces: float = knob(
        0.0, "Probability that every line of a block has a face of its own.", 0, 1, scene=0.25
    )
    spacing: float = knob(0.0, "Probability that letters are spaced.", 0, 1, scene=0.25)
    spacing_most: float = knob(0.25, "Maximum space between letters.", 0, 1, unit="em")
    rotation: float = knob(5.0, "Maximum rotation of a block.", 0, 30, unit="degrees", scene=10.0)
    shear: float = knob(
        0.15, "Maximum sideways shift of a block's top over its height.", 0, 1, scene=0.2
    )
    perspective: float = knob(
        0.5, "Probability that the transform is a perspective one, not affine.", 0, 1, scene=0.7
    )
    foreshortening: float = knob(
        0.15, "Maximum perspective shortening of one side of a block.", 0, 0.5, scene=0.35
    )
    bend: float = knob(
        0.0, "Probability that baselines bend, as an arc or a wave.", 0, 1, scene=0.15
    )
    bend_most: float = knob(
        0.8, "Maximum rise of a bent baseline over the height of a line.", 0.1, 3
    )
    contrast: int = knob(
        85,
        "Minimum difference in brightness between the ink and the background behind it.",
        0,
        110,
        unit="of 255",
        scene=40,
    )
    sign_colours: float = knob(
        0.0,
        "Probability that text has a typical colour of signs, not a random one.",
        0,
        1,
        scene=0.8,
    )
    light_text: float = knob(
        0.0,
        "Probability that the background is made dark or light, so that light text is as "
        "frequent as dark text.",
        0,
        1,
        scene=0.8,
    )
    plate: float = knob(0.0, "Probability that text stands on a plate or a panel.", 0, 1, scene=0.5)
    distractors: float = knob(
        0.0,
        "Probability that there are rules, frames, arrows or logos, which have no label.",
        0,
        1,
        scene=0.35,
    )
    distractors_most: int = knob(3, "Maximum number of such distractors in an image.", 1, 8)
    cut: float = knob(
        0.0,
        "Probability that there is another word that the image's edge cuts off, labelled as such.",
        0,
        1,
    )
    distant: float = knob(
        0.0, "Probability that there is another word too small to be read, labelled as such.", 0, 1
    )
    translucency: float = knob(
        0.0, "Probability that text lets the background shine through.", 0, 1, scene=0.25
    )
    translucency_most: float = knob(
        0.35, "Maximum share of the background in translucent text.", 0, 0.9
    )
    blending: float = knob(
        0.0,
        "Probability that text is multiplied, screened, overlaid or soft-lit onto the background.",
        0,
        1,
        scene=0.2,
    )
    texture: float = knob(0.0, "Probability that letters have a texture.", 0, 1, scene=0.25)
    texture_most: float = knob(0.5, "Maximum strength of that texture.", 0, 1)
    shadow: float = knob(0.15, "Probability that text casts a shadow.", 0, 1)
    shadow_most: int = knob(3, "Maximum offset of a shadow.", 1, 32, unit="pixels", scene=6)
    extrusion: float = knob(0.0, "Probability that letters are extruded.", 0, 1, scene=0.06)
    extrusion_most: int = knob(5, "Maximum depth of extruded letters.", 1, 32, unit="pixels")
    outline: float = knob(0.1, "Probability that text has an outline in another colour.", 0, 1)
    outline_most: int = knob(1, "Maximum width of an outline.", 1, 8, unit="pixels", scene=3)
    blur: float = knob(0.15, "Probability that text is a little blurred.", 0, 1)
    light: float = knob(0.0, "Probability that the light is uneven or coloured.", 0, 1, scene=0.7)
    light_most: float = knob(0.5, "Maximum strength of uneven light.", 0, 1)
    glare: float = knob(0.0, "Probability that a light is reflected.", 0, 1, scene=0.12)
    glare_most: float = knob(0.5, "Maximum strength of a reflection.", 0, 1)
    vignette: float = knob(0.0, "Probability that corners are darker.", 0, 1, scene=0.2)
    vignette_most: float = knob(0.5, "Maximum darkness of corners.", 0, 1)
    defocus: float = knob(0.0, "Probability that the image is out of focus.", 0, 1, scene=0.5)
    defocus_most: float = knob(
        0.18,
        "Maximum radius of that blur over the height of the shortest line; most are far smaller.",
        0.01,
        0.5,
        scene=0.24,
    )
    motion: float = knob(0.0, "Probability that the camera moves.", 0, 1, scene=0.3)
    motion_most: float = knob(
        0.45,
        "Maximum length of that blur over the height of the shortest line; most are far smaller.",
        0.01,
        1,
        scene=0.6,
    )
    low_resolution: float = knob(
        0.0, "Probability that the image is enlarged from a smaller one.", 0, 1, scene=0.65
    )
    low_resolution_most: float = knob(
        8.0,
        "Maximum enlargement, seldom reached; lines are not below 7 pixels in the smaller image.",
        1,
        8,
    )
    noise: float = knob(0.15, "Probability that the image is grainy.", 0, 1, scene=0.7)
    noise_most: int = knob(12, "Maximum strength of the grain.", 1, 64, unit="of 255", scene=24)
    quality: int = knob(90, "Maximum quality of the JPEG.", 30, 100, scene=95)
    quality_spread: int = knob(0, "Maximum by which the quality may be lower.", 0, 70, scene=55)
    char_quads: bool = knob(False, "Also store the quad of every character.")
    scenes: float = knob(
        0.0,
        "Probability that the background is a drawn scene, such as a shop front, not a texture.",
        0,
        1,
        scene=0.75,
    )
    holdout: str = knob(
        "none",
        "What train, val and test do not share: none, or a list of fonts,words,backgrounds.",
        scene="fonts,words,backgrounds",
    )
    charset: str = knob("ascii", f"Characters of the words, a list of {', '.join(CHARSETS)}.")
    unfiltered: bool = knob(False, "Also draw slurs and profanity.")
    fonts: str = ""
    """Fingerprint of the faces, in their order."""
    lexicon: str = ""
    """Fingerprint of the words."""
    backgrounds: str = ""
    """Fingerprint of the images behind the text."""

    def __post_init__(self) -> None:
        chosen = self.line_height is not UNSET
        super().__post_init__()
        require(min(self.counts) >= 1, "--lines 0: a block has at least 1 line")
        require(max(self.counts) <= 100, f"--lines {max(self.counts)}: at most 100")
        if not chosen:
            object.__setattr__(self, "line_height", self.default_heights())
        require(
            self.quality - self.quality_spread >= 20,
            f"--quality {self.quality} less --quality-spread {self.quality_spread}: at least 20",
        )
        numbers = f"--digits {self.digits:g} and --codes {self.codes:g}"
        require(self.digits + self.codes <= 1, f"{numbers}: together more than 1")
        case = f"--upper-case {self.upper_case:g} and --title-case {self.title_case:g}"
        require(self.upper_case + self.title_case <= 1, f"{case}: together more than 1")
        # In one spelling, so that equal recipes are equal text.
        object.__setattr__(self, "holdout", ",".join(parse_holdout(self.holdout)) or "none")
        object.__setattr__(self, "charset", ",".join(parse_charset(self.charset)))
        check_holdout(self.holdout, self.split)
        self._require_room(chosen)

    def holds_out(self, kind: str) -> bool:
        """Tell whether splits share no fonts, no words or no backgrounds."""
        return kind in self.holdout.split(",")

    def default_heights(self) -> tuple[float, float]:
        """Return the line heights of this recipe where none are asked for.

        They are the same for all recipes of up to ten lines, so that a test of length is not a test
        of scale, and lower where more lines must fit; but not below `LEAST_PIXELS`.
        """
        least, most = self._declared("line_height").default_in(self.style)
        lines = max(FULL_BLOCK, *self.counts) if self.same_heights else 1
        most = min(most, self._widest_height())
        least *= min(1.0, TALLEST / room_needed(lines, least, most))
        least = max(least, LEAST_PIXELS / self.height)
        # Rounded down, so that it fits; `_require_room` complains where not even `least` does.
        most = max(least, int(min(most, tallest_line(lines, least)) * 1e5) / 1e5)
        return round(least, 5), round(most, 5)

    def _declared(self, name: str) -> Knob:
        return next(each for each in knobs_of(self) if each.name == name)

    def _widest_height(self) -> float:
        """Return the greatest line height at which the fewest words fit the image's width."""
        letters = self.words[0] * (_SHORT_WORD + 1) - 1
        return WIDEST * self.width / (letters * _LETTER * NARROWEST * self.height)

    def _require_room(self, chosen: bool) -> None:
        """Complain unless the tallest block fits, and say what would."""
        (least, most), lines, fewest = self.line_height, max(self.counts), self.words[0]
        asked = " ".join(self._declared("line_height").written(self.line_height))
        if not self.same_heights:
            # The lines of a block of many are lower then, but not lower than the least.
            most = least if lines > 1 else most
        need = room_needed(lines, least, most)
        tall = int(LEAST_PIXELS * room_needed(lines, 1, 1) / TALLEST) + 1
        require(
            chosen or need <= TALLEST,
            f"{lines} lines of at least {LEAST_PIXELS:g} pixels do not fit {self.height}: "
            f"give a --size at least {tall} pixels high, fewer --lines or a --line-height",
        )
        fit = TALLEST / need
        require(
            need <= TALLEST,
            f"{asked}: {lines} lines do not fit; --line-height {_down(least * fit)} "
            f"{_down(most * fit)} or fewer --lines do",
        )
        require(
            self.line_height[1] <= self._widest_height(),
            f"{asked}: {fewest} words do not fit a line of {self.width} pixels; lines up to "
            f"{_down(self._widest_height())} high, fewer --words or a wider --size do",
        )

    def line_pixels(self) -> tuple[float, float]:
        """Return the least and the greatest height of a line in pixels."""
        return self.line_height[0] * self.height, self.line_height[1] * self.height


def room_needed(lines: int, least: float, most: float) -> float:
    """Return the greatest height of a block of lines: heights and gaps as `block.py` draws them."""
    total = lines * (least + most) / 2 + (most - least) / 2
    return total + GAPS[1] * (total - least) if lines > 1 else most


def tallest_line(lines: int, least: float) -> float:
    """Return the greatest line height for which a block fits: the inverse of `room_needed`."""
    total = (TALLEST + GAPS[1] * least) / (1 + GAPS[1])
    return (2 * total - (lines - 1) * least) / (lines + 1)


def _down(value: float) -> str:
    """Write a number rounded down, so that what is said to fit does."""
    return f"{int(value * 1000) / 1000:g}"
