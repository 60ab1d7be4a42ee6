"""Multi-scale reading: lines of a picture of any size, found on a canvas and read at full size.

The picture is letterboxed onto a canvas at one or several scales, and the inductive loop with its
memory runs on that canvas. A line that was found is then cut out of the picture itself, at full
resolution, and read. If lines found at several scales overlap, the one with the most confident
text is kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeGuard, TypeVar

import numpy as np
import torch
from torch import Tensor

from benchmark.data.batches import image_batch
from benchmark.data.letterbox import Letterboxed, letterbox_at_scale
from benchmark.evaluation.inductive_loop import STOP_THRESHOLD, run_loop
from benchmark.models.contract import InductiveModel
from benchmark.models.step import Step
from benchmark.models.strips import Band, band_quads, mask_bands, quad_bands
from benchmark.tasks.task import Kind
from ivl_shards.format.schema import Array

# Exponent of the confidence in the score of a line. Letters with low confidence must count much
# less, because at a wrong scale some are read in any texture. This and the next were chosen on
# ICDAR's train split (experiments/compare_scales.py).
_CONFIDENCE_POWER = 3
# Two lines overlap if they share more than this fraction of the smaller one's area.
_MAX_OVERLAP = 0.3


class LineFinder(Protocol):
    """A model that finds lines on a canvas and can read them at full resolution."""

    def encode(self, images: Tensor) -> Tensor:
        """Return the features that all steps share."""

    def find(self, encoded: Tensor, memory: Tensor) -> Step:
        """Find the next line, with its band, without reading it."""

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Return the memories after a step."""

    def read_lines(self, picture: Array, band: Band) -> list[tuple[str, float]]:
        """Return the text in each band of a picture (H, W, 3) and the confidence in it."""


def is_line_finder(model: object) -> TypeGuard[LineFinder]:
    """Tell whether a model can find lines without reading them."""
    return hasattr(model, "find") and hasattr(model, "read_lines")


def reads_at_scales(model: object) -> TypeGuard[InductiveModel | LineFinder]:
    """Tell whether a model can be passed to `read_at_scales`."""
    return isinstance(model, InductiveModel) or is_line_finder(model)


class TextLine(Protocol):
    """A line of text that was read."""

    @property
    def text(self) -> str: ...

    @property
    def quad(self) -> Array: ...

    @property
    def confidence(self) -> float: ...


Line = TypeVar("Line", bound=TextLine)


def text_score(line: TextLine, power: int = _CONFIDENCE_POWER) -> float:
    """Return the number of letters of a line, weighted by a power of its confidence."""
    return len(line.text) * line.confidence**power


def suppress_overlaps(lines: Iterable[Line], power: int = _CONFIDENCE_POWER) -> list[Line]:
    """Return lines that do not overlap, by greedy non-maximum suppression.

    If lines overlap, the one with the highest `text_score` is kept; the first of equals.
    """
    kept: list[Line] = []
    for line in sorted(lines, key=lambda line: -text_score(line, power)):
        if all(overlap(line.quad, other.quad) <= _MAX_OVERLAP for other in kept):
            kept.append(line)
    return kept


def overlap(quad: Array, other: Array) -> float:
    """Return the area that the bounding boxes of two quads (4, 2) share, over the smaller one's."""
    low = np.maximum(quad.min(0), other.min(0))
    high = np.minimum(quad.max(0), other.max(0))
    areas = [float(np.prod(np.ptp(each, axis=0))) for each in (quad, other)]
    shared: float = np.prod(np.maximum(high - low, 0)) / max(min(areas), 1e-9)
    return shared


@dataclass(frozen=True)
class ReadStep:
    """One step of the inductive loop on the canvas."""

    memory: Array  # (H, W) m_t
    delta: Array  # (H, W) Δm_t
    after: Array  # (H, W) m_{t+1}
    stop: bool
    """Whether the model predicts that nothing is left."""
    quad: Array  # (4, 2) corners of the line in pixels of the picture
    text: str = ""
    confidence: float = 0.0
    """The model's confidence in the text, 0 to 1."""

    @property
    def is_line(self) -> bool:
        """Whether any text was read."""
        return not self.stop and bool(self.text)


@dataclass(frozen=True)
class ScaleReading:
    """The text of a picture, read at one scale or merged from several."""

    view: Letterboxed
    steps: list[ReadStep]
    """All steps of the loop at one scale, the one with the most text."""
    lines: list[ReadStep]
    """Steps with text, from top to bottom; after merging, some may be from other scales."""

    @property
    def texts(self) -> list[str]:
        """The text of each line."""
        return [line.text for line in self.lines]


def read_at_scales(
    model: InductiveModel | LineFinder,
    picture: Array,
    canvas: tuple[int, int],
    scales: Sequence[float] = (1.0,),
) -> ScaleReading:
    """Read a picture (H, W) or (H, W, 3) at several scales and merge the lines.

    Scales are relative to the largest one that fits the canvas.
    """
    return merge_scales(
        read_views(model, picture, [letterbox_at_scale(picture, canvas, s) for s in scales])
    )


def merge_scales(readings: Sequence[ScaleReading]) -> ScaleReading:
    """Merge readings of one picture; see `suppress_overlaps`."""
    best = max(readings, key=lambda each: sum(map(text_score, each.lines)))
    if len(readings) == 1:
        return best
    lines = suppress_overlaps(line for reading in readings for line in reading.lines)
    lines.sort(key=lambda line: float(line.quad[:, 1].mean()))
    return replace(best, lines=lines)


def read_views(
    model: InductiveModel | LineFinder, picture: Array, views: Sequence[Letterboxed]
) -> list[ScaleReading]:
    """Read a picture that is letterboxed onto several canvases of one size.

    A line finder reads the lines in the picture itself, any other model on the canvas.
    """
    if is_line_finder(model):
        found = _record(_FindingOnly(model), views)
        quads = np.concatenate([np.stack([step.quad for step in steps]) for steps in found])
        texts = iter(model.read_lines(picture, quad_bands(torch.from_numpy(quads).float())))
        found = [[_with_text(step, *next(texts)) for step in steps] for steps in found]
    else:
        assert isinstance(model, InductiveModel)
        found = _record(model, views)
    return [
        ScaleReading(view, steps, [step for step in steps if step.is_line])
        for view, steps in zip(views, found, strict=True)
    ]


def _with_text(step: ReadStep, text: str, confidence: float) -> ReadStep:
    return replace(step, text=text.strip(), confidence=confidence)


def _record(model: InductiveModel, views: Sequence[Letterboxed]) -> list[list[ReadStep]]:
    """Run the inductive loop on canvases of one size; return the steps of each."""
    steps: list[list[ReadStep]] = [[] for _ in views]

    def watch(active: Tensor, memory: Tensor, step: Step) -> None:
        after = model.update(memory, step.delta)
        band = mask_bands(step.delta, (1, 1)) if step.band is None else step.band
        quads = band_quads(band).cpu().numpy()  # (M, 4, 2)
        texts = step.outputs or [""] * len(active)
        confidence = torch.ones(len(active)) if step.confidence is None else step.confidence
        for k, i in enumerate(active.tolist()):
            before, delta, later = (x[k].cpu().numpy() for x in (memory, step.delta, after))
            quad, stop = views[i].back(quads[k]), bool(step.stop[k] > STOP_THRESHOLD)
            text = texts[k].strip()
            steps[i].append(ReadStep(before, delta, later, stop, quad, text, float(confidence[k])))

    run_loop(model, image_batch(np.stack([v.pixels for v in views])), watch=watch)
    return steps


class _FindingOnly(InductiveModel):
    """An inductive model whose steps find lines without reading them."""

    kind: ClassVar[Kind] = "reading"

    def __init__(self, model: LineFinder) -> None:
        super().__init__()
        self.finder = model

    def loss(self, batch: object) -> Tensor:
        raise NotImplementedError("for inference only")

    def encode(self, images: Tensor) -> Tensor:
        return self.finder.encode(images)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        return self.finder.find(encoded, memory)

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        return self.finder.update(memory, delta)
