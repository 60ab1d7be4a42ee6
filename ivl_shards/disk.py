"""Disk: a file that appears whole under its name, or not at all."""

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor

from ivl_shards.errors import UserError, limit_reached

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
