"""Columns: one field of one file, read from its places or, where they are unknown, by HDF5."""

from typing import Any, Protocol

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.file_bytes import FileBytes, read_array
from ivl_shards.format.pictures import decode_jpeg
from ivl_shards.format.places import Place
from ivl_shards.format.schema import ENCODED, Array, Field
from ivl_shards.format.structure import damage_named, inflate
from ivl_shards.remote import Location


class Column(Protocol):
    """All rows of a field in one file."""

    def row(self, i: int) -> Array:
        """Return one value as stored, with padding."""

    def copy_rows(self, indices: Array, out: Array, positions: Array) -> None:
        """Copy several values to the given positions of an array."""


class PlainColumn:
    """Values that are stored one after the other."""

    def __init__(self, file: FileBytes, offset: int, field: Field, samples: int) -> None:
        self._values = read_array(file, offset, field.dtype, (samples, *field.shape))

    def row(self, i: int) -> Array:
        # With the ellipsis a text keeps its declared length.
        return np.array(self._values[i, ...])

    def copy_rows(self, indices: Array, out: Array, positions: Array) -> None:
        if len(indices) == 1:  # several times faster than with arrays of one index
            out[positions[0]] = self._values[indices[0]]
        else:
            out[positions] = self._values[indices]


class DeflateColumn:
    """Values that are packed one by one."""

    def __init__(self, file: FileBytes, places: Array, field: Field, name: str) -> None:
        self._file = file
        self._places = places
        self._shape, self._dtype = field.shape, np.dtype(field.dtype).newbyteorder("<")
        self._length = int(np.prod(self._shape)) * self._dtype.itemsize
        self._name = f"{name}: damaged: {field.name}"

    def row(self, i: int) -> Array:
        return np.frombuffer(bytearray(self._unpack(i)), self._dtype).reshape(self._shape)

    def copy_rows(self, indices: Array, out: Array, positions: Array) -> None:
        flat, length = memoryview(out.reshape(-1).view(np.uint8).data), self._length
        # Each is copied immediately, while it is still in the CPU cache.
        for i, position in zip(indices.tolist(), positions.tolist(), strict=True):
            flat[position * length : (position + 1) * length] = self._unpack(i)

    def _unpack(self, i: int) -> bytes:
        start, size = self._places[i].tolist()
        data = inflate(self._file.read(start, start + size), self._length)
        if data is None or len(data) != self._length:
            raise Damage(f"{self._name} of sample {i} cannot be unpacked")
        return data


class EncodedColumn:
    """The bytes of photographs."""

    def __init__(self, file: FileBytes, places: Array) -> None:
        self._file = file
        self._places = places

    def row(self, i: int) -> Array:
        start, size = self._places[i].tolist()
        return np.frombuffer(bytearray(self._file.read(start, start + size)), np.uint8)

    def copy_rows(self, indices: Array, out: Array, positions: Array) -> None:
        for i, position in zip(indices.tolist(), positions.tolist(), strict=True):
            out[position] = self.row(i)


class Hdf5Column:
    """Values in any other storage, such as that of a file that was repacked."""

    def __init__(self, dataset: Any, path: Location) -> None:
        self._dataset = dataset
        self._path = path

    def row(self, i: int) -> Array:
        with damage_named(str(self._path)):
            return np.asarray(self._dataset[i])

    def copy_rows(self, indices: Array, out: Array, positions: Array) -> None:
        # HDF5 requires rows in increasing order, each once.
        rising, back = np.unique(indices, return_inverse=True)
        with damage_named(str(self._path)):
            out[positions] = np.asarray(self._dataset[rising])[back]


def placed_column(
    file: FileBytes, field: Field, place: Place, samples: int, name: str
) -> PlainColumn | DeflateColumn | EncodedColumn:
    """Return the column of a field whose place is known; `name` is the file's, for messages."""
    if isinstance(place, int):
        return PlainColumn(file, place, field, samples)
    if field.storage == ENCODED:
        return EncodedColumn(file, place)
    return DeflateColumn(file, place, field, name)


def empty_rows(field: Field, rows: int) -> Array:
    """Return an array for the values of several rows of a field."""
    if field.storage == ENCODED:
        return np.empty(rows, object)
    return np.empty((rows, *field.shape), np.dtype(field.dtype).newbyteorder("<"))


def decode(field: Field, value: Array) -> Array:
    """Return a stored value, with photographs decoded to pixels."""
    return decode_jpeg(value) if field.storage == ENCODED else value
