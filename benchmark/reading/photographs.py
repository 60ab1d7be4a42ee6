"""Photograph: where text is in a whole photograph, and what it says, block by block.

A reader knows blocks of text that fill a canvas. In a photograph text may be anywhere and of any
size, so it is found first, by the same model:

1. The photograph is scaled to several sizes and the model takes its steps at each. What it finds
   in one step may be several lines far from each other: every connected part is a candidate.
2. Each candidate is read at full resolution: what it says, and with what confidence. Most that is
   no text ends here. (A model that cannot read apart from finding takes a step at a close-up.)
3. Of candidates that overlap the one with the most confident text is kept, and lines become
   blocks by the rule that cuts blocks out of ICDAR's scenes.

Then each block is cut out and read as any picture of a block is (`benchmark.reading.blocks`).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor

from benchmark.data.batches import image_batch
from benchmark.data.letterbox import Letterboxed, letterbox
from benchmark.evaluation.inductive_loop import STOP_THRESHOLD, run_loop
from benchmark.models.contract import InductiveModel
from benchmark.models.step import Step
from benchmark.models.strips import band_quads, mask_bands, quad_bands
from benchmark.reading.blocks import Reading, ReadLine, read_picture
from benchmark.reading.pages import LineFinder, is_line_finder
from benchmark.tasks.task import ReadingTask
from icdar_blocks import Word, group
from icdar_blocks.words import Box
from ivl_shards.format.schema import Array
from ivl_shards.progress import Report, no_report

# Longer side of the photograph at each scale, in pixels: readers find lines of 13 to 43 pixels,
# so lines as high as 1.5 to 35 % of that side are found at one of them.
_SIDES = (128, 224, 448, 896)
# No canvas is lower or narrower, however long the photograph is.
_LOWEST = 32
# Steps at each scale. In photographs the first step finds nearly all lines at once.
_STEPS = 4
# A candidate is at least so high and wide, in pixels of its scale.
_LEAST = (4, 6)
# Candidates that are looked at more closely: the most certain ones, also those of two scales
# that are about the same, for one may be read better than the other.
_MOST_CANDIDATES = 48
# A close-up shows so many line heights around its candidate.
_MARGIN = 0.5
# Height of close-ups and their widths, of which each takes the first that it fits.
_HEIGHT, _WIDTHS = 48, (96, 160, 256, 448)
# What is read with less confidence in a close-up is no text, unless there is nothing better.
_CONFIDENT = 0.75
# Of two lines that share so much of the smaller one's area, one is dropped.
_SHARED = 0.3
# How much confidence counts against length when one of them is chosen.
_POWER = 4
# Line heights around a block that are cut out with it.
_BLOCK_MARGIN = 0.5


@dataclass(frozen=True)
class TextBlock:
    """One block of text of a picture."""

    box: tuple[int, int, int, int]
    """What was cut out: x0, y0, x1, y1 in pixels of the picture."""
    reading: Reading
    """Its lines, in pixels of the picture, and the steps that led to them."""

    def confident(self, least: float) -> "TextBlock":
        """Return the block without the lines that were read with less confidence."""
        lines = [line for line in self.reading.lines if line.confidence >= least]
        return replace(self, reading=replace(self.reading, lines=lines))

    def to_json(self) -> dict[str, Any]:
        """Return what a script wants to know."""
        return {"box": list(self.box), **self.reading.to_json()}


@dataclass(frozen=True)
class ReadPicture:
    """All that was read in a picture."""

    name: str
    blocks: list[TextBlock]

    def to_json(self) -> dict[str, Any]:
        """Return what a script wants to know: the blocks that have lines."""
        blocks = [block.to_json() for block in self.blocks if block.reading.lines]
        return {"picture": self.name, "blocks": blocks}


def read_photograph(
    model: InductiveModel, task: ReadingTask, picture: Array, report: Report = no_report
) -> list[TextBlock]:
    """Find the blocks of text of a photograph (H, W) or (H, W, 3), and read each.

    Where no text is found the picture is read as one block: a guess is better than nothing.
    """
    boxes = find_blocks(model, picture)
    read = []
    for k, box in enumerate(boxes, 1):
        report(0, f"block {k} of {len(boxes)}")
        read.append(_read_block(model, task, picture, box))
    return [block for block in read if block.reading.lines] or [read_block(model, task, picture)]


def read_block(model: InductiveModel, task: ReadingTask, picture: Array) -> TextBlock:
    """Read a picture that shows one block of text."""
    height, width = picture.shape[:2]
    return _read_block(model, task, picture, (0, 0, width, height))


def _read_block(
    model: InductiveModel, task: ReadingTask, picture: Array, box: tuple[int, int, int, int]
) -> TextBlock:
    x0, y0, x1, y1 = box
    reading = read_picture(model, task, picture[y0:y1, x0:x1])
    lines = [replace(line, quad=line.quad + np.array([x0, y0])) for line in reading.lines]
    return TextBlock(box, replace(reading, lines=lines))


def find_blocks(model: InductiveModel, picture: Array) -> list[tuple[int, int, int, int]]:
    """Return the boxes x0, y0, x1, y1 of a photograph's blocks of text, in reading order."""
    height, width = picture.shape[:2]
    words = [Word(*_box(line.quad), line.text) for line in find_lines(model, picture)]
    boxes = []
    for block in group(words):
        margin = _BLOCK_MARGIN * float(np.median([word.height for word in block.words]))
        boxes.append(_within(block.box, margin, height, width))
    return boxes


def find_lines(model: InductiveModel, picture: Array) -> list[ReadLine]:
    """Return the lines of text of a photograph, none of them twice, in no order."""
    found = _look_closer(model, picture, _find_candidates(model, picture))
    confident = [line for line in found if line.confidence >= _CONFIDENT]
    return _distinct(confident) or _distinct(found)[:1]


def _distinct(lines: Iterable[ReadLine]) -> list[ReadLine]:
    """Lines that do not overlap, those with the most confident text first."""
    kept: list[ReadLine] = []
    for line in sorted(lines, key=lambda line: -len(line.text) * line.confidence**_POWER):
        box = _box(line.quad)
        if _area(box) > 0 and all(
            _shared(box, other) <= _SHARED * min(_area(box), _area(other))
            for other in (_box(each.quad) for each in kept)
        ):
            kept.append(line)
    return kept


# ---- Candidates ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    box: Box  # in pixels of the photograph
    certainty: float  # mean of Δm over its pixels


@torch.no_grad()
def _find_candidates(model: InductiveModel, picture: Array) -> list[_Candidate]:
    """Return where the model finds lines at any scale, the most certain ones first."""
    height, width = picture.shape[:2]
    found = []
    for side in _SIDES:
        scale = side / max(height, width)
        canvas = max(_LOWEST, round(height * scale)), max(_LOWEST, round(width * scale))
        boxed = letterbox(picture, canvas)
        for delta in _deltas(model, boxed.pixels):
            parts = _parts(delta)
            found += [_Candidate(_box(boxed.back(corners)), mean) for corners, mean in parts]
    return sorted(found, key=lambda each: -each.certainty)[:_MOST_CANDIDATES]


def _deltas(model: InductiveModel, pixels: Array) -> list[Array]:
    """Return what the first steps at an image find, each (H, W)."""
    deltas: list[Array] = []

    def watch(active: Tensor, memory: Tensor, step: Step) -> None:
        if step.stop[0] <= STOP_THRESHOLD:
            deltas.append(step.delta[0].cpu().numpy())

    run_loop(model, image_batch(pixels[None]), _STEPS, watch)
    return deltas


def _parts(delta: Array) -> list[tuple[Array, float]]:
    """Return two corners (2, 2) of each connected part of Δm, (H, W), and the mean of Δm there."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats((delta > 0.5).astype(np.uint8))
    sums = np.bincount(labels.ravel(), delta.ravel(), count)
    return [
        (np.array([[x, y], [x + w, y + h]], float), float(sums[k] / area))
        for k, (x, y, w, h, area) in enumerate(stats.tolist())
        if k > 0 and h >= _LEAST[0] and w >= _LEAST[1]
    ]


@torch.no_grad()
def _look_closer(
    model: InductiveModel, picture: Array, candidates: Sequence[_Candidate]
) -> list[ReadLine]:
    """Take one step at a close-up of each candidate; return the lines that are there.

    A line finder knows lines on its own canvas only: it reads candidates where they are.
    """
    if is_line_finder(model):
        return _read_candidates(model, picture, [each.box for each in candidates])
    by_width: dict[int, list[tuple[Letterboxed, Array]]] = defaultdict(list)
    for candidate in candidates:
        boxed, corner = _close_up(picture, candidate.box)
        by_width[boxed.pixels.shape[1]].append((boxed, corner))
    lines = []
    for shown in by_width.values():
        images = image_batch(np.stack([boxed.pixels for boxed, _ in shown]))
        step = model.step(model.encode(images), images.new_zeros(len(images), *images.shape[2:]))
        quads = band_quads(mask_bands(step.delta, (1, 1))).cpu().numpy()  # (N, 4, 2)
        confidence = torch.ones(len(images)) if step.confidence is None else step.confidence
        for k, (boxed, corner) in enumerate(shown):
            text = step.outputs[k].strip() if step.outputs else ""
            if text and step.stop[k] <= STOP_THRESHOLD:
                quad = boxed.back(quads[k]) + corner
                lines.append(ReadLine(text, quad, float(confidence[k])))
    return lines


def _read_candidates(model: LineFinder, picture: Array, boxes: Sequence[Box]) -> list[ReadLine]:
    """Read the lines in upright boxes of a picture."""
    if not boxes:
        return []
    quads = np.array([[[x0, y0], [x1, y0], [x1, y1], [x0, y1]] for x0, y0, x1, y1 in boxes])
    read = model.read_lines(picture, quad_bands(torch.from_numpy(quads).float()))
    return [
        ReadLine(text.strip(), quad, confidence)
        for (text, confidence), quad in zip(read, quads, strict=True)
        if text.strip()
    ]


def _close_up(picture: Array, box: Box) -> tuple[Letterboxed, Array]:
    """Return what is at a box and around it, on a small canvas, and its corner (x, y)."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = _within(box, _MARGIN * (box[3] - box[1]), height, width)
    wide = (x1 - x0) / (y1 - y0) * _HEIGHT
    room = next((each for each in _WIDTHS if wide <= each), _WIDTHS[-1])
    return letterbox(picture[y0:y1, x0:x1], (_HEIGHT, room)), np.array([x0, y0])


# ---- Boxes -----------------------------------------------------------------------------------


def _box(quad: Array) -> Box:
    """Return the upright box around points (N, 2)."""
    (x0, y0), (x1, y1) = quad.min(0).tolist(), quad.max(0).tolist()
    return x0, y0, x1, y1


def _within(box: Box, margin: float, height: int, width: int) -> tuple[int, int, int, int]:
    """Return a box in whole pixels, grown on all sides, inside the picture and not empty."""
    x0 = min(max(0, int(box[0] - margin)), width - 1)
    y0 = min(max(0, int(box[1] - margin)), height - 1)
    x1 = max(x0 + 1, min(width, int(np.ceil(box[2] + margin))))
    y1 = max(y0 + 1, min(height, int(np.ceil(box[3] + margin))))
    return x0, y0, x1, y1


def _area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _shared(one: Box, other: Box) -> float:
    """Return the area that two boxes have in common."""
    low, high = map(max, one[:2], other[:2]), map(min, one[2:], other[2:])
    x0, y0, x1, y1 = *low, *high
    return _area((x0, y0, x1, y1))
