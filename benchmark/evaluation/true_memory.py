"""True memory: every step of a model given what an ideal model would have seen before it.

The difference from the steps with its own memory is the effect of errors that accumulate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmark.data.batches import Batch, CountingBatch, ReadingBatch, make_batch
from benchmark.evaluation.evaluate import row_groups
from benchmark.evaluation.found_steps import locate_steps
from benchmark.evaluation.inductive_loop import STOP_THRESHOLD, is_stalled
from benchmark.evaluation.predictions import FoundStep
from benchmark.evaluation.step_scores import TrueLines, TrueObjects, object_at, true_steps
from benchmark.models.contract import InductiveModel
from benchmark.models.peaks import draw_peaks
from benchmark.tasks.task import Task
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.progress import Report, no_report


@dataclass(frozen=True)
class Guided:
    """The steps of one sample, each with the true memory."""

    right: tuple[bool, ...]
    """Whether the step was right, for each line or object."""
    stopped: bool
    """Whether the model stopped when it was given all of them."""


@torch.no_grad()
def guided_steps(
    task: Task,
    model: InductiveModel,
    dataset: Dataset,
    device: torch.device,
    report: Report = no_report,
) -> list[Guided]:
    """Take every step of every sample of a test set with the true memory."""
    model.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    found: dict[int, Guided] = {}
    report(0)
    for rows in row_groups(task, dataset):
        samples = [dataset[row] for row in rows]
        found |= zip(rows, _guide(task, model, samples, device), strict=True)
        report(len(rows))
    return [found[row] for row in sorted(found)]


def _guide(
    task: Task, model: InductiveModel, samples: Sequence[Sample], device: torch.device
) -> list[Guided]:
    """Take the steps of samples of one size and length."""
    batch = make_batch(task, samples, []).to(device)
    truths = [true_steps(task, sample) for sample in samples]
    encoded = model.encode(batch.images)
    length = samples[0].length
    right: list[list[bool]] = [[] for _ in samples]
    stopped = [False] * len(samples)
    for t in range(length + 1):
        memory = memory_before(batch, t)
        step = model.step(encoded, memory)
        after = model.update(memory, step.delta)
        ended = ((step.stop > STOP_THRESHOLD) | is_stalled(memory, after)).tolist()
        if t == length:
            stopped = ended
            break
        located = locate_steps(model.kind, after - memory, step)
        for k, (truth, each) in enumerate(zip(truths, located, strict=True)):
            right[k].append(not ended[k] and _is_right(truth, each, t))
    return [Guided(tuple(each), stop) for each, stop in zip(right, stopped, strict=True)]


def memory_before(batch: Batch, t: int) -> Tensor:
    """Return the true memories (N, H, W) after t steps, in the stored order."""
    if isinstance(batch, ReadingBatch):
        return ((batch.steps > 0) & (batch.steps <= t)).float()
    assert isinstance(batch, CountingBatch)
    n, most, _ = batch.centres.shape
    counted = (torch.arange(most, device=batch.centres.device) < t).expand(n, -1)
    size = (batch.images.shape[2], batch.images.shape[3])
    return draw_peaks(batch.centres, counted, batch.sigmas, size)


def _is_right(truth: TrueLines | TrueObjects, step: FoundStep, t: int) -> bool:
    if isinstance(truth, TrueLines):
        return step.text == truth.texts[t]
    k = object_at(truth, step.point)
    return k is not None and k >= t  # the first t objects are in the memory
