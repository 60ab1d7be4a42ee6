"""Inference: the inductive loop m_{t+1} = m_t + Δm_t, until a model says that nothing is left."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from benchmark.models.contract import InductiveModel, Step

# Beyond this probability that nothing is left, the loop ends.
STOP = 0.5
# A line is no lower than this, an object no smaller than its square, in pixels: the most that
# an image can hold bounds the number of steps, far above what a healthy model takes.
_LEAST = 4


@dataclass
class Trace:
    """What a model did with one image."""

    outputs: list[str] = field(default_factory=list)
    """One for each step that found something."""
    sure: list[float] = field(default_factory=list)
    """How sure the model was of each, where it can tell."""
    ended: str = "limit"
    """Why it ended: `stop`, the model said so; `stalled`, a step changed nothing, so that all
    others would not either; `limit`, no end in sight."""


Watcher = Callable[[Tensor, Tensor, Step], None]


@torch.no_grad()
def run_loop(
    model: InductiveModel, images: Tensor, limit: int | None = None, watch: Watcher | None = None
) -> list[Trace]:
    """Read or count images (N, C, H, W), all at once; each leaves the batch when it is done.

    `watch` is called before each update with the numbers of the images still there, (M,),
    their memories, (M, H, W), and what the model made of them.
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
        stop = step.stop > STOP
        stalled = ~stop & ((after - memory).abs().amax((1, 2)) < 1e-3)
        for k, i in enumerate(active.tolist()):
            if stop[k]:
                traces[i].ended = "stop"
            elif stalled[k]:
                traces[i].ended = "stalled"
            elif len(traces[i].outputs) < limit:
                traces[i].outputs.append(step.outputs[k] if step.outputs else "")
                if step.sure is not None:
                    traces[i].sure.append(float(step.sure[k]))
        going = ~(stop | stalled)
        if not going.any():
            break
        active, memory, encoded = active[going], after[going], encoded[going]
    return traces


def step_limit(kind: str, height: int, width: int) -> int:
    """More steps than any image of this size can need.

    >>> step_limit("reading", 128, 128), step_limit("counting", 128, 128)
    (32, 1024)
    """
    return height // _LEAST if kind == "reading" else height * width // _LEAST**2
