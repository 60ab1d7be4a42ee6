"""Selection: which samples of a dataset to copy.

Random choices follow from the seed and the row alone, by a hash: they are the same with every
version of NumPy, and a larger sample contains the smaller one of the same seed.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from ivl_shards.errors import UserError
from ivl_shards.format.conditions import evaluate_condition, one_each
from ivl_shards.format.copying import Rows
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import ENCODED, Array
from ivl_shards.generation.recipe import require

# Rows whose labels are read at a time, which limits the memory.
_ROWS = 100_000
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_LARGEST_SEED = 2**63 - 1


def parse_rows(text: str, samples: int, where: str) -> Rows:
    """Parse ranges of rows, both ends included, of a dataset with this many samples.

    >>> parse_rows("0-3", 10, ""), parse_rows("7,1-3", 10, "").tolist()
    (range(0, 4), [1, 2, 3, 7])
    """
    ranges = []
    for part in text.replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        require(match is not None, f"'{text}' is not a list of rows: write 0-999 or 0-99,500-599")
        assert match is not None
        first, last = int(match[1]), int(match[2] or match[1])
        require(first <= last, f"'{part}' runs backwards: write {last}-{first}")
        require(last < samples, f"{where}: has no row {last}: its rows are 0-{samples - 1}")
        ranges.append(range(first, last + 1))
    if len(ranges) == 1:
        return ranges[0]
    rows: Array = np.unique(np.concatenate([np.arange(r.start, r.stop) for r in ranges]))
    return rows


def check_seed(seed: int) -> None:
    """Raise unless a number can be a random seed."""
    require(0 <= seed <= _LARGEST_SEED, f"--seed {seed}: must be between 0 and {_LARGEST_SEED}")


def rows_where(dataset: Dataset, rows: Rows, conditions: Sequence[str]) -> Rows:
    """Return the rows whose samples fulfil all conditions, without reading any image."""
    if not conditions:
        return rows
    found = []
    for block, part in _blocks(dataset, rows):
        chosen = np.ones(len(part), bool)
        for condition in conditions:
            chosen &= evaluate_condition(
                condition, _Labels(part).column, len(part), str(dataset.path)
            )
        found.append(block[chosen])
    return np.concatenate(found)


def random_rows(rows: Rows, n: int, seed: int) -> Rows:
    """Return a random sample of n rows, in increasing order."""
    chosen = np.asarray(rows)
    order = np.argsort(_hashes(chosen, seed), kind="stable")
    return np.sort(chosen[order[:n]])


def split_rows(rows: Rows, fractions: Sequence[float], seed: int) -> list[Rows]:
    """Return disjoint random parts with these fractions of the rows."""
    chosen = np.asarray(rows)
    order = np.argsort(_hashes(chosen, seed), kind="stable")
    bounds = [round(len(rows) * share) for share in _shares(fractions)]
    return [
        np.sort(chosen[order[start:stop]]) for start, stop in zip(bounds, bounds[1:], strict=False)
    ]


def split_groups(dataset: Dataset, field: str, fractions: Sequence[float], seed: int) -> list[Rows]:
    """Return disjoint random parts that share no value of a field, such as `source_image`.

    The parts have about these fractions of the samples, as closely as the groups allow.
    """
    rows = range(len(dataset))
    counts: dict[bytes | int | float, int] = {}
    for _, part in _blocks(dataset, rows):
        values, numbers = np.unique(_Labels(part).group(field), return_counts=True)
        for value, number in zip(values.tolist(), numbers.tolist(), strict=True):
            counts[value] = counts.get(value, 0) + number
    part_of = _assign_groups(counts, fractions, seed)
    names = np.array(sorted(part_of))
    numbers = np.array([part_of[name] for name in sorted(part_of)])
    parts = [
        numbers[np.searchsorted(names, _Labels(part).group(field))]
        for _, part in _blocks(dataset, rows)
    ]
    chosen = np.concatenate(parts)
    return [np.flatnonzero(chosen == k) for k in range(len(fractions))]


def _assign_groups(
    counts: dict[bytes | int | float, int], fractions: Sequence[float], seed: int
) -> dict[bytes | int | float, int]:
    """Return the part of each group: groups in random order, cut where the fractions are reached.

    A group that is in none gets -1.
    """
    order = sorted(counts, key=lambda value: hashlib.sha256(f"{seed} {value!r}".encode()).digest())
    bounds = np.array(_shares(fractions)[1:]) * sum(counts.values())
    parts, done = {}, 0
    for value in order:
        k = int(np.searchsorted(bounds, done + counts[value] / 2, "right"))
        parts[value] = k if k < len(fractions) else -1
        done += counts[value]
    return parts


def _shares(fractions: Sequence[float]) -> list[float]:
    """Return the cumulated fractions, from 0 to at most 1.

    >>> _shares([0.5, 0.25, 0.25])
    [0.0, 0.5, 0.75, 1.0]
    """
    return [min(1.0, math.fsum(fractions[:k])) for k in range(len(fractions) + 1)]


def _hashes(rows: Array, seed: int) -> Array:
    """Return a pseudo-random number for each row (splitmix64)."""
    key = int.from_bytes(hashlib.sha256(f"ivl-shards take {seed}".encode()).digest()[:8], "little")
    x = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def _blocks(dataset: Dataset, rows: Rows) -> Iterator[tuple[Array, Dataset]]:
    """Yield some rows at a time, and the dataset of only these."""
    for start in range(0, len(rows), _ROWS):
        block = np.asarray(rows[start : start + _ROWS])
        first = int(block[0])
        yield block, dataset[first : int(block[-1]) + 1][block - first]


class _Labels:
    """The fields of a dataset with one value per sample; others are refused without reading."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def column(self, name: str) -> Array:
        if name in self._dataset.schema:
            field = self._dataset.schema[name]
            if field.storage == ENCODED or math.prod(field.shape) != 1:
                raise ValueError(f"{name} has several values for each sample")
        return one_each(self._dataset.column(name), name)

    def group(self, name: str) -> Array:
        """Return the values of a field to group by."""
        try:
            return self.column(name)
        except ValueError as error:
            raise UserError(f"{self._dataset.path}: --by {name}: {error}") from None
