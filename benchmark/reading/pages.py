"""Multi-scale reading: lines of a picture of any size, found on a canvas and read at full size.

The picture is letterboxed onto a canvas at one or several scales, and the inductive loop with its
memory runs on that canvas. A line that was found is then cut out of the picture itself, where
letters have all their pixels, and read. Of lines that were found at several scales, the one with
the most confident text is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeGuard

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

# Letters that are read with little confidence count for much less: at a wrong size, some are read
# in anything. This and the next were chosen on ICDAR's train split (experiments/compare_scales.py).
_POWER = 3
# Of two lines that share so much of the smaller one's area, one is dropped.
_SHARED = 0.3


class LineFinder(Protocol):
    """A model that finds lines and can read them elsewhere than on the canvas."""

    def encode(self, images: Tensor) -> Tensor:
        """Return what all steps share."""

    def find(self, encoded: Tensor, memory: Tensor) -> Step:
        """Find the next line, with its band, without reading it."""

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Return the memories after a step."""

    def read_lines(self, picture: Array, band: Band) -> list[tuple[str, float]]:
        """Return the text in each band of a picture (H, W, 3) and the confidence in it."""


def is_line_finder(model: object) -> TypeGuard[LineFinder]:
    """Tell whether a model can find lines without reading them."""
    return hasattr(model, "find") and hasattr(model, "read_lines")


def reads_pages(model: object) -> TypeGuard[InductiveModel | LineFinder]:
    """Tell whether `read_page` takes a model."""
    return isinstance(model, InductiveModel) or is_line_finder(model)


@dataclass(frozen=True)
class ReadStep:
    """One step of the loop, on the canvas."""

    memory: Array  # (H, W) m_t
    delta: Array  # (H, W) Δm_t
    after: Array  # (H, W) m_{t+1}
    stop: bool
    """Whether the model says that nothing is left."""
    quad: Array  # (4, 2) corners of the line in pixels of the picture
    text: str = ""
    confidence: float = 0.0
    """That of the model in the text, 0 to 1."""

    @property
    def is_line(self) -> bool:
        """Whether text was read, with whatever confidence."""
        return not self.stop and bool(self.text)

    @property
    def worth(self) -> float:
        """How much text was read with confidence, in letters."""
        return len(self.text) * self.confidence**_POWER if self.is_line else 0.0


@dataclass(frozen=True)
class PageReading:
    """What was read in a picture."""

    view: Letterboxed
    steps: list[ReadStep]
    """All steps of the loop in one size, the one in which most text was read."""
    lines: list[ReadStep]
    """Steps that found text, from top to bottom; some may be of other sizes."""

    @property
    def texts(self) -> list[str]:
        """What the lines say."""
        return [line.text for line in self.lines]


def read_page(
    model: InductiveModel | LineFinder,
    picture: Array,
    canvas: tuple[int, int],
    scales: Sequence[float] = (1.0,),
) -> PageReading:
    """Read a picture (H, W) or (H, W, 3) in several sizes, each over the largest that fits the
    canvas, and merge what was read."""
    return merge_views(
        read_views(model, picture, [letterbox_at_scale(picture, canvas, s) for s in scales])
    )


def merge_views(readings: Sequence[PageReading]) -> PageReading:
    """Merge readings of one picture: of lines that overlap, the one with the most confident text
    is kept."""
    best = max(readings, key=lambda each: sum(line.worth for line in each.lines))
    if len(readings) == 1:
        return best
    lines = [line for reading in readings for line in reading.lines]
    kept: list[ReadStep] = []
    for line in sorted(lines, key=lambda line: -line.worth):  # stable: the largest of equals
        if all(_overlap(line.quad, other.quad) <= _SHARED for other in kept):
            kept.append(line)
    kept.sort(key=lambda line: float(line.quad[:, 1].mean()))
    return replace(best, lines=kept)


def _overlap(one: Array, other: Array) -> float:
    """Return the area that two quads (4, 2) share as upright boxes, over that of the smaller."""
    low = np.maximum(one.min(0), other.min(0))
    high = np.minimum(one.max(0), other.max(0))
    areas = [float(np.prod(np.ptp(quad, axis=0))) for quad in (one, other)]
    shared: float = np.prod(np.maximum(high - low, 0)) / max(min(areas), 1e-9)
    return shared


def read_views(
    model: InductiveModel | LineFinder, picture: Array, views: Sequence[Letterboxed]
) -> list[PageReading]:
    """Read a picture as each of several canvases of one size shows it.

    A line finder reads what it found in the picture itself, another model on the canvas.
    """
    if is_line_finder(model):
        found = _record(_FindingOnly(model), views)
        quads = np.concatenate([np.stack([step.quad for step in steps]) for steps in found])
        read = iter(model.read_lines(picture, quad_bands(torch.from_numpy(quads).float())))
        found = [[_with_text(step, *next(read)) for step in steps] for steps in found]
    else:
        assert isinstance(model, InductiveModel)
        found = _record(model, views)
    return [
        PageReading(view, steps, [step for step in steps if step.is_line])
        for view, steps in zip(views, found, strict=True)
    ]


def _with_text(step: ReadStep, text: str, confidence: float) -> ReadStep:
    return replace(step, text=text.strip(), confidence=confidence)


def _record(model: InductiveModel, views: Sequence[Letterboxed]) -> list[list[ReadStep]]:
    """Record the steps of a model at pictures on canvases of one size."""
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
            read = texts[k].strip(), float(confidence[k])
            steps[i].append(ReadStep(before, delta, later, stop, quad, *read))

    run_loop(model, image_batch(np.stack([v.pixels for v in views])), watch=watch)
    return steps


class _FindingOnly(InductiveModel):
    """A model whose steps find lines and do not read them."""

    kind: ClassVar[Kind] = "reading"

    def __init__(self, model: LineFinder) -> None:
        super().__init__()
        self.found = model

    def loss(self, batch: object) -> Tensor:
        raise NotImplementedError("it is not trained")

    def encode(self, images: Tensor) -> Tensor:
        return self.found.encode(images)

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        return self.found.find(encoded, memory)

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        return self.found.update(memory, delta)
