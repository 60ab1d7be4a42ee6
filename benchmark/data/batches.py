"""Batches: samples of a task as tensors, in the order of training."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from benchmark.tasks.task import CountingTask, ReadingTask, Task
from benchmark.training.settings import Training
from ivl_shards import Sample
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array

# The line finder converges long before the reader: later it is trained in one step of so many.
FINDER_EVERY = 8


@dataclass(frozen=True)
class Batch:
    """Samples of one size. Each has a random generator of its own, so that what is drawn for it
    does not depend on the batch or the process that it is in."""

    images: Tensor  # (N, C, H, W), 0 to 1
    lengths: Tensor  # (N,) lines or objects
    rngs: list[np.random.Generator]

    def to(self, device: torch.device) -> Self:
        """Return the batch on another device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {
            name: v.to(device) for name, v in values.items() if isinstance(v, Tensor)
        }
        return replace(self, **moved)


@dataclass(frozen=True)
class ReadingBatch(Batch):
    """A batch of lines to read."""

    steps: Tensor  # (N, H, W) first step whose box covers the pixel, 0 where none does
    texts: list[list[str]]  # text of each line, without symbols that the alphabet lacks
    quads: Tensor  # (N, L, 4, 2) corners of each line in pixels, clockwise from the upper left
    word_texts: list[list[str]] | None = None  # single words, where training begins with them
    word_quads: Tensor | None = None  # (N, W, 4, 2) corners of the words
    train_finder: bool = True  # whether to train where the lines are
    train_reader: bool = True  # whether to train what the lines say


@dataclass(frozen=True)
class CountingBatch(Batch):
    """A batch of objects to count."""

    centres: Tensor  # (N, K, 2) x and y in pixels; rows from the length on are padding
    sigmas: Tensor  # (N,) width of the memory's peaks in pixels
    sizes: Tensor  # (N, K) sizes of the objects in pixels, 0 where unknown


def make_batch(
    task: Task,
    samples: Sequence[Sample],
    rngs: list[np.random.Generator],
    others: Dataset | None = None,
    words: bool = False,
) -> Batch:
    """Return samples as one batch; smaller images are padded below and on the right.

    Given the whole training set as `others`, samples are augmented. With `words`, the batch also
    has single words to read, where the task knows them.
    """
    if task.preprocess is not None:
        draws = [None] * len(samples) if others is None else rngs
        samples = [task.preprocess(s, rng, others) for s, rng in zip(samples, draws, strict=True)]
    common: dict[str, Any] = {
        "images": image_batch(_stack([s.image for s in samples])),
        "lengths": torch.tensor([s.length for s in samples]),
        "rngs": rngs,
    }
    if isinstance(task, ReadingTask):
        return _reading_batch(task, samples, common, words)
    if isinstance(task, CountingTask):
        return _counting_batch(samples, common)
    raise TypeError(f"{task.name} is neither a reading nor a counting task")


def _counting_batch(samples: Sequence[Sample], common: dict[str, Any]) -> CountingBatch:
    sigmas = torch.tensor([float(s["sigma"]) for s in samples])
    centres = torch.from_numpy(_stack([s["centres"] for s in samples]))
    unknown = np.zeros(centres.shape[1], np.float32)
    sizes = torch.from_numpy(_stack([s.get("object_size", unknown) for s in samples]))
    return CountingBatch(centres=centres, sigmas=sigmas, sizes=sizes, **common)


def _reading_batch(
    task: ReadingTask, samples: Sequence[Sample], common: dict[str, Any], words: bool
) -> ReadingBatch:
    steps = torch.from_numpy(_stack([s["steps"] for s in samples]).astype(np.int64))
    quads = torch.from_numpy(_stack([task.line_quads(s) for s in samples]))
    texts = [[spell(t, task.alphabet) for t in task.line_texts(s)] for s in samples]
    if words and task.words is not None:
        found = [task.words(s) for s in samples]
        common["word_texts"] = [[spell(t, task.alphabet) for t in texts] for texts, _ in found]
        common["word_quads"] = torch.from_numpy(_stack([quads for _, quads in found]))
    return ReadingBatch(steps=steps, texts=texts, quads=quads, **common)


def image_batch(pixels: Array) -> Tensor:
    """Return images (N, H, W) or (N, H, W, C), 0 to 255, as models take them: (N, C, H, W), 0 to 1,
    channels last in memory."""
    # By numpy: torch would start threads of its own in the thread that prepares batches, and those
    # of the training would then sleep, instead of wait, between any two operations.
    shades = torch.from_numpy(np.divide(pixels, 255, dtype=np.float32))
    return shades.permute(0, 3, 1, 2) if pixels.ndim == 4 else shades[:, None]


def spell(text: str, alphabet: str) -> str:
    """Return a text without the symbols that an alphabet lacks.

    >>> spell("No. 24 & up", " Noup")
    'No up'
    """
    kept = "".join(c for c in text if c in alphabet)
    return " ".join(kept.split()) if " " in alphabet else kept


def _stack(arrays: list[Array]) -> Array:
    """Stack arrays, padded with zeros to the largest."""
    shape = np.max([a.shape for a in arrays], axis=0)
    out = np.zeros((len(arrays), *shape), arrays[0].dtype)
    for row, array in zip(out, arrays, strict=True):
        row[tuple(slice(n) for n in array.shape)] = array
    return out


@dataclass(frozen=True)
class TrainingSet:
    """The samples to train on, and synthetic ones that replace a fraction of them."""

    samples: Dataset
    synthetic: Dataset | None = None
    synthetic_fraction: float = 0.0

    def sample(self, seed: int, place: int) -> Sample:
        """Return the sample at a position in the endless sequence of epochs."""
        dataset = self.samples
        if self.synthetic is not None:
            drawn = np.random.default_rng([seed, 3, place]).random()
            dataset = self.synthetic if drawn < self.synthetic_fraction else self.samples
        return dataset[_shuffled(seed, len(dataset), place)]


@dataclass(frozen=True)
class Share:
    """The part of each batch that one of several processes trains on."""

    rank: int = 0
    world: int = 1


def training_batches(
    task: Task,
    dataset: TrainingSet,
    training: Training,
    seed: int,
    steps: range,
    share: Share = Share(),  # noqa: B008  (frozen)
) -> Iterator[Batch]:
    """Yield the batches of the given training steps, or this process's share of each.

    Which samples a step has, and all that is drawn for them, follows from the seed and the
    number of the step alone, so a resumed run goes on as if it had not stopped.
    """

    def batch(step: int) -> Batch:
        size = training.batch_size
        places = range(step * size + share.rank, (step + 1) * size, share.world)
        samples = [dataset.sample(seed, p) for p in places]
        rngs = [np.random.default_rng([seed, 1, p]) for p in places]
        others = dataset.samples if training.augment else None
        made = make_batch(task, samples, rngs, others, step < training.word_steps)
        if isinstance(made, ReadingBatch):
            first = step < training.finder_steps or not training.finder_steps
            made = replace(
                made,
                train_finder=first or step % FINDER_EVERY == 0,
                train_reader=step >= training.locate_steps,
            )
        return made

    # The next batch is prepared while the model trains on this one.
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(batch, steps[0]) if steps else None
        for step in steps:
            assert waiting is not None
            ready = waiting.result()
            if step + 1 in steps:
                waiting = pool.submit(batch, step + 1)
            yield ready


def _shuffled(seed: int, n: int, place: int) -> int:
    """Return the index of the sample at a position in the endless sequence of shuffled epochs."""
    epoch, index = divmod(place, n)
    return int(_epoch_order(seed, n, epoch)[index])


@lru_cache(maxsize=4)
def _epoch_order(seed: int, n: int, epoch: int) -> Array:
    return np.random.default_rng([seed, 0, epoch]).permutation(n)
