"""Disk: files and folders that appear under their name complete, or not at all."""

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
    """Return a unique name, beside the path or in a folder, for writing before a final rename.

    Open it with exclusive creation nevertheless.
    """
    return (folder or path.parent) / f"{path.name}.{uuid.uuid4().hex}{TEMPORARY}"


def is_temporary(path: Path) -> bool:
    """Return whether a name was made by `temporary_name`."""
    return bool(_OURS.fullmatch(path.name))


def drop_temporary(folder: Path, *, in_use: bool = False) -> None:
    """Remove temporary files left by killed runs; with `in_use`, also those still being written.

    Files with other names stay, even if they end in .tmp.
    """
    for path in folder.glob(f"*{TEMPORARY}"):
        if is_temporary(path) and (in_use or not _is_in_use(path)):
            with suppress(OSError):
                path.unlink()


def _is_in_use(path: Path) -> bool:
    """Return whether a process, on this machine or another, still writes a temporary file."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return True
    try:
        return not try_lock(fd, without=False)
    finally:
        os.close(fd)


def try_lock(fd: int, *, without: bool = True) -> bool:
    """Try to lock an open file until it is closed or its process ends; return whether it worked.

    `without` is returned on file systems without locks.
    """
    try:
        return lock_descriptor(fd, blocking=False)
    except OSError:
        return without


def remove_lock(lock: Path, fd: int) -> None:
    """Remove a lock file, and unlock it by closing it.

    It is removed while still locked, so that another run that has opened it notices that it is
    gone. Windows removes no open file; there it is closed first, and stays if another run has
    opened it in between.
    """
    removed = _remove(lock)
    os.close(fd)
    if not removed:
        _remove(lock)


def _remove(path: Path) -> bool:
    """Remove a file; return whether it is gone."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk: until then, a rename may be lost in a power failure."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def explained(path: Path, error: OSError, kept: bool = True) -> UserError:
    """Return the error to show to the user for a failed write.

    `kept` is whether finished parts stay for the next run.
    """
    return limit_reached(error, f"{path}: ", kept) or UserError(
        f"{path}: cannot be written: {error.strerror or error}"
    )


def write_whole(path: Path, data: bytes, sync: bool = True) -> None:
    """Write a file atomically: it appears complete, or the previous file stays.

    Without `sync` the new content may be lost if the machine fails right afterwards.
    """
    # The name cannot be guessed and must not exist yet: nothing is written through a link that
    # someone else created, and two processes (or hosts) never share a file.
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
    """Yield a folder to fill; it is renamed to `out` if the body succeeds, otherwise removed.

    A file in it stays locked, so that other runs can tell it from a folder of a killed run.
    """
    temporary = temporary_name(out)
    temporary.mkdir()
    try:
        lock = temporary / _LOCK
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            try_lock(fd)
            yield temporary
        finally:
            remove_lock(lock, fd)
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def drop_stale_folders(out: Path) -> None:
    """Remove the work folders that killed runs left beside `out`."""
    for folder in out.parent.glob(f"*{TEMPORARY}"):
        ours = folder.name.startswith(f"{out.name}.") and is_temporary(folder)
        if ours and folder.is_dir() and not folder.is_symlink():
            lock = folder / _LOCK
            if lock.exists() and not _is_in_use(lock):
                shutil.rmtree(folder, ignore_errors=True)
            else:
                with suppress(OSError):
                    folder.rmdir()  # killed before anything was written
