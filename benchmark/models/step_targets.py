"""Step targets: single training steps (x, y_t, m_t, m_{t+1}) drawn from samples."""

from dataclasses import dataclass

import cv2
import numpy as np
import torch
from torch import Tensor

from benchmark.data.batches import CountingBatch, ReadingBatch
from benchmark.models.peaks import draw_peaks
from ivl_shards.format.schema import Array

# Size in pixels up to which the error of an object's centre is constant; beyond, it grows with the
# size.
_LARGE_OBJECT = 12.0
# Height in pixels up to which the error of a line's edges is constant; beyond, it grows with the
# height.
_TALL_LINE = 40.0


@dataclass(frozen=True)
class Steps:
    """M steps of the N samples of a batch."""

    sample: Tensor  # (M,) index of the sample
    time: Tensor  # (M,) t: number of lines or objects before the step
    last: Tensor  # (M,) whether nothing is left

    def mean(self, losses: Tensor, samples: int) -> Tensor:
        """Average the losses of the steps (M,) over the steps of each sample, (N,)."""
        total = losses.new_zeros(samples).index_add(0, self.sample, losses)
        return total / torch.bincount(self.sample, minlength=samples)


def draw_steps(lengths: Tensor, rngs: list[np.random.Generator], every: bool) -> Steps:
    """Return all steps t = 0 … T of each sample, or one of them at random."""
    times = [
        list(range(n + 1)) if every else [int(rng.integers(n + 1))]
        for n, rng in zip(lengths.tolist(), rngs, strict=True)
    ]
    sample = torch.tensor([i for i, ts in enumerate(times) for _ in ts], device=lengths.device)
    time = torch.tensor([t for ts in times for t in ts], device=lengths.device)
    return Steps(sample, time, time == lengths[sample])


@dataclass(frozen=True)
class CountingSteps:
    """Memories and targets of a counter's training steps."""

    steps: Steps
    memory: Tensor  # (M, H, W) peaks at the objects counted before the step
    target: Tensor  # (M, H, W) peaks at all remaining objects


def counting_steps(batch: CountingBatch, every: bool, jitter: float = 0.0) -> CountingSteps:
    """Return training steps with the objects in random order.

    The memory's peaks are moved by up to `jitter` pixels, farther for large objects, to imitate
    the errors of a model that has placed them itself.
    """
    steps = draw_steps(batch.lengths, batch.rngs, every)
    size = (batch.images.shape[2], batch.images.shape[3])
    n, most, _ = batch.centres.shape
    ranks = np.zeros((n, most), np.int64)  # position of each object in the order
    moved = np.zeros((n, most, 2), np.float32)
    reach = np.maximum(1.0, batch.sizes.cpu().numpy() / _LARGE_OBJECT) * jitter  # (n, most)
    for i, (length, rng) in enumerate(zip(batch.lengths.tolist(), batch.rngs, strict=True)):
        ranks[i, :length] = rng.permutation(length)
        moved[i, :length] = rng.uniform(-1, 1, (length, 2)) * reach[i, :length, None]
    device = batch.images.device
    rank = torch.from_numpy(ranks).to(device)[steps.sample]  # (M, K)
    exists = torch.arange(most, device=device) < batch.lengths[steps.sample, None]
    centres, sigmas = batch.centres[steps.sample], batch.sigmas[steps.sample]
    counted = exists & (rank < steps.time[:, None])
    shifts = torch.from_numpy(moved).to(device)[steps.sample]
    return CountingSteps(
        steps,
        draw_peaks(centres + shifts, counted, sigmas, size),
        draw_peaks(centres, exists & ~counted, sigmas, size).clamp(max=1),
    )


@dataclass(frozen=True)
class ReadingSteps:
    """Memories and targets of a reader's training steps."""

    steps: Steps
    memory: Tensor  # (M, H, W) 1 where a line read before the step is
    target: Tensor  # (M, H, W) 1 where the next line is
    texts: list[str]  # text of the next line, empty at the last step


def reading_steps(batch: ReadingBatch, every: bool, jitter: float = 0.0) -> ReadingSteps:
    """Return training steps with the lines in reading order.

    With `jitter`, a standard deviation in pixels, the memory imitates one that a model has made
    itself: the edges of its lines are moved, twice as far at their ends, and its values are below
    1.
    """
    steps = draw_steps(batch.lengths, batch.rngs, every)
    maps, time = batch.steps[steps.sample], steps.time[:, None, None]
    texts = [
        batch.texts[i][t] if t < len(batch.texts[i]) else ""
        for i, t in zip(steps.sample.tolist(), steps.time.tolist(), strict=True)
    ]
    target = (maps == time + 1).float()
    if not jitter:
        return ReadingSteps(steps, ((maps > 0) & (maps <= time)).float(), target, texts)
    moved, values = _perturbed_lines(batch, jitter)
    maps = moved[steps.sample]
    memory = values[steps.sample].gather(1, maps.flatten(1)).view_as(maps)
    return ReadingSteps(steps, memory * (maps <= time), target, texts)


def _perturbed_lines(batch: ReadingBatch, jitter: float) -> tuple[Tensor, Tensor]:
    """Return a step map (N, H, W) of perturbed lines, and the memory's value in each of them,
    (N, L + 1), which is 0 for step 0, the background."""
    n, height, width = batch.steps.shape
    maps = np.zeros((n, height, width), np.int32)
    values = np.zeros((n, batch.quads.shape[1] + 1), np.float32)
    quads = batch.quads.cpu().numpy()
    for i, (length, rng) in enumerate(zip(batch.lengths.tolist(), batch.rngs, strict=True)):
        values[i, 1 : length + 1] = rng.uniform(0.8, 1, length)
        across, down = rng.normal(0, [[2 * jitter], [jitter]], (length, 2, 2)).swapaxes(0, 1)
        off = np.stack([across[:, [0, 1, 1, 0]], down[:, [0, 0, 1, 1]]], 2)  # (length, 4, 2)
        off = off + rng.normal(0, jitter / 2, (length, 4, 2))
        moved = quads[i, :length] + off * _error_scale(quads[i, :length])[:, None, None]
        # Pixel centres are at + 0.5 here and at integers in OpenCV.
        corners = np.round((moved - 0.5) * 16).astype(np.int32)
        for step in range(length, 0, -1):  # where lines overlap, the earlier one wins
            cv2.fillConvexPoly(maps[i], corners[step - 1], step, shift=4)
    device = batch.images.device
    return torch.from_numpy(maps).long().to(device), torch.from_numpy(values).to(device)


def _error_scale(quads: Array) -> Array:
    """Return the factor by which the errors of each line grow with its height, (L,)."""
    heights = np.linalg.norm(quads[:, [3, 2]] - quads[:, [0, 1]], axis=2).mean(1)
    scale: Array = np.maximum(1.0, heights / _TALL_LINE)
    return scale
