"""Dataset files: the shards of a dataset, and the rows in each of them.

Files are opened on first use, once in each process. A shard whose places the index has is mapped
into memory, or read by ranges from a server; any other is opened as HDF5.
"""

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ivl_shards.errors import Damage, UserError
from ivl_shards.format.columns import Column, Hdf5Column, empty_rows, placed_column
from ivl_shards.format.file_bytes import FileBytes, MappedFile
from ivl_shards.format.index import stored_tables
from ivl_shards.format.metadata import stored_metadata, stored_versions
from ivl_shards.format.places import Place, file_places
from ivl_shards.format.remote_shard import (
    RemoteBytes,
    RemoteHdf5Shard,
    RemoteShard,
    fetch,
    open_remote,
    rows_at_once,
)
from ivl_shards.format.schema import ENCODED, Array, Schema
from ivl_shards.format.seal import check_regular, has_checksum
from ivl_shards.format.structure import (
    LEAST_BYTES,
    ShardEntry,
    damage_named,
    open_checked,
    stored_entries,
)
from ivl_shards.remote import Address, Location, NoSuchFile, RemoteFile, remote_size

# Shards that are open at a time, because of the limit on open files: mapped ones, and those that
# HDF5 has opened, which take much more memory.
_MAPPED_SHARDS = 512
_HDF5_SHARDS = 32

_Rows = tuple[int, Array, Array]
"""The number of a file, rows in it, and their positions in a list of rows of the dataset."""


@cache
def _most_open(wanted: int) -> int:
    """Return how many shards to keep open: at most a quarter of the limit on open files."""
    try:
        import resource
    except ImportError:  # Windows
        return wanted
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(wanted, max(1, allowed // 4)) if allowed > 0 else wanted


class Shard(Protocol):
    """One open file of samples."""

    def __getitem__(self, name: str) -> Column: ...


class Hdf5Shard:
    """A file whose places are looked up in its HDF5 structure, which is checked first."""

    def __init__(self, path: Path) -> None:
        hdf5, self.attributes, self.schema = open_checked(path)
        try:
            with damage_named(path):
                mapped = MappedFile(path)
                samples = self.attributes["samples"]
                places = file_places(hdf5, self.schema, mapped)
                self._columns: dict[str, Column] = {
                    f.name: placed_column(mapped, f, places[f.name], samples, str(path))
                    if f.name in places
                    else Hdf5Column(hdf5[f.name], path)
                    for f in self.schema
                }
        except UserError:
            hdf5.close()
            raise
        if len(places) == len(self.schema.fields):
            hdf5.close()  # it is not needed any more

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]


class PlacedShard:
    """A file whose places the index has: it is not opened as HDF5."""

    def __init__(
        self, file: FileBytes, name: str, schema: Schema, places: dict[str, Place], samples: int
    ) -> None:
        self._file = file
        self._name = name
        self._schema = schema
        self._places = places
        self._samples = samples
        self._columns: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = placed_column(
                self._file, self._schema[name], self._places[name], self._samples, self._name
            )
        return self._columns[name]


class DatasetFiles:
    """The files of a dataset, each opened on first use, once in each process."""

    def __init__(self, path: Location) -> None:
        self.path = path
        if isinstance(path, Address):
            stream = RemoteFile(path)
            file, self.attributes, self.schema = open_remote(stream)
            self._size = stream.size
        else:
            file, self.attributes, self.schema = open_checked(path)
            self._size = path.stat().st_size
        with file, damage_named(str(path)):
            stored_metadata(self.attributes)
            stored_versions(self.attributes)
            self.entries = stored_entries(self.attributes)
            self._tables = stored_tables(self.attributes, self.schema, self._size)
        self._present = not self.entries
        if not self.entries:
            self.entries = [ShardEntry(path.name, self.attributes["samples"])]
        self.ends = np.cumsum([entry.samples for entry in self.entries])
        self._open: OrderedDict[int, Shard] = OrderedDict()
        self._index: FileBytes | None = None
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": OrderedDict(), "_index": None, "_process": -1}

    def shard_path(self, k: int) -> Location:
        """Return the path of file k."""
        return self.path.parent / self.entries[k].file

    def first(self, k: int) -> int:
        """Return the row of the dataset that is the first one in file k."""
        return int(self.ends[k]) - self.entries[k].samples

    def shard(self, k: int) -> Shard:
        """Return file k, opened if necessary."""
        if self._process != os.getpid():
            # HDF5 handles do not survive a fork; those of the parent are left alone.
            self._open, self._process = OrderedDict(), os.getpid()
        if k in self._open:
            self._open.move_to_end(k)
            return self._open[k]
        shard: Shard | None = self._placed_shard(k)
        most = _most_open(_HDF5_SHARDS if shard is None else _MAPPED_SHARDS)
        if shard is None:
            shard = self.checked_shard(k)
        self._open[k] = shard
        if len(self._open) > most:
            self._open.popitem(last=False)
        return shard

    def close(self) -> None:
        """Forget the open files; they are opened again when they are needed."""
        self._open.clear()

    def _placed_shard(self, k: int) -> Shard | None:
        """Return file k by the places in the index; None if it is not the file they are of."""
        entry = self.entries[k]
        if not self._tables or not entry.sha256:
            return None
        path = self.shard_path(k)
        if isinstance(self.path, Address) and isinstance(path, Address):
            index = RemoteBytes(self.path, self._size)
            return RemoteShard(index, path, entry, self.schema, self._tables, k, self.first(k))
        assert isinstance(path, Path) and isinstance(self.path, Path)
        if shard_size(path) != entry.length:
            return None
        try:
            mapped = MappedFile(path)
        except OSError:
            return None  # what is wrong is said when it is opened as HDF5
        if not has_checksum(mapped, entry.sha256):
            return None
        if self._index is None:
            self._index = MappedFile(self.path)
        places = {
            name: table.shard_place(self._index, k, self.first(k), entry.samples)
            for name, table in self._tables.items()
        }
        return PlacedShard(mapped, str(path), self.schema, places, entry.samples)

    def checked_shard(self, k: int) -> Hdf5Shard | RemoteHdf5Shard:
        """Open file k as HDF5 and check that it belongs to the dataset."""
        path, samples = self.shard_path(k), self.entries[k].samples
        shard_size(path)
        shard = RemoteHdf5Shard(path) if isinstance(path, Address) else Hdf5Shard(path)
        same_recipe = shard.attributes["recipe"] == self.attributes["recipe"]
        if not same_recipe or "shards" in shard.attributes:
            raise Damage(f"{path}: belongs to another dataset than {self.path}")
        if not _same_fields(shard.schema, self.schema):
            raise Damage(f"{path}: has other fields than {self.path}")
        if shard.attributes["samples"] != samples:
            raise self._too_few(k)
        return shard

    def _too_few(self, k: int) -> Damage:
        path, samples = self.shard_path(k), self.entries[k].samples
        return Damage(f"{path}: does not have the {samples:,} samples that {self.path} lists")

    def check_present(self) -> None:
        """Raise if a shard is missing, or too small for its number of samples.

        Call it before allocating a whole column, whose length only the index states.
        """
        if not self._present:
            for k, entry in enumerate(self.entries):
                if shard_size(self.shard_path(k)) < entry.samples * LEAST_BYTES:
                    raise self._too_few(k)
            self._present = True

    def locate(self, row: int) -> tuple[int, int]:
        """Return the file that holds a row of the dataset, and the row in that file."""
        k = int(np.searchsorted(self.ends, row, "right"))
        return k, row - self.first(k)

    def read(self, row: int) -> dict[str, Array]:
        """Return all fields of a row as stored."""
        k, i = self.locate(row)
        shard = self.shard(k)
        self._fetch([f.name for f in self.schema], [(k, np.array([i]), np.array([0]))])
        return {field.name: shard[field.name].row(i) for field in self.schema}

    def gather(self, names: Sequence[str], rows: range | Array) -> dict[str, Array]:
        """Return fields of many rows, in their order."""
        out = {name: empty_rows(self.schema[name], len(rows)) for name in names}
        for k, inside, positions in self._fetched(names, self._by_file(rows)):
            shard = self.shard(k)
            for name in names:
                shard[name].copy_rows(inside, out[name], positions)
        return out

    def _fetched(self, names: Sequence[str], files: Iterable[_Rows]) -> Iterable[_Rows]:
        """Yield the rows of each file; those of a remote dataset are fetched many at a time, so
        that their requests run together."""
        if not isinstance(self.path, Address):
            yield from files
            return
        most = rows_at_once(self.schema, names)
        some: list[_Rows] = []
        for k, rows, positions in files:
            for start in range(0, len(rows), most):
                piece = rows[start : start + most], positions[start : start + most]
                if some and sum(len(each[1]) for each in some) + len(piece[0]) > most:
                    self._fetch(names, some)
                    yield from some
                    some = []
                some.append((k, *piece))
        self._fetch(names, some)
        yield from some

    def _fetch(self, names: Sequence[str], files: Sequence[_Rows]) -> None:
        shards = [(self.shard(k), rows) for k, rows, _ in files]
        remote = [(shard, rows) for shard, rows in shards if isinstance(shard, RemoteShard)]
        fetch([shard.place_ranges(names, rows) for shard, rows in remote])
        try:
            fetch([shard.value_ranges(names, rows) for shard, rows in remote])
        except NoSuchFile as error:
            raise _missing(error.address) from None

    def _by_file(self, rows: range | Array) -> Iterator[_Rows]:
        """Yield for each file that has some of the rows: its number, the rows in it, and their
        positions in the list."""
        if isinstance(rows, range) and rows.step == 1:  # without an array of all of them
            first, last = np.searchsorted(self.ends, [rows.start, rows.stop - 1], "right")
            for k in range(first, last + 1 if rows else first):
                start = max(rows.start, self.first(k))
                stop = min(rows.stop, int(self.ends[k]))
                inside = np.arange(start, stop)
                yield k, inside - self.first(k), inside - rows.start
            return
        numbers = np.asarray(rows)
        files = np.searchsorted(self.ends, numbers, "right")
        order = np.argsort(files, kind="stable")
        for positions in np.split(order, np.flatnonzero(np.diff(files[order])) + 1):
            if len(positions):
                k = int(files[positions[0]])
                yield k, numbers[positions] - self.first(k), positions


def shard_size(path: Location) -> int:
    """Return the size of a shard in bytes; raise if it is missing or not a regular file."""
    if isinstance(path, Address):
        size = remote_size(path)
        if size is None:
            raise _missing(path)
        return size
    check_regular(path)
    try:
        return path.stat().st_size
    except OSError:
        raise _missing(path) from None


def _missing(path: Location) -> Damage:
    return Damage(f"{path}: shard is missing: put it back, or make the dataset again")


def _same_fields(one: Schema, other: Schema) -> bool:
    """Return whether two schemas are equal but for compression, which an index does not know."""
    plain = [
        {replace(f, storage=ENCODED if f.storage == ENCODED else "") for f in schema}
        for schema in (one, other)
    ]
    return plain[0] == plain[1] and (one.memory, one.sequence) == (other.memory, other.sequence)
