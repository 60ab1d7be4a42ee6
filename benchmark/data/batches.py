"""Data: the datasets of a task, made when they are missing, as batches of tensors."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from benchmark.tasks import Part, Task
from ivl_shards import Sample, UserError, open_dataset
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array
from ivl_shards.generation.recipe import format_counts

# Where lines are is learnt long before what they say: it is kept up in one step of so many.
FIND_EVERY = 8


@dataclass(frozen=True)
class Batch:
    """Samples of one size. Each brings random numbers of its own, so that what is drawn for it
    does not depend on which batch, or which process, it is in."""

    images: Tensor  # (N, C, H, W), 0 to 1
    lengths: Tensor  # (N,) lines or objects
    rngs: list[np.random.Generator]

    def to(self, device: torch.device) -> Self:
        """The same batch elsewhere."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {
            name: v.to(device) for name, v in values.items() if isinstance(v, Tensor)
        }
        return replace(self, **moved)


@dataclass(frozen=True)
class ReadingBatch(Batch):
    """Lines to read."""

    steps: Tensor  # (N, H, W) first step whose box covers the pixel, 0 where none does
    texts: list[list[str]]  # what each line says, of what the alphabet has
    quads: Tensor  # (N, L, 4, 2) corners of each line in pixels, clockwise from the upper left
    word_texts: list[list[str]] | None = None  # single words, where these are to be learnt first
    word_quads: Tensor | None = None  # (N, W, 4, 2) and their corners
    find: bool = True  # whether where the lines are is to be learnt, too
    read: bool = True  # whether what they say is to be learnt


@dataclass(frozen=True)
class CountingBatch(Batch):
    """Objects to count."""

    centres: Tensor  # (N, K, 2) x and y in pixels; rows from the length on are padding
    sigmas: Tensor  # (N,) width of the memory's peaks in pixels
    sizes: Tensor  # (N, K) of the objects in pixels, 0 where the task does not say


def data_file(task: Task, part: Part, folder: Path) -> Path:
    """Where a part of a task lies in the folder of the data."""
    usual = part in (task.train, task.test)
    name = part.split if usual else f"{part.split}-{format_counts(part.counts)}-{part.total}"
    return folder / f"{task.name}-{name}.h5"


def open_part(task: Task, part: Part, folder: Path, seed: int = 0) -> Dataset:
    """A part of a task; what is there is used as it is, what is missing is made."""
    path = data_file(task, part, folder)
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"{folder}: cannot be made ({error.strerror}): use another --data"
            ) from None
        task.make(part, seed, path, folder)
    dataset = open_dataset(path)
    made_for = dataset.attributes["task"]
    if made_for != (part.made_by or task.made_by):
        raise UserError(f"{path}: holds {made_for}, not {task.name}: move it away or use --data")
    return dataset


def split_validation(task: Task, dataset: Dataset) -> tuple[Dataset, Dataset]:
    """The samples to train on, and those to watch the training with."""
    if task.group is None:
        kept = len(dataset) - max(1, round(task.held * len(dataset)))
        return dataset[:kept], dataset[kept:]
    groups = dataset.column(task.group)
    names = np.unique(groups)
    count = max(1, round(task.held * len(names)))
    held = np.isin(groups, np.random.default_rng(0).permutation(names)[:count])
    return dataset[np.flatnonzero(~held)], dataset[np.flatnonzero(held)]


def make_batch(
    task: Task,
    samples: Sequence[Sample],
    rngs: list[np.random.Generator],
    others: Dataset | None = None,
    words: bool = False,
) -> Batch:
    """Samples as one batch; smaller images are padded below and to the right. With all samples
    to train on, these ones are changed at random."""
    if task.shown is not None:
        draws = [None] * len(samples) if others is None else rngs
        samples = [task.shown(s, rng, others) for s, rng in zip(samples, draws, strict=True)]
    common: dict[str, Any] = {
        "images": image_batch(_stack([s.image for s in samples])),
        "lengths": torch.tensor([s.length for s in samples]),
        "rngs": rngs,
    }
    if task.kind == "counting":
        sigmas = torch.tensor([float(s["sigma"]) for s in samples])
        centres = torch.from_numpy(_stack([s["centres"] for s in samples]))
        unknown = np.zeros(centres.shape[1], np.float32)
        sizes = torch.from_numpy(_stack([s.get("object_size", unknown) for s in samples]))
        return CountingBatch(centres=centres, sigmas=sigmas, sizes=sizes, **common)
    steps = torch.from_numpy(_stack([s["steps"] for s in samples]).astype(np.int64))
    assert task.line_texts is not None and task.line_quads is not None
    quads = torch.from_numpy(_stack([task.line_quads(s) for s in samples]))
    texts = [[spell(t, task.alphabet) for t in task.line_texts(s)] for s in samples]
    if words and task.words is not None:
        found = [task.words(s) for s in samples]
        common["word_texts"] = [[spell(t, task.alphabet) for t in texts] for texts, _ in found]
        common["word_quads"] = torch.from_numpy(_stack([quads for _, quads in found]))
    return ReadingBatch(steps=steps, texts=texts, quads=quads, **common)


def image_batch(pixels: Array) -> Tensor:
    """Images (N, H, W) or (N, H, W, C), 0 to 255, as models take them; in memory (N, H, W, C)."""
    stacked = torch.from_numpy(pixels if pixels.ndim == 4 else pixels[..., None])
    return stacked.permute(0, 3, 1, 2).float() / 255


def spell(text: str, alphabet: str) -> str:
    """What of a text can be said with an alphabet; what it lacks is left out.

    >>> spell("No. 24 & up", " Noup")
    'No up'
    """
    kept = "".join(c for c in text if c in alphabet)
    return " ".join(kept.split()) if " " in alphabet else kept


def _stack(arrays: list[Array]) -> Array:
    """Arrays as one, padded with zeros to the largest."""
    shape = np.max([a.shape for a in arrays], axis=0)
    out = np.zeros((len(arrays), *shape), arrays[0].dtype)
    for row, array in zip(out, arrays, strict=True):
        row[tuple(slice(n) for n in array.shape)] = array
    return out


@dataclass(frozen=True)
class TrainingSet:
    """The samples to train on, and synthetic ones that a share of them is replaced by."""

    samples: Dataset
    synthetic: Dataset | None = None
    share: float = 0.0

    def sample(self, seed: int, place: int) -> Sample:
        """Return the sample at a place in the endless row of epochs."""
        dataset = self.samples
        if self.synthetic is not None:
            drawn = np.random.default_rng([seed, 3, place]).random()
            dataset = self.synthetic if drawn < self.share else self.samples
        return dataset[_shuffled(seed, len(dataset), place)]


def training_batches(
    task: Task,
    dataset: TrainingSet,
    seed: int,
    size: int,
    steps: range,
    rank: int,
    world: int,
    augment: bool,
    words: int = 0,
    finding: int = 0,
    locating: int = 0,
) -> Iterator[Batch]:
    """The batches of the given training steps; with several processes, this one's share.
    The first `words` steps have single words to read. If `finding`, only so many steps at first,
    and few of those after, have lines to find; the first `locating` steps have none to read.

    Which samples a step has, and all that is drawn for them, follows from the seed and the
    number of the step alone, so a run that is begun again goes on as if it had not stopped.
    """

    def batch(step: int) -> Batch:
        places = range(step * size + rank, (step + 1) * size, world)
        samples = [dataset.sample(seed, p) for p in places]
        rngs = [np.random.default_rng([seed, 1, p]) for p in places]
        others = dataset.samples if augment else None
        made = make_batch(task, samples, rngs, others, step < words)
        if isinstance(made, ReadingBatch) and finding:
            made = replace(made, find=step < finding or step % FIND_EVERY == 0)
        if isinstance(made, ReadingBatch) and step < locating:
            made = replace(made, read=False)
        return made

    # The next batch is made while the model works on this one.
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(batch, steps[0]) if steps else None
        for step in steps:
            assert waiting is not None
            ready = waiting.result()
            if step + 1 in steps:
                waiting = pool.submit(batch, step + 1)
            yield ready


def _shuffled(seed: int, n: int, place: int) -> int:
    """The sample at a place in the endless row of epochs, each in an order of its own."""
    epoch, index = divmod(place, n)
    return int(_epoch_order(seed, n, epoch)[index])


@lru_cache(maxsize=4)
def _epoch_order(seed: int, n: int, epoch: int) -> Array:
    return np.random.default_rng([seed, 0, epoch]).permutation(n)
