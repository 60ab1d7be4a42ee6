"""OCR baselines: score an off-the-shelf detector and recogniser on blocks of text.

As in the paper, it is run on the full scenes of ICDAR, and the words found are assigned to the
blocks; or it is run on each block alone. With a lexicon, every word is replaced by the nearest one
in it.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from benchmark.baselines.association import associate, piece_lines, scene_lines, word_lines
from benchmark.baselines.engines import ENGINES, Engine
from benchmark.data.datasets import TestSet
from benchmark.data.test_sets import set_differences
from benchmark.evaluation.decoding import Decoding, lexicon_words
from benchmark.evaluation.evaluate import score_predictions
from benchmark.evaluation.predictions import RowPrediction
from benchmark.results.environment import environment
from benchmark.results.result import Result, scores_of
from benchmark.tasks.icdar_blocks import find_scenes
from benchmark.tasks.task import Task
from icdar_blocks.scenes import read_picture, read_split
from ivl_shards import Sample, UserError
from ivl_shards.format.reader import Dataset
from ivl_shards.generation.recipe import require
from ivl_shards.progress import show_progress

PLACES = ("scenes", "blocks")
"""What a baseline can be run on."""
# For each task with text, what a baseline can be run on; the first is the default.
_TASKS = {"icdar-blocks": PLACES, "text-blocks": ("blocks",)}

BlockLines = Iterator[tuple[int, list[str]]]
"""Row of a block and the lines that were read in it."""


def score_ocr(
    name: str,
    place: str | None,
    task: Task,
    test: TestSet,
    decoding: Decoding,
    quiet: bool = False,
) -> Result:
    """Score a baseline on a test set; `place` is one of `PLACES`, by default the task's first."""
    places = _TASKS.get(task.name)
    if places is None:
        raise UserError(f"--model {name}: is for {' or '.join(_TASKS)}, not for {task.name}")
    place = place or places[0]
    require(place in places, f"--on {place}: {task.name} has no {place}")
    require(decoding.beam is None, f"--beam: {name} has its own decoder")
    lexicon = lexicon_words(decoding.lexicon) if decoding.lexicon else None
    engine = ENGINES[name]()
    dataset, begun = test.open(task), time.monotonic()
    if place == "scenes":
        read = read_scenes(dataset, task, test.data.folder, engine)
    else:
        read = read_blocks(dataset, engine)
    predictions: list[RowPrediction] = []
    with show_progress(len(dataset), quiet) as report:
        for row, lines in read:
            if lexicon is not None:
                lines = [corrected for line in lines if (corrected := correct(line, lexicon))]
            predictions.append(RowPrediction(row, lines))
            report(1)
    return Result(
        task=task,
        model=name,
        preset=f"on {place}",
        config=None,
        changes=tuple(decoding.label),
        test_data=dataset.attributes["content_sha256"],
        test_differs=set_differences(task, dataset),
        environment={**environment(), "threads": 1, **engine.versions},
        **scores_of(score_predictions(task, dataset, predictions, begun)),
    )


def read_scenes(samples: Dataset, task: Task, data: Path, engine: Engine) -> BlockLines:
    """Read the scenes, and assign the words found to the blocks."""
    images = read_split(find_scenes(data), task.test.name).images
    if images is None:
        raise UserError(f"{data}: the photographs of the split {task.test.name} are missing")
    rows_of_scene: dict[str, list[int]] = defaultdict(list)
    for row, sample in enumerate(samples):
        rows_of_scene[_scene_name(sample)].append(row)
    for name, rows in rows_of_scene.items():
        pieces = engine.read(read_picture(images.read(name), images.where(name)))
        words = [word for piece in pieces for word in piece.words]
        blocks = associate(words, [scene_lines(samples[row]) for row in rows])
        for row, block in zip(rows, blocks, strict=True):
            yield row, word_lines(block)


def _scene_name(sample: Sample) -> str:
    # Files of generator version 1 hold a list of one.
    return str(np.ravel(sample["source_image"])[0].decode("utf-8", "replace"))


def read_blocks(samples: Dataset, engine: Engine) -> BlockLines:
    """Read each block alone; all text found in it counts."""
    for row, sample in enumerate(samples):
        yield row, piece_lines(engine.read(sample.image))


def correct(line: str, lexicon: Sequence[str]) -> str:
    """Correct a line with a lexicon.

    Each word is replaced by the nearest one in the lexicon, Capitalised or in CAPITALS as it was
    read; words that are near none are removed.

    >>> correct("T1REDNESS Kil1s 2013", ["tiredness", "kills"])
    'TIREDNESS Kills'
    """
    pairs = ((word, nearest(word, lexicon)) for word in line.split())
    return " ".join(_match_case(near, word) for word, near in pairs if near is not None)


def _match_case(text: str, word: str) -> str:
    """Return a text Capitalised or in CAPITALS if a word is."""
    letters = "".join(c for c in word if c.isalpha())
    if len(letters) > 1 and letters.isupper():
        return text.upper()
    return text[:1].upper() + text[1:] if letters[:1].isupper() else text


def nearest(word: str, lexicon: Sequence[str]) -> str | None:
    """Return the word of the lexicon with the smallest edit distance, the first of equals, or None.

    The distance is at most 1 for words of three to five letters, and at most 2 for longer ones.
    Case and punctuation are ignored.

    >>> nearest("Tiredmess,", ["kills", "tiredness"]), nearest("2013", ["kills"])
    ('tiredness', None)
    """
    bare = "".join(c for c in word.lower() if c.isalnum())
    limit = min(len(bare) // 3, 2)
    best = process.extractOne(bare, lexicon, scorer=Levenshtein.distance, score_cutoff=limit)
    return None if best is None else str(best[0])
