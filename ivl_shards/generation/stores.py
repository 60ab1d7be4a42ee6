"""Stores: where the files of a dataset are kept while it is written, on a disk or remotely.

Files are always written to a local disk first. In a folder they then have their final name; for an
address, a finished file is uploaded and the local copy removed. So the workers of a cluster need no
common disk.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from ivl_shards.disk import (
    drop_stale_folders,
    drop_temporary,
    explained,
    is_temporary,
    locked_folder,
    remove_lock,
    temporary_name,
    try_lock,
)
from ivl_shards.errors import UserError
from ivl_shards.format.index import ShardSummary, summarise_shard
from ivl_shards.format.remote_attributes import read_remote_attributes, read_remote_seal
from ivl_shards.format.schema import Schema
from ivl_shards.format.structure import Attributes, read_attributes
from ivl_shards.generation.recipe import require
from ivl_shards.generation.summaries import SUFFIX, read_summary, write_summary
from ivl_shards.remote import (
    Address,
    Location,
    RemoteFile,
    bucket_exists,
    download,
    remote_names,
    remote_size,
    remove,
    upload,
)

_LOCK = "run.lock"
_SCRATCH = "ivl-upload"
# A folder without a lock that is older than this was left behind, not just created.
_STALE = 60.0


class Store(Protocol):
    """The operations on files that the engine needs."""

    def check_target(self, out: Any) -> None:
        """Raise unless a dataset can be written to a location."""

    def exists(self, location: Any) -> bool:
        """Return whether there is a file."""

    def attributes(self, location: Any) -> Attributes:
        """Return the checked attributes of a finished file."""

    def size(self, location: Any) -> int:
        """Return the size of a file in bytes."""

    def free(self, out: Any) -> int | None:
        """Return the free bytes for a dataset; None if there is no limit that we know of."""

    def files(self, folder: Any) -> list[Any]:
        """Return the files in a folder."""

    def remove(self, location: Any) -> None:
        """Remove a file, if that is possible."""

    def drop_leftovers(self, folder: Any) -> None:
        """Remove what only unfinished runs need, among them files still being written."""

    def work_folder(self, folder: Any) -> AbstractContextManager[Path]:
        """Prepare a folder for shards, keep other runs out where possible, and yield a local folder
        for temporary files."""

    def local_copy(self, location: Any) -> AbstractContextManager[Path]:
        """Yield a path with the content of a file, which the caller may move elsewhere."""

    def new_file(self, location: Any) -> AbstractContextManager[Path]:
        """Yield the path to write a file to; it has its final name when the body ends."""

    def publish_summary(self, path: Path, location: Any, schema: Schema) -> None:
        """Store what the index needs to know about the shard that was written to `path`."""

    def summary(self, location: Any, schema: Schema) -> ShardSummary:
        """Return what the index needs to know about a shard."""


def store_of(location: Location) -> Store:
    """Return the store for a location."""
    return RemoteStore() if isinstance(location, Address) else LocalStore()


class LocalStore:
    """Folders on a disk that all workers share."""

    def check_target(self, out: Path) -> None:
        require(out.suffix in (".h5", ".hdf5"), f"{out}: the name of a dataset must end in .h5")
        require(out.parent.is_dir(), f"{out.parent}: no such folder: make it first")
        require(not out.is_dir(), f"{out}: is a folder: give the name of a file")
        if not os.access(out.parent, os.W_OK | os.X_OK):
            raise UserError(f"{out.parent}: not writable: choose another folder")

    def exists(self, location: Path) -> bool:
        return location.exists()

    def attributes(self, location: Path) -> Attributes:
        return read_attributes(location)

    def size(self, location: Path) -> int:
        return location.stat().st_size

    def free(self, out: Path) -> int | None:
        return shutil.disk_usage(out.parent).free

    def files(self, folder: Path) -> list[Path]:
        return sorted(folder.glob("*"))

    def remove(self, location: Path) -> None:
        with contextlib.suppress(OSError):
            location.unlink()

    def drop_leftovers(self, folder: Path) -> None:
        drop_temporary(folder, in_use=True)

    @contextmanager
    def work_folder(self, folder: Path) -> Iterator[Path]:
        lock = folder / _LOCK
        fd = _hold(lock)
        try:
            drop_temporary(folder)
            yield folder
        finally:
            drop_temporary(folder)
            remove_lock(lock, fd)
            with contextlib.suppress(OSError):
                folder.rmdir()  # only if it is empty

    @contextmanager
    def local_copy(self, location: Path) -> Iterator[Path]:
        yield location

    @contextmanager
    def new_file(self, location: Path) -> Iterator[Path]:
        yield location

    def publish_summary(self, path: Path, location: Path, schema: Schema) -> None:
        pass  # the index is written from the shards themselves

    def summary(self, location: Path, schema: Schema) -> ShardSummary:
        return summarise_shard(location, schema)


def _hold(lock: Path) -> int:
    """Lock a file to keep other runs out; return its descriptor. A kill releases the lock."""
    while True:
        try:
            lock.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise explained(lock.parent, error) from None
        try:
            fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            continue  # a run that has just ended removed the folder
        except OSError as error:
            raise explained(lock, error) from None
        # On a file system without locks, the user must not start two runs at once.
        if not try_lock(fd):
            os.close(fd)
            raise UserError(f"{lock.parent}: another run is writing there: wait for it")
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)  # a run that has just ended removed it


class RemoteStore:
    """Addresses of any file system that fsspec knows.

    There are no locks. Two runs of one recipe upload the same bytes, so neither harms the other.
    """

    def check_target(self, out: Address) -> None:
        require(out.suffix in (".h5", ".hdf5"), f"{out}: the name of a dataset must end in .h5")
        if out.is_in_object_store:
            require(bucket_exists(out.bucket), f"{out.bucket}: no such bucket: make it first")

    def exists(self, location: Address) -> bool:
        return remote_size(location) is not None

    def attributes(self, location: Address) -> Attributes:
        return read_remote_attributes(RemoteFile(location))

    def size(self, location: Address) -> int:
        return remote_size(location) or 0

    def free(self, out: Address) -> int | None:
        return None

    def files(self, folder: Address) -> list[Address]:
        return [folder / name for name in remote_names(folder)]

    def remove(self, location: Address) -> None:
        with contextlib.suppress(UserError):
            remove(location)

    def drop_leftovers(self, folder: Address) -> None:
        shard = re.compile(r".+-[0-9a-f]{8}-\d{5,}-of-\d{5,}\.h5" + re.escape(SUFFIX))
        for location in self.files(folder):
            if shard.fullmatch(location.name) or is_temporary(Path(location.name)):
                self.remove(location)

    def work_folder(self, folder: Address) -> AbstractContextManager[Path]:
        return _scratch_folder()

    @contextmanager
    def local_copy(self, location: Address) -> Iterator[Path]:
        with _scratch_folder() as scratch:
            download(location, scratch / location.name)
            yield scratch / location.name

    @contextmanager
    def new_file(self, location: Address) -> Iterator[Path]:
        with _scratch_folder() as scratch:
            path = scratch / location.name
            yield path
            # What the body wrote beside it first, such as summaries, for it counts as complete
            # when the file itself is there.
            for other in sorted(scratch.rglob("*")):
                name = other.relative_to(scratch)
                if other.is_file() and other != path and not name.name.startswith("."):
                    upload(other, location.parent / name.as_posix())
            upload(path, location)

    def publish_summary(self, path: Path, location: Address, schema: Schema) -> None:
        write_summary(path.with_name(path.name + SUFFIX), summarise_shard(path, schema))

    def summary(self, location: Address, schema: Schema) -> ShardSummary:
        seal = read_remote_seal(RemoteFile(location))
        beside = location.with_name(location.name + SUFFIX)
        size = remote_size(beside)
        found = None if size is None else read_summary(RemoteFile(beside, size).fetch(0, size))
        if found is not None and (found.length, found.sha256) == (seal.length, seal.sha256):
            return found
        with self.local_copy(location) as path:
            return summarise_shard(path, schema)


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Yield a new local folder, which is removed at the end; those of killed processes are removed
    as well."""
    # TMPDIR chooses where.
    base = Path(tempfile.gettempdir()) / _SCRATCH
    drop_stale_folders(base, seconds=_STALE)
    with locked_folder(temporary_name(base)) as folder:
        yield folder
