"""Columns: one field of one file, read fast where its storage allows.

HDF5 takes about 150 µs for a row, mostly bookkeeping. Where a field is stored plainly, its
place in the file is known once and rows are read from there directly.
"""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.pictures import decode_jpeg
from ivl_shards.format.schema import DEFLATE, ENCODED, PLAIN, Array, Field
from ivl_shards.format.structure import damage_named, inflate, is_one_sample_a_chunk


class Column(Protocol):
    """All rows of a field in one file."""

    def row(self, i: int) -> Array:
        """One value as stored, padding included."""

    def rows(self, indices: Array) -> Array:
        """Several values, in the order asked for."""


class PlainColumn:
    """A contiguous dataset, mapped into memory."""

    def __init__(self, mapped: Array, dataset: Any) -> None:
        start = dataset.id.get_offset()
        stop = start + dataset.size * dataset.dtype.itemsize
        self._map = mapped[start:stop].view(dataset.dtype).reshape(dataset.shape)

    def row(self, i: int) -> Array:
        # With the dots a text keeps its declared length.
        return np.array(self._map[i, ...])

    def rows(self, indices: Array) -> Array:
        return np.asarray(self._map[indices])


class DeflateColumn:
    """A dataset of one gzip chunk a sample; chunks are found and unpacked without HDF5."""

    def __init__(self, mapped: Array, dataset: Any, path: Path) -> None:
        self._bytes = memoryview(mapped.data)
        self._chunks = _chunk_places(dataset)
        self._shape, self._dtype = dataset.shape[1:], dataset.dtype
        self._length = int(np.prod(self._shape)) * self._dtype.itemsize
        self._name = f"{path}: damaged: {dataset.name.strip('/')}"

    def row(self, i: int) -> Array:
        return np.asarray(self.rows(np.array([i]))[0])

    def rows(self, indices: Array) -> Array:
        out = np.empty((len(indices), *self._shape), self._dtype)
        flat = memoryview(out.reshape(-1).view(np.uint8).data)
        # Each is copied at once, while it is still in the processor's cache.
        for k, i in enumerate(indices.tolist()):
            flat[k * self._length : (k + 1) * self._length] = self._unpack(i)
        return out

    def _unpack(self, i: int) -> bytes:
        data = inflate(self._bytes[self._chunks[i]], self._length)
        if data is None or len(data) != self._length:
            raise Damage(f"{self._name} of sample {i} cannot be unpacked")
        return data


class Hdf5Column:
    """Any other storage, through HDF5: bytes of varying length, or a file packed anew."""

    def __init__(self, dataset: Any, path: Path) -> None:
        self._dataset = dataset
        self._path = path

    def row(self, i: int) -> Array:
        with damage_named(self._path):
            return np.asarray(self._dataset[i])

    def rows(self, indices: Array) -> Array:
        # HDF5 wants rows in rising order, each once.
        rising, back = np.unique(indices, return_inverse=True)
        with damage_named(self._path):
            return np.asarray(self._dataset[rising])[back]


def open_column(path: Path, mapped: Array, dataset: Any, field: Field) -> Column:
    """The fastest way to read a field; `mapped` is the whole file as bytes."""
    if field.storage == PLAIN and dataset.id.get_offset() is not None:
        return PlainColumn(mapped, dataset)
    if field.storage == DEFLATE and is_one_sample_a_chunk(dataset):
        return DeflateColumn(mapped, dataset, path)
    return Hdf5Column(dataset, path)


def decode(field: Field, value: Array) -> Array:
    """A stored value as a user wants it."""
    return decode_jpeg(value) if field.storage == ENCODED else value


def map_file(path: Path) -> Array:
    """The bytes of a file, read as they are needed. One map serves all columns: each map keeps
    a file open."""
    return np.memmap(path, np.uint8, "r")


def _chunk_places(dataset: Any) -> list[slice]:
    """Where in the file the chunk of each sample lies."""
    places = [slice(0)] * len(dataset)

    def note(chunk: Any) -> None:
        places[chunk.chunk_offset[0]] = slice(chunk.byte_offset, chunk.byte_offset + chunk.size)

    dataset.id.chunk_iter(note)
    return places
