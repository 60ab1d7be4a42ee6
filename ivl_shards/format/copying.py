"""Copying: samples of an existing dataset, appended to another file as they are stored.

Compressed maps and JPEG bytes are copied without unpacking them. Only values that need more
padding than before are unpacked and compressed again.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.reader import Dataset, open_dataset
from ivl_shards.format.schema import DEFLATE, ENCODED, Array, Field, Schema
from ivl_shards.format.seal import check_bytes
from ivl_shards.format.structure import damage_named, is_one_sample_a_chunk, open_checked
from ivl_shards.format.writer import ShardWriter, pack

Rows = range | Array
"""Rows of a dataset in increasing order."""

# Samples that are copied together, and the bytes that they may take when unpacked.
_BLOCK, _BLOCK_BYTES = 256, 1 << 25


def file_schema(dataset: Dataset) -> Schema:
    """Return the fields of a dataset with their compression, which an index does not know."""
    return open_dataset(dataset.shards[0]).schema


def copy_rows(
    writer: ShardWriter, schema: Schema, path: Path, rows: Rows, before: Callable[[], None]
) -> None:
    """Append rows of the dataset at a path to a file of this schema, which may have more padding.

    Every file that is read is first compared with its seal, so that damage is not copied.
    `before` is called every few samples.
    """
    source = _opened(path, _state(path), threading.get_ident())
    block = _block_size(schema, source.schema)
    for shard, first, local in source.by_shard(rows):
        _check_once(shard, _state(shard))
        with _packed_fields(shard, schema, source.schema) as fields:
            for start in range(0, len(local), block):
                before()
                chosen = np.asarray(local[start : start + block])
                part = source.dataset[first + int(chosen[0]) : first + int(chosen[-1]) + 1]
                _copy_block(writer, schema, part[chosen - chosen[0]], fields, chosen)


class _Source:
    """An open dataset to copy from."""

    def __init__(self, path: Path) -> None:
        self.dataset = open_dataset(path)
        self.schema = file_schema(self.dataset)
        self._shards, self._sizes = self.dataset.shards, self.dataset.shard_sizes
        self._ends = np.cumsum(self._sizes)

    def by_shard(self, rows: Rows) -> Iterator[tuple[Path, int, Rows]]:
        """Yield the shards that hold some of the rows: path, first row, and rows in that file."""
        done = 0
        while done < len(rows):
            k = int(np.searchsorted(self._ends, rows[done], "right"))
            end, first = int(self._ends[k]), int(self._ends[k]) - self._sizes[k]
            if isinstance(rows, range):
                upto = min(len(rows), end - rows.start)
                local: Rows = range(rows[done] - first, rows.start + upto - first)
            else:
                upto = int(np.searchsorted(rows, end, "left"))
                local = rows[done:upto] - first
            yield self._shards[k], first, local
            done = upto


def _copy_block(
    writer: ShardWriter, schema: Schema, part: Dataset, fields: dict[str, Any], local: Array
) -> None:
    rows: dict[str, Array] = {}
    packed: dict[str, list[bytes]] = {}
    for field in schema:
        if field.storage != DEFLATE:
            rows[field.name] = _padded(field, part.column(field.name))
        elif field.name in fields:
            packed[field.name] = _read_chunks(field, fields[field.name], part, local)
        else:
            packed[field.name] = [pack(field, value) for value in part.column(field.name)]
    writer.append_stored(rows, packed)


def _state(path: Path) -> tuple[int, int]:
    """Return what changes when a file is replaced: its size and time."""
    try:
        found = path.stat()
    except OSError:
        raise Damage(f"{path}: shard is missing: put it back, or make the dataset again") from None
    return found.st_size, found.st_mtime_ns


@lru_cache(maxsize=8)
def _opened(path: Path, state: tuple[int, int], thread: int) -> _Source:
    """Open a dataset once in each thread, not for each shard that is written."""
    return _Source(path)


@lru_cache(maxsize=1 << 16)
def _check_once(path: Path, state: tuple[int, int]) -> None:
    """Compare a file with its seal, once in each process."""
    check_bytes(path)


@contextmanager
def _packed_fields(path: Path, schema: Schema, source: Schema) -> Iterator[dict[str, Any]]:
    """Yield the HDF5 datasets of a file whose chunks can be copied as they are."""
    file, _, _ = open_checked(path)
    try:
        with damage_named(path):
            found = {
                field.name: file[field.name]
                for field in schema
                if field.storage == DEFLATE
                and field.shape == source[field.name].shape
                and is_one_sample_a_chunk(file[field.name])
            }
        yield found
    finally:
        file.close()


def _read_chunks(field: Field, dataset: Any, part: Dataset, local: Array) -> list[bytes]:
    rest = (0,) * len(field.shape)
    with damage_named(Path(dataset.file.filename)):
        chunks = [dataset.id.read_direct_chunk((i, *rest)) for i in local.tolist()]
    if any(skipped for skipped, _ in chunks):  # other programs may leave a chunk uncompressed
        return [pack(field, value) for value in part.column(field.name)]
    return [data for _, data in chunks]


def _block_size(schema: Schema, source: Schema) -> int:
    """Return how many samples to copy at a time, so that those unpacked take little memory."""
    size = sum(
        math.prod(f.shape) * np.dtype(f.dtype).itemsize
        for f in schema
        if f.storage != ENCODED and (f.storage != DEFLATE or f.shape != source[f.name].shape)
    )
    return max(1, min(_BLOCK, _BLOCK_BYTES // max(size, 1)))


def _padded(field: Field, values: Array) -> Array:
    """Return the values of several samples with the padding of a field."""
    shape = (len(values), *field.shape)
    if field.storage == ENCODED or values.shape == shape:
        return values
    padded = np.zeros(shape, field.dtype)
    padded[tuple(slice(0, n) for n in values.shape)] = values
    return padded
