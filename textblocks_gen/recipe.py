"""Recipe of the text blocks: every knob, its default and where that comes from."""

from dataclasses import dataclass

from ivl_shards import Recipe
from ivl_shards.recipe import require

# Blocks of up to so many lines share one distribution of line heights (the paper's longest).
FULL_BLOCK = 10
# The widest gap between two lines, over the greatest line height.
WIDEST_GAP = 0.3


@dataclass(frozen=True)
class TextRecipe(Recipe):
    """Knobs of the text blocks. Probabilities are between 0 and 1."""

    height: int = 320
    """Of the image in pixels. The paper gives no size: ours keeps 10 lines readable."""
    width: int = 448
    """Of the image in pixels; ours keeps lines of 5 words readable."""
    fewest_words: int = 3
    """In a line; the paper's 3–5."""
    most_words: int = 5
    smallest_line: float = 0.05
    """Least height of a line, from the tails of its letters to their tops, over the image's."""
    largest_line: float = 0.07
    """Greatest height of a line over the image's. It is the same for any number of lines."""
    rotation: float = 5.0
    """Greatest turn of the block in degrees."""
    shear: float = 0.15
    """Greatest sideways shift of the block's top over its height."""
    perspective: float = 0.5
    """How often the transform is a perspective one; else it is affine."""
    foreshortening: float = 0.15
    """How much shorter one side of the block may be than the opposite one."""
    upper_case: float = 0.25
    """How often a block is set in capitals, handwritings aside."""
    title_case: float = 0.25
    """How often each word of a block begins with a capital; the rest is as in the lexicon."""
    punctuation: float = 0.0
    """How often a word is followed by a comma, full stop or the like."""
    digits: float = 0.0
    """How often a word is a number instead."""
    contrast: int = 85
    """Least difference in brightness between text and the ground behind it, of 255."""
    shadow: float = 0.15
    """How often text casts a shadow."""
    outline: float = 0.1
    """How often text has an outline in another colour."""
    blur: float = 0.15
    """How often text is a little blurred."""
    noise: float = 0.15
    """How often the image is grainy."""
    quality: int = 90
    """Of the JPEG."""
    char_quads: bool = False
    """Also store the quad of every character."""
    fonts: str = ""
    """Fingerprint of the faces, in their order."""
    lexicon: str = ""
    """Fingerprint of the words."""
    backgrounds: str = ""
    """Fingerprint of the images behind the text."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(min(self.counts) >= 1, "0 lines: a block has at least 1")
        require(max(self.counts) <= 100, f"{max(self.counts)} lines: at most 100")
        for name in ("height", "width"):
            value = getattr(self, name)
            require(64 <= value <= 4096, f"{name} {value}: between 64 and 4096 pixels")
        require(
            1 <= self.fewest_words <= self.most_words <= 20,
            f"{self.fewest_words} to {self.most_words} words a line: between 1 and 20, "
            "the smaller number first",
        )
        require(
            0 < self.smallest_line <= self.largest_line <= 1,
            f"line height {self.smallest_line:g} to {self.largest_line:g} of the image: "
            "between 0 and 1, the smaller number first",
        )
        for name in ("perspective", "upper_case", "title_case", "punctuation", "digits",
                     "shadow", "outline", "blur", "noise"):  # fmt: skip
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} {value:g}: between 0 and 1")
        require(self.upper_case + self.title_case <= 1, "upper and title case: more than always")
        require(0 <= self.rotation <= 30, f"rotation {self.rotation:g}: between 0 and 30 degrees")
        require(0 <= self.shear <= 1, f"shear {self.shear:g}: between 0 and 1")
        require(
            0 <= self.foreshortening <= 0.5,
            f"foreshortening {self.foreshortening:g}: between 0 and 0.5",
        )
        require(0 <= self.contrast <= 110, f"contrast {self.contrast}: between 0 and 110")
        require(30 <= self.quality <= 100, f"quality {self.quality}: between 30 and 100")
        require(
            self.line_pixels()[0] >= 8,
            f"lines of {self.line_pixels()[0]:.1f} pixels cannot be read: give a larger --size or "
            f"fewer than {self.full_block()} lines",
        )

    def full_block(self) -> int:
        """The number of lines that must fit."""
        return max(FULL_BLOCK, *self.counts)

    def line_pixels(self) -> tuple[float, float]:
        """Least and greatest height of a line in pixels: what fits when the block is full."""
        fit = 0.94 * self.height / (self.full_block() + (self.full_block() - 1) * WIDEST_GAP)
        return (
            min(self.smallest_line * self.height, fit),
            min(self.largest_line * self.height, fit),
        )
