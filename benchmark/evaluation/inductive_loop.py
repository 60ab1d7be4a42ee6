"""The inductive loop m_{t+1} = m_t + Δm_t, until a model predicts that nothing is left."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from benchmark.models.step import Step

# The loop ends when the probability that nothing is left exceeds this threshold.
STOP_THRESHOLD = 0.5
# A line is at least this high, an object at least its square, in pixels: how many an image can
# hold bounds the number of steps, far above what a trained model takes.
_LEAST = 4


@dataclass
class Trace:
    """The course of the loop on one image."""

    outputs: list[str] = field(default_factory=list)
    """The output of each step that found something."""
    confidences: list[float] = field(default_factory=list)
    """The model's confidence in each output, where it has one."""
    ended: str = "limit"
    """Why the loop ended: `stop`, the model predicted it; `stalled`, a step did not change the
    memory, so no further step would; `limit`, too many steps."""


class Inductive(Protocol):
    """The part of an inductive model that the loop needs."""

    @property
    def kind(self) -> str: ...

    def encode(self, images: Tensor) -> Tensor: ...

    def step(self, encoded: Tensor, memory: Tensor) -> Step: ...

    def update(self, memory: Tensor, delta: Tensor) -> Tensor: ...


Watcher = Callable[[Tensor, Tensor, Step], None]


@torch.no_grad()
def run_loop(
    model: Inductive, images: Tensor, limit: int | None = None, watch: Watcher | None = None
) -> list[Trace]:
    """Read or count the images (N, C, H, W) in one batch, which each leaves when it is done.

    `watch` is called before each update with the indices of the remaining images, (M,), their
    memories, (M, H, W), and the step.
    """
    n, _, height, width = images.shape
    limit = step_limit(model.kind, height, width) if limit is None else limit
    traces = [Trace() for _ in range(n)]
    encoded = model.encode(images)
    memory = images.new_zeros(n, height, width)
    active = torch.arange(n, device=images.device)
    for _ in range(limit + 1):
        step = model.step(encoded, memory)
        if watch is not None:
            watch(active, memory, step)
        after = model.update(memory, step.delta)
        stop = step.stop > STOP_THRESHOLD
        stalled = ~stop & is_stalled(memory, after)
        for k, i in enumerate(active.tolist()):
            if stop[k]:
                traces[i].ended = "stop"
            elif stalled[k]:
                traces[i].ended = "stalled"
            elif len(traces[i].outputs) < limit:
                traces[i].outputs.append(step.outputs[k] if step.outputs else "")
                if step.confidence is not None:
                    traces[i].confidences.append(float(step.confidence[k]))
        going = ~(stop | stalled)
        if not going.any():
            break
        active, memory, encoded = active[going], after[going], encoded[going]
    return traces


def is_stalled(memory: Tensor, after: Tensor) -> Tensor:
    """Tell which memories (N, H, W) a step did not change, (N,)."""
    return (after - memory).abs().amax((1, 2)) < 1e-3


def step_limit(kind: str, height: int, width: int) -> int:
    """Return more steps than any image of this size can need.

    >>> step_limit("reading", 128, 128), step_limit("counting", 128, 128)
    (32, 1024)
    """
    return height // _LEAST if kind == "reading" else height * width // _LEAST**2
