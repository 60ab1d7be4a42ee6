"""Photographs: find the blocks of text in a photograph and read each.

A reader is trained on blocks of text that fill a canvas. In a photograph, text may be anywhere and
of any size, so the same model locates it first:

1. The photograph is scaled to several sizes, and the model takes its steps at each. One step may
   find several lines far apart: each connected component of Δm is a candidate.
2. Each candidate is read at full resolution. Most candidates without text are rejected here, for
   low confidence. (A model that cannot read without finding takes a step on a close-up.)
3. If candidates overlap, the one with the most confident text is kept. Lines are grouped into
   blocks by the same rule as for the ICDAR dataset.

Then each block is cut out and read like any picture of a block (`benchmark.reading.blocks`).
"""

from collections import defaultdict
from collections.abc import Sequence
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
from benchmark.reading.multi_scale import LineFinder, is_line_finder, suppress_overlaps
from benchmark.tasks.task import ReadingTask
from icdar_blocks import Word, group
from icdar_blocks.words import Box
from ivl_shards.format.schema import Array
from ivl_shards.progress import Report, no_report

# Longer side of the photograph at each scale, in pixels. Readers find lines of 13 to 43 pixels, so
# lines with heights from 1.5 to 35 % of that side are found at one of the scales.
_SIDES = (128, 224, 448, 896)
# Minimal height and width of the canvas, however long and narrow the photograph is.
_MIN_CANVAS_SIDE = 32
# Steps at each scale. In photographs, the first step finds nearly all lines at once.
_STEPS = 4
# Minimal height and width of a candidate, in pixels of its scale.
_MIN_CANDIDATE_SIZE = (4, 6)
# Number of candidates that are read: those with the highest confidence. Duplicates from two scales
# are included, because one may be read better than the other.
_MAX_CANDIDATES = 48
# Margin of a close-up around its candidate, in line heights.
_CLOSE_UP_MARGIN = 0.5
# Height and possible widths of close-ups in pixels; the smallest sufficient width is taken.
_CLOSE_UP_HEIGHT, _CLOSE_UP_WIDTHS = 48, (96, 160, 256, 448)
# A candidate with less confidence is not taken for text, unless there is none with more.
_MIN_CONFIDENCE = 0.75
# Exponent of the confidence when overlapping candidates are compared.
_CONFIDENCE_POWER = 4
# Margin with which a block is cut out, in line heights.
_BLOCK_MARGIN = 0.5


@dataclass(frozen=True)
class TextBlock:
    """One block of text of a picture."""

    box: tuple[int, int, int, int]
    """Where it was cut out: x0, y0, x1, y1 in pixels of the picture."""
    reading: Reading
    """Its lines, in pixels of the picture, and the steps in which they were read."""

    def confident(self, threshold: float) -> "TextBlock":
        """Return the block without the lines whose confidence is below a threshold."""
        lines = [line for line in self.reading.lines if line.confidence >= threshold]
        return replace(self, reading=replace(self.reading, lines=lines))

    def to_json(self) -> dict[str, Any]:
        """Return the box and the lines as JSON values."""
        return {"box": list(self.box), **self.reading.to_json()}


@dataclass(frozen=True)
class ReadPicture:
    """The blocks of text of a picture."""

    name: str
    blocks: list[TextBlock]

    def to_json(self) -> dict[str, Any]:
        """Return the blocks that have lines as JSON values."""
        blocks = [block.to_json() for block in self.blocks if block.reading.lines]
        return {"picture": self.name, "blocks": blocks}


def read_photograph(
    model: InductiveModel, task: ReadingTask, picture: Array, report: Report = no_report
) -> list[TextBlock]:
    """Find the blocks of text of a photograph (H, W) or (H, W, 3), and read each.

    If no text is found, the picture is read as one block.
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
    """Return the lines of text of a photograph without duplicates, the most confident first."""
    read = _read_candidates(model, picture, _find_candidates(model, picture))
    lines = [line for line in read if np.ptp(line.quad, axis=0).all()]  # none without an area
    confident = [line for line in lines if line.confidence >= _MIN_CONFIDENCE]
    distinct = suppress_overlaps(confident, _CONFIDENCE_POWER)
    return distinct or suppress_overlaps(lines, _CONFIDENCE_POWER)[:1]


# ---- Candidates ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    box: Box  # in pixels of the photograph
    confidence: float  # mean of Δm over its pixels


@torch.no_grad()
def _find_candidates(model: InductiveModel, picture: Array) -> list[_Candidate]:
    """Return where the model finds lines at any scale, the most confident ones first."""
    height, width = picture.shape[:2]
    found = []
    for side in _SIDES:
        scale = side / max(height, width)
        sides = round(height * scale), round(width * scale)
        boxed = letterbox(
            picture, (max(_MIN_CANVAS_SIDE, sides[0]), max(_MIN_CANVAS_SIDE, sides[1]))
        )
        for delta in _deltas(model, boxed.pixels):
            for corners, mean in _components(delta):
                found.append(_Candidate(_box(boxed.back(corners)), mean))
    return sorted(found, key=lambda each: -each.confidence)[:_MAX_CANDIDATES]


def _deltas(model: InductiveModel, pixels: Array) -> list[Array]:
    """Return Δm of the first steps on an image, each (H, W)."""
    deltas: list[Array] = []

    def watch(active: Tensor, memory: Tensor, step: Step) -> None:
        if step.stop[0] <= STOP_THRESHOLD:
            deltas.append(step.delta[0].cpu().numpy())

    run_loop(model, image_batch(pixels[None]), _STEPS, watch)
    return deltas


def _components(delta: Array) -> list[tuple[Array, float]]:
    """Return two corners (2, 2) of each connected component of Δm, (H, W), and its mean."""
    least_height, least_width = _MIN_CANDIDATE_SIZE
    count, labels, stats, _ = cv2.connectedComponentsWithStats((delta > 0.5).astype(np.uint8))
    sums = np.bincount(labels.ravel(), delta.ravel(), count)
    return [
        (np.array([[x, y], [x + w, y + h]], float), float(sums[k] / area))
        for k, (x, y, w, h, area) in enumerate(stats.tolist())
        if k > 0 and h >= least_height and w >= least_width
    ]


@torch.no_grad()
def _read_candidates(
    model: InductiveModel, picture: Array, candidates: Sequence[_Candidate]
) -> list[ReadLine]:
    """Read the candidates that have text."""
    boxes = [candidate.box for candidate in candidates]
    if is_line_finder(model):
        return _read_boxes(model, picture, boxes)
    return _read_close_ups(model, picture, boxes)


def _read_close_ups(model: InductiveModel, picture: Array, boxes: Sequence[Box]) -> list[ReadLine]:
    """Take one step on a close-up of each box; return the lines that were read."""
    by_width: dict[int, list[tuple[Letterboxed, Array]]] = defaultdict(list)
    for box in boxes:
        boxed, corner = _close_up(picture, box)
        by_width[boxed.pixels.shape[1]].append((boxed, corner))
    lines = []
    for close_ups in by_width.values():
        images = image_batch(np.stack([boxed.pixels for boxed, _ in close_ups]))
        step = model.step(model.encode(images), images.new_zeros(len(images), *images.shape[2:]))
        quads = band_quads(mask_bands(step.delta, (1, 1))).cpu().numpy()  # (N, 4, 2)
        confidence = torch.ones(len(images)) if step.confidence is None else step.confidence
        for k, (boxed, corner) in enumerate(close_ups):
            text = step.outputs[k].strip() if step.outputs else ""
            if text and step.stop[k] <= STOP_THRESHOLD:
                quad = boxed.back(quads[k]) + corner
                lines.append(ReadLine(text, quad, float(confidence[k])))
    return lines


def _read_boxes(model: LineFinder, picture: Array, boxes: Sequence[Box]) -> list[ReadLine]:
    """Read the lines in axis-aligned boxes of a picture."""
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
    """Return a box and its surroundings on a small canvas, and its corner (x, y)."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = _within(box, _CLOSE_UP_MARGIN * (box[3] - box[1]), height, width)
    needed = (x1 - x0) / (y1 - y0) * _CLOSE_UP_HEIGHT
    columns = next((each for each in _CLOSE_UP_WIDTHS if needed <= each), _CLOSE_UP_WIDTHS[-1])
    return letterbox(picture[y0:y1, x0:x1], (_CLOSE_UP_HEIGHT, columns)), np.array([x0, y0])


# ---- Boxes -----------------------------------------------------------------------------------


def _box(quad: Array) -> Box:
    """Return the bounding box of points (N, 2)."""
    (x0, y0), (x1, y1) = quad.min(0).tolist(), quad.max(0).tolist()
    return x0, y0, x1, y1


def _within(box: Box, margin: float, height: int, width: int) -> tuple[int, int, int, int]:
    """Return a box in integer pixels with a margin, inside the picture and not empty."""
    x0 = min(max(0, int(box[0] - margin)), width - 1)
    y0 = min(max(0, int(box[1] - margin)), height - 1)
    x1 = max(x0 + 1, min(width, int(np.ceil(box[2] + margin))))
    y1 = max(y0 + 1, min(height, int(np.ceil(box[3] + margin))))
    return x0, y0, x1, y1
