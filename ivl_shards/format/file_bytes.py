"""File bytes: read ranges of a file, without opening it as HDF5.

A local file is mapped into memory, so a range costs no copy and no system call.
"""

import mmap
from pathlib import Path
from typing import Protocol

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.schema import Array


class FileBytes(Protocol):
    """The bytes of one file."""

    size: int

    def read(self, start: int, stop: int) -> memoryview:
        """Return the bytes [start, stop); raise `Damage` if the file does not have them."""


class MappedFile:
    """A local file, mapped into memory and read on demand."""

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        with path.open("rb") as file:
            self._view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self.size = len(self._view)

    def read(self, start: int, stop: int) -> memoryview:
        check_range(self._name, self.size, start, stop)
        return self._view[start:stop]


def check_range(name: str, size: int, start: int, stop: int) -> None:
    """Raise `Damage` unless a file of this size has the bytes [start, stop)."""
    if not 0 <= start <= stop <= size:
        raise Damage(f"{name}: damaged: a value reaches beyond the end of the file")


def read_array(file: FileBytes, offset: int, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return little-endian numbers or texts that are stored without gaps, (…) as `shape`."""
    kind = np.dtype(dtype).newbyteorder("<")
    count = 1
    for n in shape:
        count *= n  # in Python's integers, which do not overflow
    data = file.read(offset, offset + count * kind.itemsize)
    return np.frombuffer(data, kind).reshape(shape)
