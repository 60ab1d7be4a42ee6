"""Statistics of a dataset that are cheap to compute, and the choice of samples to show."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import PLAIN, Array, Field, check_classes

# Rows read at a time, which limits the memory.
_ROWS = 100_000


@dataclass(frozen=True)
class Spread:
    """Minimum, median and maximum of a number over the samples."""

    name: str
    unit: str
    least: float
    median: float
    most: float


def count_samples(dataset: Dataset) -> dict[int, int]:
    """Return how many samples have each number of lines or objects."""
    counts, numbers = np.unique(dataset.lengths, return_counts=True)
    return {int(c): int(n) for c, n in zip(counts, numbers, strict=True)}


def spreads(dataset: Dataset) -> list[Spread]:
    """Return the spread of image sizes and of every scalar field that is not constant."""
    found = []
    for field in dataset.schema:
        if field.name == "image_size":
            sizes = dataset.column("image_size")
            found.append(_spread("image height", field, sizes[:, 0]))
            found.append(_spread("image width", field, sizes[:, 1]))
        elif _is_number(field) and field.name != dataset.schema.sequence:
            values = dataset.column(field.name)
            known = values[np.isfinite(values)]
            if len(np.unique(known)) > 1:
                found.append(_spread(field.name, field, known))
    return found


def _is_number(field: Field) -> bool:
    number = field.shape == () and field.storage == PLAIN and not field.classes
    return number and np.dtype(field.dtype).kind in "iuf"


def _spread(name: str, field: Field, values: Array) -> Spread:
    return Spread(
        name, field.unit, float(values.min()), float(np.median(values)), float(values.max())
    )


def count_classes(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Return how often each class occurs, by field."""
    fields = [f for f in dataset.schema if f.classes and f.storage == PLAIN]
    return {field.name: _count_classes(dataset, field) for field in fields}


def _count_classes(dataset: Dataset, field: Field) -> dict[str, int]:
    numbers = np.zeros(len(field.classes), int)
    for start in range(0, len(dataset), _ROWS):
        part = dataset[start : start + _ROWS]
        values = np.concatenate(list(_real(part, field)))
        check_classes(f"{dataset.path}: {field.name}", values, field.classes)
        numbers += np.bincount(values, minlength=len(numbers))
    return {name: int(n) for name, n in zip(field.classes, numbers, strict=True)}


def _real(dataset: Dataset, field: Field) -> Iterator[Array]:
    """Yield the values of a field without padding, flattened."""
    values = dataset.column(field.name)
    if not field.counted_by:
        yield values.reshape(-1)
        return
    lengths = dataset.column(field.counted_by)
    if lengths.min() < 0 or lengths.max() > field.shape[0]:
        raise Damage(f"{dataset.path}: {field.counted_by} exceeds the size of {field.name}")
    for place in range(field.shape[0]):
        yield values[lengths > place, place].reshape(-1)


def pick_samples(dataset: Dataset, most: int) -> dict[int, list[int]]:
    """Choose up to `most` samples, spread evenly over the counts; return positions by count."""
    lengths = dataset.lengths
    counts = np.unique(lengths)
    if len(counts) > most:
        counts = counts[np.linspace(0, len(counts) - 1, most).round().astype(int)]
    each = max(1, most // len(counts))
    return {int(c): np.flatnonzero(lengths == c)[:each].tolist() for c in counts}


def count_noun(dataset: Dataset, count: int) -> str:
    """Return a count with its noun, for example `1 line` or `3 objects`."""
    noun = dataset.schema.sequence.removesuffix("_count")
    return f"{count} {noun}{'' if count == 1 else 's'}"
