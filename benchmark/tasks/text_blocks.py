"""Text blocks: lines of words to read, trained on three to five (section 4.1 of the paper)."""

from pathlib import Path
from string import ascii_letters, digits, punctuation
from typing import Any

from benchmark.data.letterbox import SIZE
from benchmark.tasks.task import Part, Task
from ivl_shards.format.schema import Array

LETTERS = " " + ascii_letters
"""What the lexicon's words are written with, in capitals or not."""
ALPHABET = LETTERS + digits + punctuation
"""Printable ASCII."""
ALPHABETS = {"letters": LETTERS, "ascii": ALPHABET}
# How often a word to train on is a number, or is followed by a mark; in what is tested on, as in
# the paper, none is.
_NUMBERS, _MARKS = 0.04, 0.06
# More lines than this need a taller canvas.
_MOST_LINES = 10


def make(part: Part, seed: int, out: Path, data: Path) -> None:
    """Make a part of the dataset, with the catalogue's fonts if they are installed.

    What is tested on differs in its seed too, on which the textures behind the text depend.
    """
    from textblocks_gen import TextRecipe, generate  # imports numba: needed for new data alone

    options: dict[str, Any] = {"split": part.split}
    if part.split == "train":
        options |= {"seed": seed, "digits": _NUMBERS, "punctuation": _MARKS}
    else:
        options |= {"seed": seed + 1}
    generate(TextRecipe(part.counts, part.total, **options, **_canvas(max(part.counts))), out)


def _canvas(lines: int) -> dict[str, Any]:
    """Return the options of a canvas that is tall enough: lines are as high as in other blocks."""
    if lines <= _MOST_LINES:
        return {}
    from textblocks_gen import TextRecipe  # imports numba, as above

    height = -(-TextRecipe.height * lines // _MOST_LINES)
    least, most = TextRecipe((1,), 1).line_height
    share = TextRecipe.height / height
    return {"height": height, "line_height": (least * share, most * share)}


def line_texts(sample: Any) -> list[str]:
    """What each line says."""
    return [text.decode() for text in sample["line_text"].tolist()]


def line_quads(sample: Any) -> Array:
    """The corners around the ink of each line."""
    quads: Array = sample["line_quad"]
    return quads


def words(sample: Any) -> tuple[list[str], Array]:
    """The words in reading order, and their corners."""
    return " ".join(line_texts(sample)).split(), sample["word_quad"]


TEXT_BLOCKS = Task(
    name="text-blocks",
    title="Synthetic Text Blocks",
    kind="reading",
    made_by="text-blocks",
    train=Part("train", (3, 4, 5), 180_000),
    test=Part("test", tuple(range(1, 11)), 200 * 10),
    channels=3,
    metrics=("word recall", "word precision", "edit distance", "line count"),
    make=make,
    photographs=True,
    alphabet=ALPHABET,
    line_texts=line_texts,
    line_quads=line_quads,
    page=SIZE,
    words=words,
)
