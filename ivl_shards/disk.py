"""Disk: a file that appears whole under its name, or not at all."""

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from ivl_shards.errors import Stopped, UserError
from ivl_shards.seal import SEAL_BYTES, write_seal

TEMPORARY = ".tmp"


class Disk(io.RawIOBase):
    """A file for HDF5 to write to that remembers a failed write and plays on.

    HDF5 does not survive a full disk well: it fails again on closing and once more when the
    process ends. So it is told that all is well, and the first error is raised afterwards,
    when the file, which nobody has seen yet, is thrown away.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.position = 0
        self.error: OSError | None = None

    def check(self) -> None:
        """Raise the error that a write ran into, if any did."""
        if self.error is not None:
            raise self.error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self.position
        elif whence == os.SEEK_END:
            offset += os.fstat(self.fd).st_size
        self.position = offset
        return offset

    def tell(self) -> int:
        return self.position

    def readinto(self, buffer: Any) -> int:
        got = os.preadv(self.fd, [buffer], self.position)
        self.position += got
        return got

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self.error is None:
            try:
                self._write_all(view)
            except OSError as error:
                self.error = error
        self.position += len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        size = self.position if size is None else size
        if self.error is None:
            try:
                os.ftruncate(self.fd, size)
            except OSError as error:
                self.error = error
        return size

    def _write_all(self, view: memoryview) -> None:
        done = 0
        while done < len(view):
            done += os.pwrite(self.fd, view[done:], self.position + done)


@contextmanager
def sealed_file(path: Path, **options: Any) -> Iterator[tuple[Any, Disk]]:
    """An `h5py.File` to fill, and the disk below it to `check` now and then.

    When the body ends the file is sealed, flushed and gets its name.

    If anything goes wrong nothing is left behind.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    except OSError as error:
        raise explained(path, error) from None
    disk = Disk(fd)
    try:
        with h5py.File(disk, "w", userblock_size=SEAL_BYTES, **options) as file:
            yield file, disk
        disk.check()
        _publish(fd, temporary, path)
    except (OSError, RuntimeError):
        if disk.error is None:
            raise
        raise explained(path, disk.error) from None
    finally:
        os.close(fd)
        temporary.unlink(missing_ok=True)


def _publish(fd: int, temporary: Path, path: Path) -> None:
    try:
        write_seal(fd)
        temporary.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise explained(path, error) from None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last: a rename is only in memory until then."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def explained(path: Path, error: OSError) -> UserError:
    """A failed write in the user's words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Stopped(
            f"{path}: the disk is full: finished shards are kept; free some space and run the "
            "same command again to go on"
        )
    return UserError(f"{path}: cannot be written: {error.strerror or error}")
