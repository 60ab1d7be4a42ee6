"""Writer: write samples to a sealed HDF5 file.

A shard and a small dataset have the same format, so a dataset of one shard is that shard under
another name.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from zlib_ng import zlib_ng

from ivl_shards.format.sample import Sample, digest
from ivl_shards.format.schema import DEFLATE, DIGEST, ENCODED, Array, Field, Schema, pad
from ivl_shards.format.seal import FORMAT, VERSION, Disk, sealed_file

# Rows of small fields that are written together: one HDF5 call costs as much as 100 rows.
_BLOCK = 256
_LEVEL = 1
# Longer attributes, in characters, may exceed the 64 kB that the oldest file format can store.
_LARGE_ATTRIBUTE = 10_000


class ShardWriter:
    """Appends samples to an open file; memory does not depend on their number."""

    def __init__(self, file: Any, disk: Disk, schema: Schema, samples: int) -> None:
        self._file = file
        self._disk = disk
        self._schema = schema
        self._samples = samples
        self._row = 0  # rows written
        self._filled = 0  # rows buffered
        self._content = hashlib.sha256()
        self._datasets = {f.name: create_dataset(file, f, samples) for f in schema}
        self._dtypes = {f.name: np.dtype(f.dtype) for f in schema}
        self._blocks = {f.name: _new_block(f) for f in schema if f.storage != DEFLATE}

    def append(self, sample: Sample) -> None:
        """Append one sample."""
        fields = dict(sample)
        fields[DIGEST] = np.frombuffer(digest(fields), np.uint8)
        for field in self._schema:
            value = fields[field.name]
            if value.dtype != self._dtypes[field.name]:
                raise TypeError(f"{field.name} is {value.dtype}, its schema says {field.dtype}")
            if field.storage == DEFLATE:
                _check_room(field, value)
                self._write_chunk(field, self._row + self._filled, pack(field, value))
            elif field.storage == ENCODED or value.shape == field.shape:
                self._blocks[field.name][self._filled] = value
            else:
                _check_room(field, value)
                extent = tuple(slice(0, n) for n in value.shape)
                self._blocks[field.name][self._filled][extent] = value
        self._filled += 1
        if self._filled == _BLOCK:
            self._flush()

    def append_stored(
        self, rows: Mapping[str, Array], packed: Mapping[str, Sequence[bytes]]
    ) -> None:
        """Append samples of another file as they are stored there.

        `packed` has the compressed values of the fields with one gzip chunk per sample, `rows` the
        padded values of all other fields. The digests are copied, not computed.
        """
        self._flush()
        for name, values in packed.items():
            for i, data in enumerate(values):
                self._write_chunk(self._schema[name], self._row + i, data)
        self._write_rows(rows)

    def append_shard(self, path: Path) -> None:
        """Append all samples of a finished shard of the same schema, without unpacking them."""
        names = [field.name for field in self._schema if field.storage == DEFLATE]
        with h5py.File(path, "r") as shard:
            total = len(shard[DIGEST])
            for start in range(0, total, _BLOCK):
                stop = min(start + _BLOCK, total)
                packed = {name: _chunks(shard[name], range(start, stop)) for name in names}
                self.append_stored({name: shard[name][start:stop] for name in self._blocks}, packed)

    def _write_chunk(self, field: Field, row: int, data: bytes) -> None:
        offset = (row, *(0 for _ in field.shape))
        self._datasets[field.name].id.write_direct_chunk(offset, data)

    def _flush(self) -> None:
        """Write the buffered rows."""
        if self._filled:
            self._write_rows({name: block[: self._filled] for name, block in self._blocks.items()})
            self._filled = 0
            for block in self._blocks.values():
                # The next values may be shorter: the rest is padding, for a text empty and not "0".
                block[:] = np.zeros((), block.dtype)

    def _write_rows(self, rows: Mapping[str, Array]) -> None:
        for name, values in rows.items():
            _write_rows(self._datasets[name], self._row, values)
        self._content.update(rows[DIGEST].tobytes())
        self._row += len(rows[DIGEST])
        self._disk.check()

    def finish(self) -> None:
        """Write the checksum of the content, after checking that all rows were appended."""
        self._flush()
        if self._row != self._samples:
            raise ValueError(f"{self._row} samples were appended, {self._samples} were announced")
        self._file.attrs["content_sha256"] = self._content.hexdigest()


def pack(field: Field, value: Array) -> bytes:
    """Return a value padded and compressed, as one chunk of the file."""
    packed: bytes = zlib_ng.compress(pad(field, value).data, _LEVEL)
    return packed


@contextmanager
def shard_writer(
    path: Path,
    schema: Schema,
    samples: int,
    attributes: Mapping[str, Any],
    work: Path | None = None,
) -> Iterator[ShardWriter]:
    """Yield a `ShardWriter` for a new file, which is renamed to `path` if the body succeeds.

    Until then the file is in the folder `work`, by default the folder of `path`.
    """
    large = any(len(str(value)) > _LARGE_ATTRIBUTE for value in attributes.values())
    with sealed_file(path, work, libver=("v110", "v110") if large else None) as (file, disk):
        write_attributes(file, schema, attributes, samples)
        writer = ShardWriter(file, disk, schema, samples)
        yield writer
        writer.finish()


def write_attributes(
    file: Any, schema: Schema, attributes: Mapping[str, Any], samples: int
) -> None:
    """Write the attributes of a file, as listed in docs/FORMAT.md."""
    everything = {
        "format": FORMAT,
        "format_version": f"{VERSION[0]}.{VERSION[1]}",
        **attributes,
        "memory": schema.memory,
        "sequence": schema.sequence,
        "samples": samples,
    }
    for name, value in everything.items():
        file.attrs[name] = json.dumps(value) if isinstance(value, (dict, list)) else value


def create_dataset(file: Any, field: Field, samples: int) -> Any:
    """Create the HDF5 dataset that holds a field of all samples, with its attributes."""
    if field.storage == ENCODED:
        dataset = file.create_dataset(field.name, (samples,), h5py.vlen_dtype(np.uint8))
    elif field.storage == DEFLATE:
        dataset = file.create_dataset(
            field.name,
            (samples, *field.shape),
            field.dtype,
            chunks=(1, *field.shape),
            compression="gzip",
            compression_opts=_LEVEL,
        )
    else:
        dataset = file.create_dataset(field.name, (samples, *field.shape), field.dtype)
    dataset.attrs.update(field.attributes())
    return dataset


def _write_rows(dataset: Any, start: int, rows: Array) -> None:
    if rows.dtype == object and len({len(row) for row in rows}) == 1:
        # h5py would treat arrays of equal length, even a single one, as a matrix.
        for i, row in enumerate(rows):
            dataset[start + i] = row
    else:
        dataset[start : start + len(rows)] = rows


def _chunks(dataset: Any, rows: Iterable[int]) -> list[bytes]:
    rest = (0,) * (dataset.ndim - 1)
    return [dataset.id.read_direct_chunk((int(i), *rest))[1] for i in rows]


def _new_block(field: Field) -> Array:
    if field.storage == ENCODED:
        return np.zeros(_BLOCK, object)
    return np.zeros((_BLOCK, *field.shape), field.dtype)


def _check_room(field: Field, value: Array) -> None:
    if any(n > room for n, room in zip(value.shape, field.shape, strict=True)):
        raise ValueError(f"{field.name} is {value.shape}, its schema allows {field.shape}")
