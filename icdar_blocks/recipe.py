"""Recipe of the ICDAR blocks: every knob, its default and where that comes from."""

from dataclasses import dataclass

from icdar_blocks.rule import PUBLISHED, Rule
from ivl_shards import Recipe
from ivl_shards.generation.recipe import require

LARGEST_SIDE = 10_000


@dataclass(frozen=True)
class IcdarRecipe(Recipe):
    """Knobs of the blocks, and what the data said when it was read.

    The latter (from `fingerprint` on) is found by `plan`; it names what the content depends
    on without naming a place on this machine. `seed` has nothing to decide here.
    """

    rule: Rule = PUBLISHED
    margin: float = 0.5
    """Space around a block, times the mean height of its lines."""
    longest: int = 1024
    """A block with a longer side, in pixels, is shrunk to it; unused with a canvas."""
    canvas: tuple[int, int] | None = None
    """Height and width of all images, blocks scaled to fit; None leaves their sizes alone."""
    quality: int = 95
    """Of the JPEG images."""
    fingerprint: str = ""
    """SHA-256 of the words and pictures."""
    missing: tuple[str, ...] = ()
    """Scenes without a picture; their blocks are left out."""
    largest: tuple[int, int] = (1, 1)
    """Height and width that step maps are padded to."""
    most_words: int = 1
    """Words of the block that has most."""
    name_bytes: int = 64
    """Room for the file name of a scene, in UTF-8."""
    word_bytes: int = 64
    """Room for the text of a word."""
    line_bytes: int = 64
    """Room for the text of a line."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.margin <= 100, f"margin {self.margin}: between 0 and 100")
        _check_side("longest", self.longest)
        for side in self.canvas or ():
            _check_side("canvas", side)
        require(1 <= self.quality <= 100, f"quality {self.quality}: between 1 and 100")


def _check_side(name: str, side: int) -> None:
    require(8 <= side <= LARGEST_SIDE, f"{name} {side}: between 8 and {LARGEST_SIDE:,} pixels")
