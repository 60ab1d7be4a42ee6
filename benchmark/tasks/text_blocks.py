"""Text blocks: lines of words to read, trained on three to five (section 4.1 of the paper)."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.data.alphabets import ASCII
from benchmark.data.letterbox import SIZE
from benchmark.evaluation.metrics import EDIT_DISTANCE, LINE_COUNT, match_words, word_metrics
from benchmark.tasks.task import ReadingTask, Split
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array

if TYPE_CHECKING:
    from textblocks_gen import TextRecipe

# Fractions of the training words that are numbers or end in a punctuation mark; the test set has
# none, as in the paper.
_NUMBERS, _MARKS = 0.04, 0.06
# More lines than this need a taller canvas.
_MOST_LINES = 10
# Faces of the font catalogue (`ivl-fonts install`), which the standard test set is drawn with.
_CATALOGUE = 1257
_FACES = re.compile(r"([0-9,]{1,9}) faces of (.*)")


def _recipe(split: Split, seed: int) -> "TextRecipe":
    """Return the recipe of a split. Each has a seed of its own, because the textures behind the
    text depend on it."""
    from textblocks_gen import TextRecipe  # imports numba, which most commands do not need

    options: dict[str, Any] = {"split": split.name}
    if split.name == "train":
        options |= {"seed": seed, "digits": _NUMBERS, "punctuation": _MARKS}
    else:
        options |= {"seed": seed + (2 if split.name == "val" else 1)}
    return TextRecipe(split.counts, split.total, **options, **_canvas(max(split.counts)))


def recipe(split: Split, seed: int) -> dict[str, Any]:
    """Return what the stored recipe of a split must say; which fonts, words and photographs
    there are depends on the machine."""
    stored: dict[str, Any] = json.loads(_recipe(split, seed).to_json())
    return {k: v for k, v in stored.items() if k not in ("fonts", "lexicon", "backgrounds")}


def generate_split(split: Split, seed: int, out: Path, data: Path) -> None:
    """Generate a split of the dataset, with the catalogue's fonts if they are installed."""
    from textblocks_gen import generate

    generate(_recipe(split, seed), out)


def _canvas(lines: int) -> dict[str, Any]:
    """Return the recipe options of a canvas tall enough for so many lines of the usual height."""
    if lines <= _MOST_LINES:
        return {}
    from textblocks_gen import TextRecipe

    height = -(-TextRecipe.height * lines // _MOST_LINES)
    least, most = TextRecipe((1,), 1).line_height
    share = TextRecipe.height / height
    return {"height": height, "line_height": (least * share, most * share)}


def line_texts(sample: Sample) -> list[str]:
    """Return the text of each line."""
    return [text.decode() for text in sample["line_text"].tolist()]


def line_quads(sample: Sample) -> Array:
    """Return the corners around the ink of each line."""
    quads: Array = sample["line_quad"]
    return quads


def words(sample: Sample) -> tuple[list[str], Array]:
    """Return the words in reading order, and their corners."""
    return " ".join(line_texts(sample)).split(), sample["word_quad"]


def source_differences(dataset: Dataset) -> list[str]:
    """Say which fonts a test set was drawn with, where they are not those of the catalogue."""
    for origin in dataset_origins(dataset):
        found = _FACES.match(origin)
        if found and "catalogue" not in found[2]:
            return [f"fonts: {found[1]} instead of {_CATALOGUE:,}"]
    return []


def dataset_origins(dataset: Dataset) -> list[str]:
    """Return where the third-party material of a dataset comes from, as its metadata states it."""
    try:
        origins = json.loads(dataset.attributes.get("origins", "[]"))
        return [str(origin["where"]) for origin in origins]
    except (TypeError, ValueError, KeyError):  # a file of someone else's may hold anything
        return []


_WORDS = word_metrics(match_words)

TEXT_BLOCKS = ReadingTask(
    name="text-blocks",
    title="Synthetic Text Blocks",
    dataset="text-blocks",
    train=Split("train", (3, 4, 5), 180_000),
    test=Split("test", tuple(range(1, 11)), 200 * 10),
    val=Split("val", tuple(range(1, 11)), 50 * 10),
    channels=3,
    metrics=(_WORDS["word recall"], _WORDS["word precision"], EDIT_DISTANCE, LINE_COUNT),
    generate=generate_split,
    recipe=recipe,
    standard={
        "ada3a76231b6943bac8689fe9187eb1480a3c4ae60d366becf3e49fbb2e0cf31": (
            "1–10 lines, 200 samples of each, drawn with the whole font catalogue"
        ),
    },
    source_differences=source_differences,
    photographs=True,
    alphabet=ASCII,
    line_texts=line_texts,
    line_quads=line_quads,
    letterbox=SIZE,
    words=words,
)
