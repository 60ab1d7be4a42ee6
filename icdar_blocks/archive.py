"""Archive: named files in a folder or in a zip file, as the official site hands them out."""

import lzma
import struct
import zipfile
import zlib
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO

from ivl_shards import UserError
from ivl_shards.generation.recipe import require
from ivl_shards.photograph import MOST_BYTES

# The official archives hold 462 files.
_MOST_FILES = 100_000
# What zipfile raises on damaged files is not one family of errors. RuntimeError: encrypted;
# NotImplementedError: packed in a way that Python does not know.
_BROKEN = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    RuntimeError,
    struct.error,
    LookupError,
    OverflowError,
    TypeError,
)


class Archive:
    """The files below a folder or in a zip file, by their names without folders."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def names(self) -> dict[str, str]:
        """Name of each file → where it lies below the root of the archive."""
        if self.path.is_dir():
            paths = (p.relative_to(self.path) for p in self.path.rglob("*") if p.is_file())
            inside = sorted(path.as_posix() for path in paths)
        else:
            inside = sorted(name for name in self._zip.namelist() if not name.endswith("/"))
        require(len(inside) <= _MOST_FILES, f"{self.path}: has more than {_MOST_FILES:,} files")
        # macOS leaves ._NAME beside every file NAME that it packs.
        return {
            PurePosixPath(name).name: name
            for name in inside
            if not PurePosixPath(name).name.startswith(".")
        }

    @cached_property
    def _zip(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except _BROKEN as error:
            raise UserError(f"{self.path}: not a readable zip file: {_line(error)}") from None

    def where(self, name: str) -> str:
        """Return a file's full name, for error messages."""
        return f"{self.path / self.names[name]}"

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Return the bytes of a file; an error if they are more than `most`."""
        try:
            with self._open(name) as file:
                # Not what the archive says of its size: what comes out.
                data = file.read(most + 1)
        except _BROKEN as error:
            raise UserError(f"{self.where(name)}: cannot be read: {_line(error)}") from None
        require(len(data) <= most, f"{self.where(name)}: has more than {most:,} bytes")
        return data

    def _open(self, name: str) -> IO[bytes]:
        if self.path.is_dir():
            return (self.path / self.names[name]).open("rb")
        return self._zip.open(self.names[name])


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def find_archive(root: Path, name: str) -> Archive | None:
    """Return the folder `root/name`, or else the file `root/name.zip`, or None."""
    if (root / name).is_dir():
        return Archive(root / name)
    packed = root / f"{name}.zip"
    return Archive(packed) if packed.is_file() else None
