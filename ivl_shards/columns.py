"""Columns: one field of one file, read fast where its storage allows.

HDF5 takes about 150 µs for a row, mostly bookkeeping. Where a field is stored plainly, its
place in the file is known once and rows are read from there directly.
"""

import os
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from zlib_ng import zlib_ng

from ivl_shards.errors import Damage
from ivl_shards.schema import DEFLATE, ENCODED, PLAIN, Array, Field

_UnpackError: Any = zlib_ng.error


class Column(Protocol):
    """All rows of a field in one file."""

    def row(self, i: int) -> Array:
        """One value as stored, padding included."""

    def rows(self, indices: Array) -> Array:
        """Several values, in the order asked for."""


class PlainColumn:
    """A contiguous dataset, mapped into memory."""

    def __init__(self, file: "Descriptor", dataset: Any) -> None:
        start = dataset.id.get_offset()
        stop = start + dataset.size * dataset.dtype.itemsize
        self._map = file.map[start:stop].view(dataset.dtype).reshape(dataset.shape)

    def row(self, i: int) -> Array:
        return np.array(self._map[i])

    def rows(self, indices: Array) -> Array:
        return np.asarray(self._map[indices])


class Descriptor:
    """An open file, closed with its last user. Reading at a position is safe in any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # One map for all columns: each would keep a file open.
        self.map: Array = np.memmap(path, np.uint8, "r")
        self._fd = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)

    def read(self, position: int, length: int) -> bytes:
        """Bytes of the file."""
        return os.pread(self._fd, length, position)


class DeflateColumn:
    """A dataset of one gzip chunk a sample; chunks are read and unpacked without HDF5."""

    def __init__(self, file: Descriptor, dataset: Any) -> None:
        self._file, self._name = file, dataset.name.strip("/")
        self._shape, self._dtype = dataset.shape[1:], dataset.dtype
        self._bytes = int(np.prod(self._shape)) * self._dtype.itemsize
        self._places = _chunk_places(dataset)  # (N, 2): position, length

    def row(self, i: int) -> Array:
        return np.frombuffer(self._unpack(i), self._dtype).reshape(self._shape).copy()

    def rows(self, indices: Array) -> Array:
        out = np.empty((len(indices), *self._shape), self._dtype)
        flat = out.reshape(len(indices), -1)
        for k, i in enumerate(indices):
            flat[k] = np.frombuffer(self._unpack(int(i)), self._dtype)
        return out

    def _unpack(self, i: int) -> bytes:
        position, length = self._places[i]
        try:
            data: bytes = zlib_ng.decompress(self._file.read(position, length), bufsize=self._bytes)
        except _UnpackError:
            data = b""
        if len(data) != self._bytes:
            raise Damage(
                f"{self._file.path}: damaged: {self._name} of sample {i} cannot be unpacked"
            )
        return data


class Hdf5Column:
    """Any other storage, through HDF5: bytes of varying length, or a file packed anew."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def row(self, i: int) -> Array:
        return np.asarray(self._dataset[i])

    def rows(self, indices: Array) -> Array:
        # HDF5 wants rows in rising order, each once.
        rising, back = np.unique(indices, return_inverse=True)
        return np.asarray(self._dataset[rising])[back]


def open_column(file: Descriptor, dataset: Any, field: Field) -> Column:
    """The fastest way to read a field."""
    if field.storage == PLAIN and dataset.id.get_offset() is not None:
        return PlainColumn(file, dataset)
    one_sample_chunks = field.storage == DEFLATE and dataset.chunks == (1, *dataset.shape[1:])
    if one_sample_chunks and dataset.compression == "gzip" and not dataset.shuffle:
        return DeflateColumn(file, dataset)
    return Hdf5Column(dataset)


def decode_image(data: Array) -> Array:
    """Pixels of an encoded photograph: (H, W) grey or (H, W, 3) RGB."""
    pixels = cv2.imdecode(data, cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise Damage("not a readable image")
    return np.asarray(pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB))


def decode(field: Field, value: Array) -> Array:
    """A stored value as a user wants it."""
    return decode_image(value) if field.storage == ENCODED else value


def _chunk_places(dataset: Any) -> Array:
    places = np.zeros((len(dataset), 2), np.int64)

    def note(chunk: Any) -> None:
        places[chunk.chunk_offset[0]] = chunk.byte_offset, chunk.size

    dataset.id.chunk_iter(note)
    return places
