"""Recipe of the ICDAR blocks: every knob, its default and its range."""

from dataclasses import dataclass

from icdar_blocks.rule import PUBLISHED, Rule
from ivl_shards import Recipe
from ivl_shards.generation.knobs import knob

LARGEST_SIDE = 10_000


@dataclass(frozen=True)
class IcdarRecipe(Recipe):
    """Knobs of the blocks, and properties of the data that they were cut from.

    The latter (from `fingerprint` on) are found by `plan_dataset`; they name what the content
    depends on without naming a folder of this machine. `seed` has no effect here.
    """

    rule: Rule = PUBLISHED
    margin: float = knob(0.5, "Space around a block over the mean height of its lines.", 0, 100)
    longest: int = knob(
        1024,
        "Shrink blocks with a longer side to this; without effect on a --canvas.",
        8,
        LARGEST_SIDE,
        unit="pixels",
    )
    canvas: tuple[int, int] | None = knob(
        None,
        "Scale all blocks to fit into images of this size; by default they keep their sizes.",
        8,
        LARGEST_SIDE,
        unit="pixels",
        type_=int,
        image_size=True,
    )
    quality: int = knob(95, "Quality of the JPEG images.", 1, 100)
    fingerprint: str = ""
    """SHA-256 of the words and pictures."""
    missing: tuple[str, ...] = ()
    """Scenes without a picture; their blocks are left out."""
    largest: tuple[int, int] = (1, 1)
    """Height and width that step maps are padded to."""
    most_words: int = 1
    """Number of words in the block that has most."""
    name_bytes: int = 64
    """Room for the file name of a scene, in UTF-8."""
    word_bytes: int = 64
    """Room for the text of a word."""
    line_bytes: int = 64
    """Room for the text of a line."""
