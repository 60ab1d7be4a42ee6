"""Sizes: text whose height is not known is read in several sizes, and the surest reading taken."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from benchmark.data import image_batch
from benchmark.inference import Trace, run_loop
from benchmark.models.contract import InductiveModel
from ivl_shards.schema import Array

# What a reader is less sure of is no text. This and the power below were best, of 0.5 to 0.9 and
# of 1 to 4, on ICDAR's training blocks, read by a model that knew synthetic text alone
# (perf/sizes.py).
SURE = 0.85
POWER = 4


def is_text(text: str, sure: float, limit: float = SURE) -> bool:
    """Whether what was read in a line is text."""
    return bool(text.strip()) and sure >= limit


def letters(read: Iterable[tuple[str, float]], limit: float = SURE, power: int = POWER) -> float:
    """How much text was read: its letters, those that the model is less sure of counting for
    much less, for at a wrong size it reads some in anything.

    >>> letters([("word", 1.0), ("noise", 0.4)])
    4.0
    """
    return sum(len(text) * sure**power for text, sure in read if is_text(text, sure, limit))


def read_in_sizes(
    model: InductiveModel, looks: Sequence[Array], device: torch.device
) -> tuple[int, list[str]]:
    """Which of the pictures of one block, all on canvases of one size, is best read, and its
    lines. A model that cannot tell how sure it is reads the first."""
    traces = run_loop(model, image_batch(np.stack(looks)).to(device))
    if not any(trace.sure for trace in traces):
        return 0, traces[0].outputs
    best = int(np.argmax([letters(lines(trace)) for trace in traces]))  # the first of equals
    return best, [text for text, sure in lines(traces[best]) if is_text(text, sure)]


def lines(trace: Trace) -> list[tuple[str, float]]:
    """What was read, and how sure the model was of it."""
    return list(zip(trace.outputs, trace.sure, strict=True))
