"""The inductive loop at work, as one picture: a row for each step of a trained reader."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import torch
from PIL import Image, ImageDraw
from stand_ins import face

import textblocks_gen
from benchmark.data.batches import make_batch
from benchmark.models.load import find_weights, load_reader
from benchmark.results.report.recording import Recording, record_loop
from ivl_shards import Sample, open_dataset
from textblocks_gen import TextRecipe

WEIGHTS = "text-blocks-inductive-fast"
# The model was trained on up to five lines; this block has eight. It was chosen by hand among a
# dozen, as one that is read without a mistake, and the README says so.
LINES, SEED, ROW = 8, 1, 2
WIDE, SAYS, GAP, HEAD = 250, 330, 10, 34
# Steps that are shown: so many at the beginning, and so many at the end.
FIRST, LAST, SKIP = 3, 3, 26
HEADS = ("image", "memory before", "delta: the next line", "output", "memory after")
PAPER, INK, FAINT = "#fafaf8", "#1e1e1e", "#6a6a66"
# As on the report page: what has been read, and what is read now.
SEEN, NEXT, STRENGTH = (255, 140, 26), (40, 150, 255), 0.5


def draw_loop(folder: Path) -> Image.Image:
    """Make a block, read it, and draw what happened."""
    textblocks_gen.generate(TextRecipe((LINES,), ROW + 1, seed=SEED), folder / "loop.h5", workers=1)
    sample = open_dataset(folder / "loop.h5")[ROW]
    task, model = load_reader(find_weights(WEIGHTS))
    torch.set_num_threads(1)
    recording = record_loop(model, make_batch(task, [sample], []).images, sample.length)
    return _sheet(sample, recording)


def _sheet(sample: Sample, recording: Recording) -> Image.Image:
    window = _window(sample)
    height = round(WIDE * sample.image[window].shape[0] / sample.image[window].shape[1])
    lefts = np.cumsum([GAP, *(w + GAP for w in (WIDE, WIDE, WIDE, SAYS, WIDE))]).tolist()
    steps = dict(enumerate(_steps(sample, recording)))
    shown = [*list(steps)[:FIRST], None, *list(steps)[-LAST:]]
    size = (lefts[-1], HEAD + (FIRST + LAST) * (height + GAP) + SKIP)
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    for left, head in zip(lefts, HEADS, strict=False):
        draw.text((left, 9), head, FAINT, face(15, bold=False))
    top = HEAD
    for k in shown:
        if k is None:
            draw.text((size[0] / 2, top + SKIP / 2 - 4), "· · ·", FAINT, face(18), "mm")
            top += SKIP
            continue
        panels, says = steps[k]
        for left, pixels in zip((*lefts[:3], lefts[4]), panels, strict=True):
            small = cv2.resize(pixels[window], (WIDE, height), interpolation=cv2.INTER_AREA)
            sheet.paste(Image.fromarray(small), (left, top))
        ink = INK if k < len(steps) - 1 else FAINT
        for row, words in enumerate(_wrap(says, draw)):
            draw.text((lefts[3] + 4, top + height / 2 - 12 + 20 * row), words, ink, face(15))
        top += height + GAP
    return sheet


def _steps(sample: Sample, recording: Recording) -> Iterator[tuple[list[np.ndarray], str]]:
    """Return for each step the pictures of its row, and what it says."""
    afters = [*recording.memories[1:], recording.memories[-1]]
    says = [*recording.outputs, "(nothing is left)"]
    steps = zip(recording.memories, recording.deltas, afters, says, strict=True)
    for k, (memory, delta, after, text) in enumerate(steps):
        ended = k == len(says) - 1
        now = np.zeros_like(delta) if ended else delta
        image = _tint(_tint(sample.image, memory, SEEN), now, NEXT)
        yield [image, _grey(memory), _grey(now), _grey(after)], text


def _tint(pixels: np.ndarray, where: np.ndarray, colour: tuple[int, ...]) -> np.ndarray:
    weight = STRENGTH * np.clip(where, 0, 1)[..., None]
    return (pixels + weight * (np.array(colour) - pixels)).round().astype(np.uint8)


def _grey(values: np.ndarray) -> np.ndarray:
    return np.repeat((np.clip(values, 0, 1) * 255).astype(np.uint8)[..., None], 3, axis=2)


def _window(sample: Sample, margin: int = 12) -> tuple[slice, slice]:
    """Return the part of the image that holds the block."""
    ys, xs = np.nonzero(sample["steps"])
    height, width = sample["steps"].shape
    return (
        slice(max(0, ys.min() - margin), min(height, ys.max() + margin)),
        slice(max(0, xs.min() - margin), min(width, xs.max() + margin)),
    )


def _wrap(text: str, draw: ImageDraw.ImageDraw) -> list[str]:
    rows = [""]
    for word in text.split():
        longer = f"{rows[-1]} {word}".strip()
        if rows[-1] and draw.textlength(longer, face(15)) > SAYS - 8:
            rows.append(word)
        else:
            rows[-1] = longer
    return rows
