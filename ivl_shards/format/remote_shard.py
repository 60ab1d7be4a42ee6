"""Remote shards: read samples of a dataset at an address, with few requests.

The places of values are in the index. So a batch takes two rounds of requests, whatever its size:
one for the places that are not known yet, one for the values. The requests of a round run at the
same time. What was read is kept in blocks, so neighbouring labels cost nothing.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import h5py
import numpy as np

from ivl_shards.errors import Damage, UserError
from ivl_shards.format.columns import Column, DeflateColumn, EncodedColumn, Hdf5Column
from ivl_shards.format.file_bytes import FileBytes, check_range, read_array
from ivl_shards.format.index import Table
from ivl_shards.format.remote_attributes import read_remote_seal
from ivl_shards.format.schema import DEFLATE, ENCODED, PLAIN, Array, Field, Schema
from ivl_shards.format.seal import SEAL_BYTES
from ivl_shards.format.structure import (
    MAX_SAMPLE_BYTES,
    Attributes,
    ShardEntry,
    check_file,
    damage_named,
    is_one_sample_a_chunk,
)
from ivl_shards.remote import Address, RemoteFile, fetch_ranges

_BLOCK = 4096
_KEPT_BLOCKS = 16_384
"""Blocks in memory, of all files of all datasets: 64 MB."""
# Ranges that are as near as this are fetched together: a request costs more than these bytes.
_GAP = 4 * _BLOCK

# Bytes of an encoded photograph, roughly.
_PHOTOGRAPH = 1 << 16

_blocks: OrderedDict[tuple[Address, int], bytes] = OrderedDict()


class RemoteBytes:
    """The bytes of a remote file, in blocks that are kept for a while."""

    def __init__(self, address: Address, size: int) -> None:
        self.address = address
        self.size = size

    def missing(self, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield ranges of whole blocks that are to be fetched before these ranges can be read."""
        wanted = sorted(
            {
                k
                for start, stop in ranges
                for k in range(start // _BLOCK, -(-stop // _BLOCK))
                if (self.address, k) not in _blocks
            }
        )
        first = last = -1
        for k in wanted:
            if first >= 0 and (k - last - 1) * _BLOCK > _GAP:
                yield first * _BLOCK, min((last + 1) * _BLOCK, self.size)
                first = k
            first, last = (k if first < 0 else first), k
        if first >= 0:
            yield first * _BLOCK, min((last + 1) * _BLOCK, self.size)

    def keep(self, start: int, data: bytes) -> None:
        """Keep bytes that were fetched from `start`, which is the beginning of a block."""
        for k in range(0, len(data), _BLOCK):
            _blocks[self.address, (start + k) // _BLOCK] = data[k : k + _BLOCK]

    def read(self, start: int, stop: int) -> memoryview:
        """Return the bytes [start, stop)."""
        check_range(str(self.address), self.size, start, stop)
        fetch([(self, [(start, stop)])])
        first = start // _BLOCK
        pieces = [_blocks[self.address, k] for k in range(first, -(-stop // _BLOCK))]
        return memoryview(b"".join(pieces))[start - first * _BLOCK : stop - first * _BLOCK]


def fetch(wanted: Sequence[tuple[RemoteBytes, Sequence[tuple[int, int]]]]) -> None:
    """Fetch ranges of several files at once, as far as they are not in memory."""
    while len(_blocks) > _KEPT_BLOCKS:
        _blocks.popitem(last=False)
    pending = [(file, *place) for file, ranges in wanted for place in file.missing(ranges)]
    if not pending:
        return
    found = fetch_ranges([(file.address, start, stop) for file, start, stop in pending])
    for (file, start, _), data in zip(pending, found, strict=True):
        file.keep(start, data)


# --- a shard by the places in the index --------------------------------------------------


class RemoteShard:
    """A shard whose places the index has."""

    def __init__(
        self,
        index: RemoteBytes,
        address: Address,
        entry: ShardEntry,
        schema: Schema,
        tables: Mapping[str, Table],
        number: int,
        first: int,
    ) -> None:
        self._index = index
        self._file = RemoteBytes(address, entry.length)
        self._entry = entry
        self._schema = schema
        self._tables = tables
        self._number = number
        self._first = first
        self._checked = False
        self._columns: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if not self._checked:
            self._check()
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def place_ranges(
        self, names: Sequence[str], rows: Array
    ) -> tuple[RemoteBytes, list[tuple[int, int]]]:
        """Return the ranges of the index that tell where these values are."""
        ranges = []
        for name in names:
            table = self._tables[name]
            if table.each_sample:
                starts = (table.offset + 16 * (self._first + rows)).tolist()
                ranges += [(start, start + 16) for start in starts]
            else:
                start = table.offset + 8 * self._number
                ranges.append((start, start + 8))
        return self._index, ranges

    def value_ranges(
        self, names: Sequence[str], rows: Array
    ) -> tuple[RemoteBytes, list[tuple[int, int]]]:
        """Return the ranges of the shard that hold these values, and its seal."""
        ranges = [(0, min(SEAL_BYTES, self._file.size))]
        for name in names:
            if _is_run(rows) and not self._tables[name].each_sample:
                first, last = (self._value_range(name, int(row)) for row in rows[[0, -1]])
                ranges.append((first[0], last[1]))
            else:
                ranges += [self._value_range(name, row) for row in rows.tolist()]
        return self._file, ranges

    def _value_range(self, name: str, row: int) -> tuple[int, int]:
        if self._tables[name].each_sample:
            start, size = self._place(name, row)
        else:
            size = _stored_size(self._schema[name])
            start = self._offset(name) + row * size
        check_range(str(self._file.address), self._file.size, start, start + size)
        return start, start + size

    def _offset(self, name: str) -> int:
        start = self._tables[name].offset + 8 * self._number
        return int(read_array(self._index, start, "u8", (1,))[0])

    def _place(self, name: str, row: int) -> tuple[int, int]:
        start = self._tables[name].offset + 16 * (self._first + row)
        place, size = read_array(self._index, start, "u8", (2,)).tolist()
        if size > MAX_SAMPLE_BYTES:
            raise Damage(f"{self._index.address}: damaged: a place of '{name}' is too large")
        return place, size

    def _column(self, name: str) -> Column:
        field = self._schema[name]
        if not self._tables[name].each_sample:
            return RowColumn(self._file, self._offset(name), field)
        places: Any = _Places(self, name)
        if field.storage == ENCODED:
            return EncodedColumn(self._file, places)
        return DeflateColumn(self._file, places, field, str(self._file.address))

    def place(self, name: str, row: int) -> Array:
        """Return offset and size of a value that has its own place."""
        return np.array(self._place(name, row), np.uint64)

    def _check(self) -> None:
        """Raise unless the seal is that of the shard whose places the index has."""
        lines = bytes(self._file.read(0, min(SEAL_BYTES, self._file.size))).split(b"\n")
        stated = [f"bytes {self._entry.length}".encode(), f"sha256 {self._entry.sha256}".encode()]
        if lines[1:3] != stated:
            raise Damage(
                f"{self._file.address}: is not the shard that {self._index.address} lists: upload "
                "both again"
            )
        self._checked = True


class _Places:
    """The places of one field, read from the index one by one."""

    def __init__(self, shard: RemoteShard, name: str) -> None:
        self._shard, self._name = shard, name

    def __getitem__(self, i: int) -> Array:
        return self._shard.place(self._name, i)


class RowColumn:
    """Values that are stored one after the other, read one by one."""

    def __init__(self, file: FileBytes, offset: int, field: Field) -> None:
        self._file, self._offset, self._field = file, offset, field
        self._size = _stored_size(field)

    def row(self, i: int) -> Array:
        return np.array(self._rows(i, i + 1)[0, ...])

    def copy_rows(self, indices: Array, out: Array, positions: Array) -> None:
        if _is_run(indices):
            out[positions] = self._rows(int(indices[0]), int(indices[-1]) + 1)
            return
        for i, position in zip(indices.tolist(), positions.tolist(), strict=True):
            out[position] = self._rows(i, i + 1)[0]

    def _rows(self, start: int, stop: int) -> Array:
        shape = (stop - start, *self._field.shape)
        return read_array(self._file, self._offset + start * self._size, self._field.dtype, shape)


def _stored_size(field: Field) -> int:
    return int(np.prod(field.shape)) * np.dtype(field.dtype).itemsize


def _is_run(rows: Array) -> bool:
    """Return whether rows follow one another."""
    return len(rows) > 1 and bool((np.diff(rows) == 1).all())


def rows_at_once(schema: Schema, names: Sequence[str]) -> int:
    """Return how many samples to fetch in one round, so that they fit into the kept blocks."""
    sizes = [
        _PHOTOGRAPH if schema[n].storage == ENCODED else _stored_size(schema[n]) for n in names
    ]
    return max(1, _KEPT_BLOCKS * _BLOCK // 4 // sum(sizes))


# --- a file that is read by HDF5 ---------------------------------------------------------


class RemoteHdf5Shard:
    """A remote file without an index, read by HDF5, which asks for the blocks that it needs."""

    def __init__(self, address: Address) -> None:
        self._stream = RemoteFile(address)
        hdf5, self.attributes, self.schema = open_remote(self._stream)
        file = RemoteBytes(address, self._stream.size)
        self._columns = {
            field.name: self._column(hdf5[field.name], file, field) for field in self.schema
        }

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def _column(self, dataset: Any, file: RemoteBytes, field: Field) -> Column:
        name = str(file.address)
        offset = dataset.id.get_offset() if dataset.chunks is None else None
        if field.storage == DEFLATE and is_one_sample_a_chunk(dataset):
            places: Any = _ChunkPlaces(dataset, name)
            return DeflateColumn(file, places, field, name)
        if field.storage == PLAIN and offset is not None:
            return RowColumn(file, int(offset), field)
        return Hdf5Column(dataset, file.address)


class _ChunkPlaces:
    """The places of chunks, looked up by HDF5 one by one."""

    def __init__(self, dataset: Any, name: str) -> None:
        self._dataset, self._name = dataset, name

    def __getitem__(self, i: int) -> Array:
        with damage_named(self._name):
            rest = (0,) * (self._dataset.ndim - 1)
            chunk = self._dataset.id.get_chunk_info_by_coord((i, *rest))
            if chunk.byte_offset is None or chunk.filter_mask or chunk.size > MAX_SAMPLE_BYTES:
                raise Damage(f"damaged: sample {i} is not packed as expected")
            return np.array([chunk.byte_offset, chunk.size], np.uint64)


def open_remote(stream: RemoteFile) -> tuple[Any, Attributes, Schema]:
    """Open a remote file as HDF5 and check everything but the values of the samples."""
    read_remote_seal(stream)
    try:
        with damage_named(str(stream.address)):
            file = h5py.File(stream, "r")
            try:
                return file, *check_file(stream, file)
            except BaseException:
                file.close()
                raise
    except UserError:
        if stream.error is not None:
            raise stream.error from None
        raise
