"""PyTorch datasets: whole samples, and single inductive steps as in the paper.

    from ivl_shards import open_dataset

    dataset = open_dataset("train.h5")
    samples = dataset.torch(fields=["image", "line_count"])      # whole samples
    steps = dataset.inductive_steps(seed=0)                      # single steps, as in the paper
    loader = DataLoader(steps, batch_size=16, shuffle=True, collate_fn=steps.collate)

Torch is imported in this module alone. Both can be handed to the workers of a DataLoader, forked or
spawned, and to a `DistributedSampler`. What is drawn at random depends on the seed, the epoch and
the index alone, so the same seed gives the same batches with any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset

from ivl_shards.errors import UserError
from ivl_shards.format.columns import decode
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import Array

if TYPE_CHECKING:
    from ivl_shards.format.reader import Dataset

Transform = Callable[[dict[str, Any]], Any]


class Samples(TorchDataset[Any]):
    """Whole samples as dictionaries: arrays as tensors, the image as (C, H, W), texts as strings.

    Labels are padded to one shape for all samples, so that the default `collate_fn` stacks them.
    """

    def __init__(
        self,
        dataset: Dataset,
        transform: Transform | None = None,
        fields: Sequence[str] | None = None,
    ) -> None:
        self.dataset = dataset
        self.transform = transform
        self.fields = dataset.field_names(fields)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return several samples, which a DataLoader asks for at once: fewer, larger reads."""
        rows = np.asarray(indices, np.int64)
        schema = self.dataset.schema
        columns = self.dataset[rows].columns(self.fields)
        items = [
            {name: _tensor(name, decode(schema[name], columns[name][k])) for name in self.fields}
            for k in range(len(rows))
        ]
        return items if self.transform is None else [self.transform(item) for item in items]


class InductiveStep(NamedTuple):
    """One step of a sample, as the paper trains on them."""

    image: Tensor  # (C, H, W) uint8
    memory: Tensor  # (H, W) float32, m_t: what has been read or counted so far
    target: Any
    """y_t. Reading: the text, or the labels, of line t, empty at the last step. Counting: 1 where
    an object is left, 0 at the last step."""
    next_memory: Tensor  # (H, W) float32, m_{t+1}
    delta: Tensor  # (H, W) float32, Δm_t: the next line, or all remaining objects
    t: int
    last: bool
    """Whether nothing is left, which the model must predict."""


class InductiveSteps(TorchDataset[InductiveStep]):
    """A dataset of single steps (image, m_t, y_t, m_{t+1}).

    Parameters
    ----------
    dataset
        An opened dataset, or a selection of it.
    steps
        ``"all"``: every step t = 0 … T of every sample is an item of its own. ``"random"``: an item
        for each sample, with a step that is drawn anew in every epoch (see `set_epoch`).
    seed
        Seed of the random steps, and of the random order in which objects are counted.
    target
        Reading: the field with the output of each line; by default the text, or the labels.
    transform
        Called with each `InductiveStep`; returns what the loader gets.

    Notes
    -----
    Objects to count are in a random order: m_t holds t of them, and m_{t+1} one more.
    """

    def __init__(
        self,
        dataset: Dataset,
        steps: str = "random",
        seed: int = 0,
        target: str | None = None,
        transform: Callable[[InductiveStep], Any] | None = None,
    ) -> None:
        if steps not in ("all", "random"):
            raise UserError(f"steps '{steps}': give all or random")
        self.dataset = dataset
        self.steps = steps
        self.seed = seed
        self.epoch = 0
        self.transform = transform
        self.target = _target_field(dataset, target)
        self._ends = np.cumsum(dataset.lengths.astype(np.int64) + 1) if steps == "all" else None

    def __len__(self) -> int:
        return len(self.dataset) if self._ends is None else int(self._ends[-1])

    def set_epoch(self, epoch: int) -> None:
        """Draw other steps and orders from now on, as `DistributedSampler.set_epoch` does."""
        self.epoch = epoch

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"item {index} of {len(self)}")
        index %= len(self)
        rng = np.random.default_rng([self.seed, self.epoch, index])
        if self._ends is None:
            sample = self.dataset[index]
            t = int(rng.integers(sample.length + 1))
        else:
            row = int(np.searchsorted(self._ends, index, "right"))
            sample = self.dataset[row]
            t = index - int(self._ends[row]) + sample.length + 1
        step = self._step(sample, t, rng)
        return step if self.transform is None else self.transform(step)

    def _step(self, sample: Sample, t: int, rng: np.random.Generator) -> InductiveStep:
        last = t == sample.length
        counting = "centres" in sample
        order = rng.permutation(sample.length).tolist() if counting else None
        memory, delta = sample.memory(t, order), sample.delta(t, order)
        after = memory if last else sample.memory(t + 1, order)
        target: Any = int(not last)
        if self.target is not None:
            target = _output(sample[self.target], t)
        return InductiveStep(
            image=_tensor("image", sample.image),
            memory=torch.from_numpy(memory),
            target=target,
            next_memory=torch.from_numpy(after),
            delta=torch.from_numpy(delta),
            t=t,
            last=last,
        )

    @staticmethod
    def collate(items: Sequence[InductiveStep]) -> InductiveStep:
        """Stack steps into a batch. Images of different sizes are padded below and on the right
        with zeros; targets stay a list, for lines have different lengths."""
        height = max(item.image.shape[1] for item in items)
        width = max(item.image.shape[2] for item in items)

        def stack(maps: list[Tensor]) -> Tensor:
            shape = (len(maps), *maps[0].shape[:-2], height, width)
            out = maps[0].new_zeros(shape)
            for row, each in zip(out, maps, strict=True):
                row[..., : each.shape[-2], : each.shape[-1]] = each
            return out

        targets = [item.target for item in items]
        counted = all(isinstance(target, int) for target in targets)
        return InductiveStep(
            stack([item.image for item in items]),
            stack([item.memory for item in items]),
            torch.tensor(targets) if counted else targets,
            stack([item.next_memory for item in items]),
            stack([item.delta for item in items]),
            torch.tensor([item.t for item in items]),  # type: ignore[arg-type]
            torch.tensor([item.last for item in items]),  # type: ignore[arg-type]
        )


def _target_field(dataset: Dataset, name: str | None) -> str | None:
    """Return the field with the output of each step; none where objects are counted."""
    schema = dataset.schema
    if schema.memory == "peaks":
        if name is not None:
            raise UserError(f"target '{name}': objects are counted in any order: leave it out")
        return None
    found = name or next((each for each in ("line_text", "label") if each in schema), None)
    if found is None or found not in schema:
        known = ", ".join(field.name for field in schema)
        raise UserError(f"{dataset.path}: no field '{name or 'line_text'}': it has {known}")
    return found


def _output(values: Array, t: int) -> Any:
    """Return the text or the labels of line t; beyond the last line, nothing."""
    if values.dtype.kind == "S":
        return _text(np.asarray(values[t])) if t < len(values) else ""
    found = values[t] if t < len(values) else np.zeros(0, values.dtype)
    return torch.from_numpy(np.array(found))


def _tensor(name: str, value: Array) -> Any:
    """Return an array as a tensor, an image channels first, texts as strings."""
    if value.dtype.kind == "S":
        return _text(value)
    if name == "image":
        pixels = value if value.ndim == 3 else value[..., None]
        return torch.from_numpy(np.ascontiguousarray(np.moveaxis(pixels, 2, 0)))
    if value.dtype == np.uint16:  # torch computes little with it
        value = value.astype(np.int32)
    return torch.from_numpy(np.array(value))


def _text(value: Array) -> str | list[str]:
    """Return a text, or several, as strings."""
    if value.ndim == 0:
        return bytes(value.item()).decode("utf-8", "replace")
    return [text.decode("utf-8", "replace") for text in value.tolist()]
