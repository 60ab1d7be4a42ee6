"""Step targets: single training steps (x, y_t, m_t, m_{t+1}) out of whole samples."""

from dataclasses import dataclass

import cv2
import numpy as np
import torch
from torch import Tensor

from benchmark.data.batches import CountingBatch, ReadingBatch
from benchmark.models.peaks import draw_peaks
from ivl_shards.format.schema import Array

# Where the middle of an object is can be told to the same fraction of a pixel up to this size,
# and to the same fraction of its size beyond.
_EXACT = 12.0
# The edges of a line are found to the same fraction of a pixel up to this height, and to the same
# fraction of its height beyond.
_TALL = 40.0


@dataclass(frozen=True)
class Steps:
    """M steps of the N samples of a batch."""

    sample: Tensor  # (M,) which sample each is of
    time: Tensor  # (M,) t: how many lines or objects have been seen
    last: Tensor  # (M,) whether nothing is left

    def mean(self, losses: Tensor, samples: int) -> Tensor:
        """Losses of the steps (M,) → of the samples (N,), each the mean over its steps."""
        total = losses.new_zeros(samples).index_add(0, self.sample, losses)
        return total / torch.bincount(self.sample, minlength=samples)


def draw_steps(lengths: Tensor, rngs: list[np.random.Generator], every: bool) -> Steps:
    """All steps t = 0 … T of each sample, or one of them at random."""
    times = [
        list(range(n + 1)) if every else [int(rng.integers(n + 1))]
        for n, rng in zip(lengths.tolist(), rngs, strict=True)
    ]
    sample = torch.tensor([i for i, ts in enumerate(times) for _ in ts], device=lengths.device)
    time = torch.tensor([t for ts in times for t in ts], device=lengths.device)
    return Steps(sample, time, time == lengths[sample])


@dataclass(frozen=True)
class CountingSteps:
    """What a counter is trained with."""

    steps: Steps
    memory: Tensor  # (M, H, W) peaks at the objects counted before the step
    target: Tensor  # (M, H, W) peaks at all that remain


def counting_steps(batch: CountingBatch, every: bool, jitter: float = 0.0) -> CountingSteps:
    """Objects in random order; those counted lie up to `jitter` pixels off in the memory, or
    farther if they are large, as they will when the model has placed them itself."""
    steps = draw_steps(batch.lengths, batch.rngs, every)
    size = (batch.images.shape[2], batch.images.shape[3])
    n, most, _ = batch.centres.shape
    ranks = np.zeros((n, most), np.int64)  # the when of each object
    moved = np.zeros((n, most, 2), np.float32)
    reach = np.maximum(1.0, batch.sizes.cpu().numpy() / _EXACT) * jitter  # (n, most)
    for i, (length, rng) in enumerate(zip(batch.lengths.tolist(), batch.rngs, strict=True)):
        ranks[i, :length] = rng.permutation(length)
        moved[i, :length] = rng.uniform(-1, 1, (length, 2)) * reach[i, :length, None]
    device = batch.images.device
    rank = torch.from_numpy(ranks).to(device)[steps.sample]  # (M, K)
    there = torch.arange(most, device=device) < batch.lengths[steps.sample, None]
    centres, sigmas = batch.centres[steps.sample], batch.sigmas[steps.sample]
    seen = there & (rank < steps.time[:, None])
    shifts = torch.from_numpy(moved).to(device)[steps.sample]
    return CountingSteps(
        steps,
        draw_peaks(centres + shifts, seen, sigmas, size),
        draw_peaks(centres, there & ~seen, sigmas, size).clamp(max=1),
    )


@dataclass(frozen=True)
class ReadingSteps:
    """What a reader is trained with."""

    steps: Steps
    memory: Tensor  # (M, H, W) 1 where a line read before the step is
    target: Tensor  # (M, H, W) 1 where the next line is
    texts: list[str]  # what the next line says, nothing at the last step


def reading_steps(batch: ReadingBatch, every: bool, jitter: float = 0.0) -> ReadingSteps:
    """The lines in their order.

    With `jitter`, in pixels, the memory is one that a model might have made itself: the edges
    of its lines are off, twice as much at the ends of a line, and it is not quite 1 in them.
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
    moved, strength = _moved_lines(batch, jitter)
    maps = moved[steps.sample]
    shown = torch.take_along_dim(strength[steps.sample], maps.flatten(1), 1).view_as(maps)
    return ReadingSteps(steps, shown * (maps <= time), target, texts)


def _moved_lines(batch: ReadingBatch, jitter: float) -> tuple[Tensor, Tensor]:
    """A step map (N, H, W) of lines a little off, and the memory (N, L + 1) in each of them;
    that of step 0, where no line is, is 0."""
    n, height, width = batch.steps.shape
    maps = np.zeros((n, height, width), np.int32)
    strength = np.zeros((n, batch.quads.shape[1] + 1), np.float32)
    quads = batch.quads.cpu().numpy()
    for i, (length, rng) in enumerate(zip(batch.lengths.tolist(), batch.rngs, strict=True)):
        strength[i, 1 : length + 1] = rng.uniform(0.8, 1, length)
        across, down = rng.normal(0, [[2 * jitter], [jitter]], (length, 2, 2)).swapaxes(0, 1)
        off = np.stack([across[:, [0, 1, 1, 0]], down[:, [0, 0, 1, 1]]], 2)  # (length, 4, 2)
        off = off + rng.normal(0, jitter / 2, (length, 4, 2))
        moved = quads[i, :length] + off * _error_scale(quads[i, :length])[:, None, None]
        # Pixel centres lie at + 0.5 for us and at whole numbers for OpenCV.
        corners = np.round((moved - 0.5) * 16).astype(np.int32)
        for step in range(length, 0, -1):  # where lines overlap, the earlier one stands
            cv2.fillConvexPoly(maps[i], corners[step - 1], step, shift=4)
    device = batch.images.device
    return torch.from_numpy(maps).long().to(device), torch.from_numpy(strength).to(device)


def _error_scale(quads: Array) -> Array:
    """How much farther off the edges of tall lines are found, (L,), from quads (L, 4, 2)."""
    heights = np.linalg.norm(quads[:, [3, 2]] - quads[:, [0, 1]], axis=2).mean(1)
    scale: Array = np.maximum(1.0, heights / _TALL)
    return scale
