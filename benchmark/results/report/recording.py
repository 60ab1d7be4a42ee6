"""Recording: the inductive loop on one image, step by step."""

from dataclasses import dataclass, field

import cv2
import numpy as np
import torch
from torch import Tensor

from benchmark.evaluation.inductive_loop import run_loop, step_limit
from benchmark.models.contract import InductiveModel
from benchmark.models.step import Step
from ivl_shards.format.schema import Array

# Maps are shown small: no side of them is longer than this.
_LONGEST = 256


@dataclass
class Recording:
    """The steps of a loop: T that found something, and the one at which it ended."""

    memories: list[Array] = field(default_factory=list)  # m_0 … m_T, each (H, W)
    deltas: list[Array] = field(default_factory=list)  # Δm_0 … Δm_T
    stops: list[float] = field(default_factory=list)  # probability that nothing is left
    outputs: list[str] = field(default_factory=list)  # y_0 … y_{T-1}
    ended: str = ""  # why, as in `benchmark.evaluation.inductive_loop.Trace`

    def watch(self, active: Tensor, memory: Tensor, step: Step) -> None:
        """Record a step of the only image; the loop calls this before each update."""
        self.memories.append(memory[0].cpu().numpy())
        self.deltas.append(step.delta[0].cpu().numpy())
        self.stops.append(round(float(step.stop[0]), 4))


def record_loop(model: InductiveModel, image: Tensor, length: int) -> Recording:
    """Record the steps of a model on an image (1, C, H, W) with `length` lines or objects.

    A model that does not find the end is stopped after little more than twice as many steps:
    nobody wants to look at a thousand.
    """
    height, width = image.shape[2:]
    limit = min(2 * length + 4, step_limit(model.kind, height, width))
    recording = Recording()
    with torch.no_grad():
        (trace,) = run_loop(model, image, limit, recording.watch)
    recording.outputs, recording.ended = trace.outputs, trace.ended
    return recording


def map_sheet(recording: Recording) -> Array:
    """Return all maps as one grey picture: a row for each step, m_k left and Δm_k right."""
    rows = zip(recording.memories, recording.deltas, strict=True)
    return np.concatenate(
        [np.concatenate([_grey(memory), _grey(delta)], axis=1) for memory, delta in rows]
    )


def _grey(values: Array) -> Array:
    small = shrink(values, _LONGEST)
    # Sixteen shades are all that one can tell apart, and take a third of the bytes.
    return (np.clip(small, 0, 1) * 15).round().astype(np.uint8) * 17


def shrink(picture: Array, longest: int) -> Array:
    """Return a picture none of whose sides is longer than `longest` pixels."""
    height, width = picture.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return picture
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    smaller: Array = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    return smaller
