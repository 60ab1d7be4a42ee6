"""Reader: a dataset as a sequence of samples.

    from ivl_shards import open_dataset

    dataset = open_dataset("test.h5")
    sample = dataset[0]
    sample.image, sample["centres"], sample.memory(2), sample.delta(2)

Files are opened on first use, once in each process, so a dataset can be passed to the workers of a
PyTorch DataLoader whether they are forked or spawned. Torch is not required.
"""

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ivl_shards.errors import Damage, UserError
from ivl_shards.format.columns import Column, Hdf5Column, decode, map_file, open_column
from ivl_shards.format.conditions import equal_to, evaluate_condition
from ivl_shards.format.metadata import stored_metadata, stored_versions
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import DIGEST, ENCODED, Array, Schema
from ivl_shards.format.structure import (
    LEAST_BYTES,
    check_values,
    damage_named,
    open_checked,
    stored_shards,
)

# Most shards that are open at a time, because of the limit on open files.
if TYPE_CHECKING:
    from ivl_shards.torch_datasets import InductiveSteps, Samples

_OPEN_SHARDS = 32
# Shards whose samples are shuffled together.
_SHUFFLE_SHARDS = 8


@cache
def _most_open() -> int:
    """Return how many shards to keep open: at most a quarter of the limit on open files."""
    try:
        import resource
    except ImportError:  # Windows
        return _OPEN_SHARDS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(_OPEN_SHARDS, max(1, allowed // 4)) if allowed > 0 else _OPEN_SHARDS


class Shard:
    """One open file of samples."""

    def __init__(self, path: Path) -> None:
        hdf5, self.attributes, self.schema = open_checked(path)
        try:
            with damage_named(path):
                mapped = map_file(path)
                self._columns: dict[str, Column] = {
                    f.name: open_column(path, mapped, hdf5[f.name], f) for f in self.schema
                }
        except UserError:
            hdf5.close()
            raise
        if not any(isinstance(column, Hdf5Column) for column in self._columns.values()):
            hdf5.close()  # the offsets of all rows are known

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]


class DatasetFiles:
    """The files of a dataset, each opened on first use, once in each process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        file, self.attributes, self.schema = open_checked(path)
        file.close()
        with damage_named(path):
            stored_metadata(self.attributes)
            stored_versions(self.attributes)
        listed = stored_shards(self.attributes)
        self.shards = [(path.parent / name, samples) for name, samples in listed]
        if not listed:
            self.shards = [(path, self.attributes["samples"])]
        self.ends = np.cumsum([samples for _, samples in self.shards])
        self._open: OrderedDict[int, Shard] = OrderedDict()
        self._process = os.getpid()
        self._present = not listed

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": OrderedDict(), "_process": -1}

    def shard(self, k: int) -> Shard:
        """Return file k, opened if necessary."""
        if self._process != os.getpid():
            # HDF5 handles do not survive a fork; those of the parent are left alone.
            self._open, self._process = OrderedDict(), os.getpid()
        if k not in self._open:
            self._open[k] = self._open_shard(k)
            if len(self._open) > _most_open():
                self._open.popitem(last=False)
        self._open.move_to_end(k)
        return self._open[k]

    def _open_shard(self, k: int) -> Shard:
        path, samples = self.shards[k]
        shard_size(path)
        shard = Shard(path)
        same_recipe = shard.attributes["recipe"] == self.attributes["recipe"]
        if not same_recipe or "shards" in shard.attributes:
            raise Damage(f"{path}: belongs to another dataset than {self.path}")
        if not _same_fields(shard.schema, self.schema):
            raise Damage(f"{path}: has other fields than {self.path}")
        if shard.attributes["samples"] != samples:
            raise Damage(f"{path}: does not have the {samples:,} samples that {self.path} lists")
        return shard

    def check_present(self) -> None:
        """Raise if a shard is missing, or too small for its number of samples.

        Call it before allocating a whole column, whose length only the index states.
        """
        if not self._present:
            for k, (path, samples) in enumerate(self.shards):
                if k not in self._open and shard_size(path) < samples * LEAST_BYTES:
                    raise Damage(
                        f"{path}: does not have the {samples:,} samples that {self.path} lists"
                    )
            self._present = True

    def locate(self, row: int) -> tuple[int, int]:
        """Return the file that holds a row of the dataset, and the row in that file."""
        k = int(np.searchsorted(self.ends, row, "right"))
        return k, row - int(self.ends[k]) + self.shards[k][1]

    def read(self, row: int) -> dict[str, Array]:
        """Return all fields of a row as stored."""
        k, i = self.locate(row)
        shard = self.shard(k)
        return {field.name: shard[field.name].row(i) for field in self.schema}

    def gather(self, name: str, rows: Array) -> Array:
        """Return one field of many rows, in their order."""
        files = np.searchsorted(self.ends, rows, "right")
        present = np.unique(files)
        if len(present) == 1:
            return self._gather_from(int(present[0]), name, rows)
        field = self.schema[name]
        shape = () if field.storage == "encoded" else field.shape
        out = np.empty((len(rows), *shape), object if field.storage == "encoded" else field.dtype)
        for k in present:
            here = files == k
            out[here] = self._gather_from(int(k), name, rows[here])
        return out

    def _gather_from(self, k: int, name: str, rows: Array) -> Array:
        return self.shard(k)[name].rows(rows - (self.ends[k] - self.shards[k][1]))


def shard_size(path: Path) -> int:
    """Return the size of a shard in bytes; raise if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        raise Damage(f"{path}: shard is missing: put it back, or make the dataset again") from None


class Dataset(Sequence[Sample]):
    """A dataset or a selection of its samples. Slicing gives a selection and reads nothing."""

    def __init__(self, files: DatasetFiles, rows: range | Array) -> None:
        self._files = files
        # A range for a whole dataset: its length comes from a file and must not be allocated.
        self._rows = rows

    @property
    def path(self) -> Path:
        """The path that it was opened with."""
        return self._files.path

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the file: generator, seed, licence, checksum …"""
        return dict(self._files.attributes)

    @property
    def recipe(self) -> dict[str, Any]:
        """The recipe that it was generated from."""
        stored: dict[str, Any] = json.loads(self._files.attributes["recipe"])
        return stored

    @property
    def schema(self) -> Schema:
        """The fields."""
        return self._files.schema

    @property
    def shards(self) -> list[Path]:
        """The files that hold the samples."""
        return [path for path, _ in self._files.shards]

    @property
    def shard_sizes(self) -> list[int]:
        """The number of samples in each of them."""
        return [samples for _, samples in self._files.shards]

    @property
    def lengths(self) -> Array:
        """T of every sample, the number of lines or objects."""
        return self.column(self.schema.sequence)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<Dataset {self.path.name}: {len(self):,} samples of {self.attributes['task']}>"

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice | Array) -> "Dataset": ...
    def __getitem__(self, index: int | slice | Array) -> "Sample | Dataset":
        if isinstance(index, np.ndarray):
            return Dataset(self._files, np.asarray(self._rows)[index])
        if isinstance(index, slice):
            return Dataset(self._files, self._rows[index])
        return self._sample(int(self._rows[index]))

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def _sample(self, row: int) -> Sample:
        stored = self._files.read(row)
        with self._sample_named(row):
            fields = unpad(self.schema, stored)
            for field in self.schema:
                fields[field.name] = decode(field, fields[field.name])
            check_values(self.schema, fields)
        return Sample(fields, self.schema.sequence)

    @contextmanager
    def _sample_named(self, row: int) -> Iterator[None]:
        """Add the dataset and the sample to the message of an error."""
        try:
            yield
        except Damage as damage:
            raise Damage(f"{self.path}: sample {row:,}: {damage}") from None

    def stored(self, index: int) -> dict[str, Array]:
        """Return the fields of a sample as stored: padded, photographs encoded."""
        return self._files.read(int(self._rows[index]))

    def unpadded(self, index: int) -> dict[str, Array]:
        """Return the fields of a sample without padding, photographs still encoded."""
        stored = self.stored(index)
        with self._sample_named(int(self._rows[index])):
            return unpad(self.schema, stored)

    def padded(self, fields: Sequence[str] | None = None) -> "PaddedRows":
        """Return the samples as dictionaries of padded arrays, all of the same shape.

        A PyTorch DataLoader stacks them without a custom `collate_fn`.
        """
        return PaddedRows(self, self.field_names(fields))

    def column(self, name: str) -> Array:
        """Return one field of all samples, padded, (N, …)."""
        if name not in self.schema:
            known = ", ".join(field.name for field in self.schema)
            raise UserError(f"{self.path}: no field '{name}': it has {known}")
        self._files.check_present()
        return self._files.gather(name, np.asarray(self._rows))

    def batches(
        self,
        size: int,
        *,
        shuffle: int | np.random.Generator | None = None,
        fields: Sequence[str] | None = None,
    ) -> Iterator[dict[str, Array]]:
        """Yield one pass over the data: dictionaries of stacked, padded arrays, (size, …) each.

        With `shuffle`, a seed or a generator, the shards of a dataset come in random order, and
        the samples of several shards are shuffled together. Photographs of different sizes come
        as an array of arrays.
        """
        names = self.field_names(fields)
        self._files.check_present()
        chosen = np.asarray(self._rows)
        positions = np.arange(len(self)) if shuffle is None else self._shuffled(shuffle)
        for start in range(0, len(self), size):
            rows = chosen[positions[start : start + size]]
            yield {name: self._batch(name, rows) for name in names}

    def field_names(self, fields: Sequence[str] | None = None) -> list[str]:
        """Return these fields, or all but the digest; raise if one does not exist."""
        if fields is None:
            return [f.name for f in self.schema if f.name != DIGEST]
        for name in fields:
            self._require_field(name)
        return list(fields)

    def _require_field(self, name: str) -> None:
        if name not in self.schema:
            known = ", ".join(field.name for field in self.schema)
            raise UserError(f"{self.path}: no field '{name}': it has {known}")

    def where(self, condition: str = "", **equal: Any) -> "Dataset":
        """Select samples by their labels, without reading any image.

        For example `dataset.where(line_count=3)`, or
        `dataset.where("line_count <= 3 and alignment == 0")`.
        """
        chosen = np.ones(len(self), bool)
        if condition:
            chosen &= evaluate_condition(condition, self.column, len(self), str(self.path))
        for name, value in equal.items():
            chosen &= equal_to(self.column(name), value, name)
        return self[np.flatnonzero(chosen)]

    def torch(
        self, transform: Callable[[Any], Any] | None = None, fields: Sequence[str] | None = None
    ) -> "Samples":
        """Return the samples as a `torch.utils.data.Dataset`; see `ivl_shards.torch_datasets`."""
        from ivl_shards.torch_datasets import Samples  # torch is needed here alone

        return Samples(self, transform, fields)

    def inductive_steps(self, steps: str = "random", **options: Any) -> "InductiveSteps":
        """Return single steps (image, m_t, y_t, m_{t+1}) as a `torch.utils.data.Dataset`; see
        `ivl_shards.torch_datasets.InductiveSteps`."""
        from ivl_shards.torch_datasets import InductiveSteps  # torch is needed here alone

        return InductiveSteps(self, steps, **options)

    def _batch(self, name: str, rows: Array) -> Array:
        field, values = self.schema[name], self._files.gather(name, rows)
        return _stack([decode(field, v) for v in values]) if field.storage == "encoded" else values

    def _shuffled(self, shuffle: int | np.random.Generator) -> Array:
        rng = np.random.default_rng(shuffle)
        files = np.searchsorted(self._files.ends, self._rows, "right")
        order = rng.permutation(np.unique(files))
        groups = [order[k : k + _SHUFFLE_SHARDS] for k in range(0, len(order), _SHUFFLE_SHARDS)]
        return np.concatenate(
            [rng.permutation(np.flatnonzero(np.isin(files, group))) for group in groups]
        )


class PaddedRows(Sequence[dict[str, Array]]):
    """A dataset as a sequence of dictionaries, see `Dataset.padded`."""

    def __init__(self, dataset: Dataset, names: Sequence[str]) -> None:
        self._dataset = dataset
        self._names = names

    def __len__(self) -> int:
        return len(self._dataset)

    @overload
    def __getitem__(self, index: int) -> dict[str, Array]: ...
    @overload
    def __getitem__(self, index: slice) -> "PaddedRows": ...
    def __getitem__(self, index: int | slice) -> "dict[str, Array] | PaddedRows":
        if isinstance(index, slice):
            return PaddedRows(self._dataset[index], self._names)
        stored = self._dataset.stored(index)
        return {name: decode(self._dataset.schema[name], stored[name]) for name in self._names}


def open_dataset(path: Path | str) -> Dataset:
    """Open a dataset by its path: a single file, an index, or one of several shards."""
    files = DatasetFiles(Path(path))
    return Dataset(files, range(int(files.ends[-1])))


def _same_fields(one: Schema, other: Schema) -> bool:
    """Return whether two schemas are equal but for compression, which an index does not know."""
    plain = [
        {replace(f, storage=ENCODED if f.storage == ENCODED else "") for f in schema}
        for schema in (one, other)
    ]
    return plain[0] == plain[1] and (one.memory, one.sequence) == (other.memory, other.sequence)


def unpad(schema: Schema, stored: dict[str, Array]) -> dict[str, Array]:
    """Return the values of a sample without padding."""
    extents = {name: schema[name].extent(stored) for name in stored}
    # Indexing with () would turn an array without dimensions into a scalar.
    return {
        name: stored[name][extent] if extent else stored[name] for name, extent in extents.items()
    }


def _stack(values: list[Array]) -> Array:
    if len({value.shape for value in values}) == 1:
        return np.stack(values)
    ragged = np.empty(len(values), object)
    ragged[:] = values
    return ragged
