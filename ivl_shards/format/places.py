"""Places: where the values of each sample lie in an HDF5 file.

HDF5 takes about 150 µs for one row, mostly bookkeeping. The places are looked up once, and values
are read directly from there. An index stores the places of all its shards (`index.py`), so that a
row is found without opening its shard as HDF5.
"""

from typing import Any

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.file_bytes import FileBytes
from ivl_shards.format.schema import DEFLATE, ENCODED, PLAIN, Array, Field, Schema
from ivl_shards.format.structure import is_one_sample_a_chunk

Place = int | Array
"""The offset of the first value of a field that is stored without gaps, or the offset and the size
in bytes of each value, (N, 2) uint64."""

# A reference to a value of variable length, and the head of an object in the collection that holds
# it: sections III.E and IV.A.2 of the HDF5 file format specification.
_REFERENCE = np.dtype([("length", "<u4"), ("collection", "<u8"), ("index", "<u4")])
_COLLECTION_HEAD = 16
_OBJECT_HEAD = 16


def file_places(hdf5: Any, schema: Schema, file: FileBytes) -> dict[str, Place]:
    """Return the places of every field of an open file.

    Fields are left out that are stored in another way than our writer does: only HDF5 finds them.
    """
    found = {field.name: _field_place(hdf5, field, file) for field in schema}
    return {name: place for name, place in found.items() if place is not None}


def _field_place(hdf5: Any, field: Field, file: FileBytes) -> Place | None:
    dataset = hdf5[field.name]
    if field.storage == DEFLATE:
        return _chunk_places(dataset) if is_one_sample_a_chunk(dataset) else None
    offset = dataset.id.get_offset()
    if offset is None:
        return None
    if field.storage == ENCODED:
        return _heap_places(file, int(offset), len(dataset), hdf5.userblock_size)
    little_endian = dataset.dtype == dataset.dtype.newbyteorder("<")
    return int(offset) if field.storage == PLAIN and little_endian else None


def _chunk_places(dataset: Any) -> Array | None:
    """Return the place of each sample's chunk; None if one is not packed."""
    places = np.zeros((len(dataset), 2), np.uint64)
    unpacked = False

    def note(chunk: Any) -> None:
        nonlocal unpacked
        unpacked |= bool(chunk.filter_mask)
        places[chunk.chunk_offset[0]] = chunk.byte_offset, chunk.size

    dataset.id.chunk_iter(note)
    return None if unpacked else places


def _heap_places(file: FileBytes, offset: int, rows: int, base: int) -> Array | None:
    """Return the place of each value of variable length; None if they cannot be followed.

    The dataset has a reference for each row: to a collection of objects in the file's global heap,
    and to an object in it.
    """
    size = rows * _REFERENCE.itemsize
    collections: dict[int, dict[int, tuple[int, int]]] = {}
    places = np.zeros((rows, 2), np.uint64)
    try:
        references = np.frombuffer(file.read(offset, offset + size), _REFERENCE).tolist()
        for row, (length, address, index) in enumerate(references):
            if address not in collections:
                collections = {address: _collection(file, base + address)}
            start, room = collections[address][index]
            if length > room:
                return None
            places[row] = start, length
    except (Damage, KeyError):
        return None
    return places


def _collection(file: FileBytes, start: int) -> dict[int, tuple[int, int]]:
    """Return the offset and the size of each object of a global heap collection, by its index."""
    head = bytes(file.read(start, start + _COLLECTION_HEAD))
    if head[:5] != b"GCOL\x01":
        raise Damage("not a collection of objects")
    stop = start + int.from_bytes(head[8:], "little")
    objects: dict[int, tuple[int, int]] = {}
    place = start + _COLLECTION_HEAD
    while place + _OBJECT_HEAD <= stop:
        head = bytes(file.read(place, place + _OBJECT_HEAD))
        index, size = int.from_bytes(head[:2], "little"), int.from_bytes(head[8:], "little")
        if index == 0:  # free space, up to the end
            break
        objects[index] = place + _OBJECT_HEAD, size
        place += _OBJECT_HEAD + (size + 7) // 8 * 8
    return objects
