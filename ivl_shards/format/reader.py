"""Reader: a dataset as a sequence of samples.

    from ivl_shards import open_dataset

    dataset = open_dataset("test.h5")
    sample = dataset[0]
    sample.image, sample["centres"], sample.memory(2), sample.delta(2)

Files are opened on first use, once in each process, so a dataset can be passed to the workers of a
PyTorch DataLoader whether they are forked or spawned. Torch is not required.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ivl_shards.errors import Damage, UserError
from ivl_shards.format.columns import decode
from ivl_shards.format.conditions import equal_to, evaluate_condition
from ivl_shards.format.dataset_files import DatasetFiles
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import DIGEST, ENCODED, MEMORY, Array, Schema
from ivl_shards.format.structure import check_values
from ivl_shards.remote import Location, as_location

if TYPE_CHECKING:
    from ivl_shards.torch_datasets import InductiveSteps, Samples

# Shards whose samples are shuffled together.
_SHUFFLE_SHARDS = 8


class Dataset(Sequence[Sample]):
    """A dataset or a selection of its samples. Slicing gives a selection and reads nothing."""

    def __init__(self, files: DatasetFiles, rows: range | Array) -> None:
        self._files = files
        # A range for a whole dataset: its length comes from a file and must not be allocated.
        self._rows = rows

    @property
    def path(self) -> Location:
        """The path or the address that it was opened with."""
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
    def shards(self) -> list[Location]:
        """The files that hold the samples."""
        return [self._files.shard_path(k) for k in range(len(self._files.entries))]

    @property
    def shard_sizes(self) -> list[int]:
        """The number of samples in each of them."""
        return [entry.samples for entry in self._files.entries]

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
            return Dataset(self._files, _pick(self._rows, index))
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

    def labels(self, index: int) -> Sample:
        """Return a sample without its image and maps, which are not read."""
        row = int(self._rows[index])
        small = [f for f in self.schema if f.name not in ("image", "steps", MEMORY)]
        k, i = self._files.locate(row)
        shard = self._files.shard(k)
        with self._sample_named(row):
            stored = {field.name: shard[field.name].row(i) for field in small}
            return Sample(unpad(self.schema, stored), self.schema.sequence)

    def padded(self, fields: Sequence[str] | None = None) -> "PaddedRows":
        """Return the samples as dictionaries of padded arrays, all of the same shape.

        A PyTorch DataLoader stacks them without a custom `collate_fn`.
        """
        return PaddedRows(self, self.field_names(fields))

    def columns(self, names: Sequence[str]) -> dict[str, Array]:
        """Return several fields of all samples as stored: padded, photographs encoded."""
        for name in names:
            self._require_field(name)
        return self._files.gather(names, self._rows)

    def column(self, name: str) -> Array:
        """Return one field of all samples, padded, (N, …)."""
        self._require_field(name)
        self._files.check_present()
        return self._files.gather([name], self._rows)[name]

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
            yield self._batch(names, rows)

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

    def _batch(self, names: Sequence[str], rows: Array) -> dict[str, Array]:
        batch = self._files.gather(names, rows)
        for name in names:
            field = self.schema[name]
            if field.storage == ENCODED:
                batch[name] = _stack([decode(field, value) for value in batch[name]])
        return batch

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
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Array]]:
        """Return several samples, which a DataLoader asks for at once."""
        schema = self._dataset.schema
        columns = self._dataset[np.asarray(indices, np.int64)].columns(self._names)
        return [
            {name: decode(schema[name], columns[name][k]) for name in self._names}
            for k in range(len(indices))
        ]


def open_dataset(path: Location | str) -> Dataset:
    """Open a dataset: a single file, an index, or one of several shards.

    Instead of a path, it may have an address such as https://…, s3://… or hf://….
    """
    files = DatasetFiles(as_location(path))
    return Dataset(files, range(int(files.ends[-1])))


def _pick(rows: range | Array, index: Array) -> Array:
    """Return the rows at an array of positions, or where a mask is true."""
    if isinstance(rows, np.ndarray) or index.dtype == bool:
        return np.asarray(np.asarray(rows)[index])
    if len(index) and not -len(rows) <= index.min() <= index.max() < len(rows):
        raise IndexError(f"a position is not among the {len(rows):,} samples")
    # Computed, for an array of all rows of a large dataset would take longer than reading a batch.
    return np.asarray(rows.start + (index.astype(np.int64) % max(1, len(rows))) * rows.step)


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
