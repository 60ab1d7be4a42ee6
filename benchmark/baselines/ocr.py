"""OCR: how well an off-the-shelf detector and recogniser reads the blocks of ICDAR.

As the paper did, it is run on the full scenes and its words are associated with the blocks; or,
for comparison, on the blocks alone. With a lexicon every word becomes the nearest one there.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from benchmark.baselines.association import associate, lines_of, scene_lines
from benchmark.baselines.engines import ENGINES
from benchmark.data import open_part
from benchmark.decoding import Decoding, lexicon_words
from benchmark.evaluation import Evaluation, score, true_answer
from benchmark.run import surroundings
from benchmark.tasks import Task
from benchmark.tasks.icdar_blocks import find_scenes
from icdar_blocks import Word
from icdar_blocks.scenes import read_split
from ivl_shards import Sample, UserError
from ivl_shards.progress import Report, show_progress
from ivl_shards.reader import Dataset

PLACES = ("scenes", "blocks")
"""What a baseline can be run on."""


def evaluate_ocr(
    engine: str, place: str, task: Task, data: Path, decoding: Decoding, quiet: bool
) -> dict[str, Any]:
    """The result of a baseline on the test blocks."""
    if task.name != "icdar-blocks":
        raise UserError(f"--model {engine}: is run on icdar-blocks, not on {task.name}")
    if decoding.beam is not None:
        raise UserError(f"--beam: {engine} decodes in its own way")
    words = lexicon_words(decoding.lexicon) if decoding.lexicon else None
    test, begun = open_part(task, task.test, data), time.monotonic()
    samples = list(test)
    if place == "scenes":
        found = read_scenes(samples, task.test.split, data, engine, quiet)
    else:
        found = read_blocks(samples, engine, quiet)
    if words is not None:
        found = [correct(block, words) for block in found]
    answers: list[Any] = [
        (row, lines_of(block), true_answer(task, sample))
        for row, (block, sample) in enumerate(zip(found, samples, strict=True))
    ]
    scores = score(task, _lengths(task, test), answers)
    return {
        "config": {"task": task.name, "model": engine, "preset": f"on {place}"},
        "changes": decoding.label,
        "data": test.attributes["content_sha256"],
        "surroundings": surroundings(),
        "evaluation": Evaluation(scores, answers, time.monotonic() - begun).to_json(),
    }


def _lengths(task: Task, dataset: Dataset) -> Any:
    return dataset.column(task.scored_by) if task.scored_by else dataset.lengths


def read_scenes(
    samples: Sequence[Sample], split: str, data: Path, engine: str, quiet: bool
) -> list[list[Word]]:
    """The words of each block, found in the scene that it is of."""
    images = read_split(find_scenes(data), split).images
    if images is None:
        raise UserError(f"{data}: the photographs of the split {split} are not there")
    rows: dict[str, list[int]] = defaultdict(list)
    for row, sample in enumerate(samples):
        rows[sample["source_image"][0].decode("utf-8", "replace")].append(row)
    read = _read(engine, {name: images.read(name) for name in rows}, quiet)
    found: list[list[Word]] = [[] for _ in samples]
    for name, there in rows.items():
        blocks = associate(read[name], [scene_lines(samples[row]) for row in there])
        for row, words in zip(there, blocks, strict=True):
            found[row] = words
    return found


def read_blocks(samples: Sequence[Sample], engine: str, quiet: bool) -> list[list[Word]]:
    """The words of each block, found in the block alone."""
    pictures = {}
    for row, sample in enumerate(samples):
        _, pixels = cv2.imencode(".png", cv2.cvtColor(sample.image, cv2.COLOR_RGB2BGR))
        pictures[f"{row:05}.png"] = pixels.tobytes()
    read = _read(engine, pictures, quiet)
    return [read[name] for name in pictures]


def _read(engine: str, pictures: dict[str, bytes], quiet: bool) -> dict[str, list[Word]]:
    """The words of pictures by name."""
    # Numbered: a name comes from a file, and could lead out of the folder.
    numbered = {f"{k:05}{Path(name).suffix.lower()}": name for k, name in enumerate(pictures)}
    found: dict[str, list[Word]] = {}
    with tempfile.TemporaryDirectory() as temporary, show_progress(len(pictures), quiet) as report:
        for file, name in numbered.items():
            (Path(temporary) / file).write_bytes(pictures[name])
        ENGINES[engine](Path(temporary), _collect(found, report))
    for file, name in numbered.items():
        if file not in found:
            raise UserError(f"--model {engine}: did not read {name}: it reads JPEG and PNG")
    return {name: found[file] for file, name in numbered.items()}


def _collect(found: dict[str, list[Word]], report: Report) -> Callable[[str, list[Word]], None]:
    def collect(name: str, words: list[Word]) -> None:
        found[name] = words
        report(1)

    return collect


def correct(words: Sequence[Word], lexicon: Sequence[str]) -> list[Word]:
    """Words as a recogniser with a lexicon would read them: each the nearest one there. What is
    near none cannot be said at all."""
    read = ((word, nearest(word.text, lexicon)) for word in words)
    return [Word(*word.box, text) for word, text in read if text is not None]


def nearest(word: str, lexicon: Sequence[str]) -> str | None:
    """The lexicon's word with the fewest edits, up to one for three letters and two from six on;
    the first of equals. Case does not matter, nor do marks around the word.

    >>> nearest("Tiredmess,", ["kills", "tiredness"]), nearest("2013", ["kills"])
    ('tiredness', None)
    """
    bare = "".join(c for c in word.lower() if c.isalnum())
    most = min(len(bare) // 3, 2)
    best = process.extractOne(bare, lexicon, scorer=Levenshtein.distance, score_cutoff=most)
    return None if best is None else str(best[0])
