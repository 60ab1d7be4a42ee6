"""Columns: one field of one file, read without HDF5 where its storage allows.

HDF5 takes about 150 µs for a row, mostly bookkeeping. If a field is stored contiguously or as one
chunk per sample, its offsets in the file are looked up once, and rows are read from there.
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
        """Return one value as stored, with padding."""

    def rows(self, indices: Array) -> Array:
        """Return several values, in the order of the indices."""


class PlainColumn:
    """A contiguous dataset, mapped into memory."""

    def __init__(self, mapped: Array, dataset: Any) -> None:
        start = dataset.id.get_offset()
        stop = start + dataset.size * dataset.dtype.itemsize
        self._map = mapped[start:stop].view(dataset.dtype).reshape(dataset.shape)

    def row(self, i: int) -> Array:
        # With the ellipsis a text keeps its declared length.
        return np.array(self._map[i, ...])

    def rows(self, indices: Array) -> Array:
        return np.asarray(self._map[indices])


class DeflateColumn:
    """A dataset with one gzip chunk per sample, which is located and unpacked without HDF5."""

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
        # Each is copied immediately, while it is still in the CPU cache.
        for k, i in enumerate(indices.tolist()):
            flat[k * self._length : (k + 1) * self._length] = self._unpack(i)
        return out

    def _unpack(self, i: int) -> bytes:
        data = inflate(self._bytes[self._chunks[i]], self._length)
        if data is None or len(data) != self._length:
            raise Damage(f"{self._name} of sample {i} cannot be unpacked")
        return data


class Hdf5Column:
    """Any other storage, read through HDF5: variable-length bytes, or a repacked file."""

    def __init__(self, dataset: Any, path: Path) -> None:
        self._dataset = dataset
        self._path = path

    def row(self, i: int) -> Array:
        with damage_named(self._path):
            return np.asarray(self._dataset[i])

    def rows(self, indices: Array) -> Array:
        # HDF5 requires rows in increasing order, each once.
        rising, back = np.unique(indices, return_inverse=True)
        with damage_named(self._path):
            return np.asarray(self._dataset[rising])[back]


def open_column(path: Path, mapped: Array, dataset: Any, field: Field) -> Column:
    """Return the fastest column for a field; `mapped` is the whole file as bytes."""
    if field.storage == PLAIN and dataset.id.get_offset() is not None:
        return PlainColumn(mapped, dataset)
    if field.storage == DEFLATE and is_one_sample_a_chunk(dataset):
        return DeflateColumn(mapped, dataset, path)
    return Hdf5Column(dataset, path)


def decode(field: Field, value: Array) -> Array:
    """Return a stored value, with photographs decoded to pixels."""
    return decode_jpeg(value) if field.storage == ENCODED else value


def map_file(path: Path) -> Array:
    """Map a file into memory, read on demand. All columns share one map: each keeps a file open."""
    return np.memmap(path, np.uint8, "r")


def _chunk_places(dataset: Any) -> list[slice]:
    """Return the position in the file of each sample's chunk."""
    places = [slice(0)] * len(dataset)

    def note(chunk: Any) -> None:
        places[chunk.chunk_offset[0]] = slice(chunk.byte_offset, chunk.byte_offset + chunk.size)

    dataset.id.chunk_iter(note)
    return places
