"""Seal: the first 512 bytes of every file, with the length and the checksum of the rest.

HDF5 leaves the first 512 bytes (the "user block") to the application. Ours are plain text:
format and version, the length of the file, and the SHA-256 of everything after the seal. They are
written last, so a file without a seal was never finished, and they are compared byte by byte, so
that every flipped bit is detected.
"""

import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import h5py

from ivl_shards.disk import explained, sync_folder, temporary_name, try_lock
from ivl_shards.errors import Damage, Foreign, UserError, limit_reached
from ivl_shards.format.file_bytes import FileBytes

FORMAT = "ivl-shards"
VERSION = (1, 2)
SEAL_BYTES = 512
_PIECE = 1 << 20


@dataclass(frozen=True)
class Seal:
    """Format version, length and checksum of a file."""

    major: int
    minor: int
    length: int
    sha256: str

    def to_bytes(self) -> bytes:
        """Return the 512 bytes that are written to the file."""
        text = (
            f"{FORMAT} {self.major}.{self.minor}\n"
            f"bytes {self.length}\n"
            f"sha256 {self.sha256}\n"
            "HDF5 follows at byte 512. The checksum is of all bytes from there to the end.\n"
        )
        return text.encode().ljust(SEAL_BYTES - 1) + b"\n"


def write_seal(file: io.FileIO) -> None:
    """Seal an open, finished file and flush it to the disk."""
    length = file.seek(0, os.SEEK_END)
    seal = Seal(*VERSION, length, _sha256(file))
    file.seek(0)
    file.write(seal.to_bytes())
    os.fsync(file.fileno())


def check_regular(path: Path) -> None:
    """Raise if a path is a pipe or a device: reading it could block or never end."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise Foreign(f"{path}: not a regular file")


def read_seal(path: Path) -> Seal:
    """Return the seal of a file after checking format, version and length."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            head = file.read(SEAL_BYTES)
            length = file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        limit = limit_reached(error, f"{path}: ")
        raise limit or UserError(f"{path}: cannot be read: {error.strerror}") from None
    seal = _parse(path, head)
    if (seal.major, 0) > (VERSION[0], 0):
        raise Damage(
            f"{path}: written in format {seal.major}.{seal.minor}, newer than the "
            f"{VERSION[0]}.{VERSION[1]} that this version reads: upgrade ivl"
        )
    if length < seal.length:
        raise Damage(f"{path}: truncated: has {length:,} of {seal.length:,} bytes")
    if length > seal.length:
        raise Damage(f"{path}: {length - seal.length:,} bytes too long")
    return seal


def has_checksum(file: FileBytes, sha256: str) -> bool:
    """Return whether the seal of an open file states this checksum."""
    head = bytes(file.read(0, min(SEAL_BYTES, file.size)))
    return head.split(b"\n")[2:3] == [f"sha256 {sha256}".encode()]


def check_bytes(path: Path) -> None:
    """Read a whole file and compare it with its seal."""
    seal = read_seal(path)
    with path.open("rb", buffering=0) as file:
        head = file.read(SEAL_BYTES)
        if head != seal.to_bytes():
            raise Damage(f"{path}: damaged: the seal (bytes 0 to {SEAL_BYTES - 1}) was changed")
        if _sha256(file) != seal.sha256:
            raise Damage(f"{path}: damaged: its bytes do not match their SHA-256 {seal.sha256}")


def _parse(path: Path, head: bytes) -> Seal:
    lines = head.decode("ascii", "replace").split("\n")
    name, _, version = lines[0].partition(" ")
    if name != FORMAT:
        if not _looks_like_hdf5(path, head):
            raise Foreign(f"{path}: not an HDF5 file of the {FORMAT} format")
        raise Foreign(f"{path}: an HDF5 file, but without the seal of a finished {FORMAT} file")
    try:
        major, minor = (int(part) for part in version.split("."))
        length, sha256 = int(lines[1].removeprefix("bytes ")), lines[2].removeprefix("sha256 ")
    except (ValueError, IndexError):
        raise Damage(f"{path}: damaged: the seal (bytes 0 to 511) cannot be read") from None
    return Seal(major, minor, length, sha256)


def _looks_like_hdf5(path: Path, head: bytes) -> bool:
    return head.startswith(b"\x89HDF") or bool(h5py.is_hdf5(path))


def _sha256(file: io.FileIO) -> str:
    """Return the checksum of everything after the seal."""
    file.seek(SEAL_BYTES)
    hashed = hashlib.sha256()
    piece = memoryview(bytearray(_PIECE))
    while got := file.readinto(piece):
        hashed.update(piece[:got])
    return hashed.hexdigest()


class Disk(io.FileIO):
    """A new file for HDF5 that remembers a failed write and pretends that it succeeded.

    HDF5 handles a full disk badly: it fails again on closing, and once more when the process
    ends. So the error is hidden from it and raised afterwards by `check`, and the temporary file
    is removed.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "x+b")
        self.error: OSError | None = None
        self._position = 0

    def check(self) -> None:
        """Raise the error of the first failed write, if any."""
        if self.error is not None:
            raise self.error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        # HDF5 seeks before each write, and most writes begin where the last one ended.
        if whence != os.SEEK_SET or offset != self._position:
            self._position = super().seek(offset, whence)
        return self._position

    def readinto(self, buffer: Any) -> int:
        got = super().readinto(buffer)
        self._position += got
        return got

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self.error is None:
            try:
                self._write_all(view)
                self._position += len(view)
            except OSError as error:
                self.error = error
                self._position = -1  # unknown
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        if self.error is None:
            try:
                super().truncate(size)
            except OSError as error:
                self.error = error
        return size

    def _write_all(self, view: memoryview) -> None:
        done = 0
        while done < len(view):
            done += super().write(view[done:])


@contextmanager
def sealed_file(
    path: Path, work: Path | None = None, append: Iterable[IO[bytes]] = (), **options: Any
) -> Iterator[tuple[Any, Disk]]:
    """Yield an `h5py.File` to fill and the `Disk` below it, whose `check` raises write errors.

    When the body ends, the file is sealed, flushed and renamed to `path`. Until then it has a
    temporary name in the folder `work`, by default the folder of `path`. After an error nothing
    is left behind. The files in `append` are copied behind the HDF5 content.
    """
    temporary = temporary_name(path, work)
    try:
        disk = Disk(temporary)
    except OSError as error:
        raise explained(path, error) from None
    try_lock(disk.fileno())  # tells other runs that the file is in use
    try:
        with h5py.File(disk, "w", userblock_size=SEAL_BYTES, **options) as file:
            yield file, disk
        _append(disk, append)
        disk.check()
        _publish(disk, temporary, path)
    except (OSError, RuntimeError):
        if disk.error is None:
            raise
        raise explained(path, disk.error) from None
    finally:
        disk.close()
        temporary.unlink(missing_ok=True)


def _append(disk: Disk, files: Iterable[IO[bytes]]) -> None:
    disk.seek(0, os.SEEK_END)
    try:
        for file in files:
            file.seek(0)
            while piece := file.read(_PIECE):
                disk.write(piece)
    except OSError as error:  # what was written to them last did not fit on the disk
        disk.error = disk.error or error


def _publish(disk: Disk, temporary: Path, path: Path) -> None:
    try:
        write_seal(disk)
        disk.check()
        disk.close()  # Windows renames no open file
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise explained(path, error) from None
