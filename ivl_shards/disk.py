"""Disk: a file that appears whole under its name, or not at all."""

import io
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
from filelock import lock_descriptor

from ivl_shards.errors import UserError, limit_reached
from ivl_shards.seal import SEAL_BYTES, write_seal

TEMPORARY = ".tmp"
_OURS = re.compile(r".+\.[0-9a-f]{32}\.tmp")


def temporary_name(path: Path, folder: Path | None = None) -> Path:
    """Return a name that nobody else uses, beside the path or in a folder, to write to before
    the path itself gets its content. Create it exclusively all the same."""
    return (folder or path.parent) / f"{path.name}.{uuid.uuid4().hex}{TEMPORARY}"


def is_temporary(path: Path) -> bool:
    """Whether a name is one of ours for files that are being written."""
    return bool(_OURS.fullmatch(path.name))


def drop_temporary(folder: Path, *, in_use: bool = False) -> None:
    """Remove what killed runs left half-written; with `in_use` also what somebody still writes.

    Other people's files stay, whatever their ending.
    """
    for path in folder.glob(f"*{TEMPORARY}"):
        if is_temporary(path) and (in_use or not _is_in_use(path)):
            with suppress(OSError):
                path.unlink()


def _is_in_use(path: Path) -> bool:
    """Whether a process, on this machine or another, still writes a temporary file."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return True
    try:
        return not try_lock(fd, without=False)
    finally:
        os.close(fd)


def try_lock(fd: int, *, without: bool = True) -> bool:
    """Lock an open file until it is closed or its process ends, unless somebody else has locked
    it; return whether that went well. `without` is the answer on file systems without locks."""
    try:
        return lock_descriptor(fd, blocking=False)
    except OSError:
        return without


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
def sealed_file(path: Path, work: Path | None = None, **options: Any) -> Iterator[tuple[Any, Disk]]:
    """An `h5py.File` to fill, and the disk below it to `check` now and then.

    When the body ends the file is sealed, flushed and gets its name. Until then it is in the
    folder `work` (by default where it will be) under a temporary name.

    If anything goes wrong nothing is left behind.
    """
    temporary = temporary_name(path, work)
    try:
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError as error:
        raise explained(path, error) from None
    try_lock(fd)  # tells other runs that somebody writes here
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
        temporary.replace(path)
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
    return limit_reached(error, f"{path}: ") or UserError(
        f"{path}: cannot be written: {error.strerror or error}"
    )


def write_whole(path: Path, data: bytes, sync: bool = True) -> None:
    """Write a file that appears whole under its name, or not at all: what was there before stays.

    Without `sync` it may be lost if the machine, not only the process, fails right after it.
    """
    # A name that nobody can guess, and that must be new: nothing is written through a link that
    # someone else has put there, and two processes (or hosts) never share one.
    temporary = temporary_name(path)
    try:
        with temporary.open("xb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise explained(path, error) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


_LOCK = ".lock"


@contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """A folder to fill, which gets the name `out` when the body ends well, or is removed.

    A file in it is locked meanwhile, so that other runs know it from one that was left behind.
    """
    temporary = temporary_name(out)
    temporary.mkdir()
    try:
        fd = os.open(temporary / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            try_lock(fd)
            yield temporary
            (temporary / _LOCK).unlink()
            temporary.rename(out)
        finally:
            os.close(fd)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def drop_stale_folders(out: Path) -> None:
    """Remove the folders that killed runs left beside `out` while they were filling them."""
    for folder in out.parent.glob(f"*{TEMPORARY}"):
        ours = folder.name.startswith(f"{out.name}.") and is_temporary(folder)
        if ours and folder.is_dir() and not folder.is_symlink():
            lock = folder / _LOCK
            if lock.exists() and not _is_in_use(lock):
                shutil.rmtree(folder, ignore_errors=True)
            else:
                with suppress(OSError):
                    folder.rmdir()  # made, and killed before anything was in it
