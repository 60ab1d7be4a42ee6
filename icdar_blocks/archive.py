"""Archive: named files in a folder or in a zip file, as the official site hands them out."""

import zipfile
import zlib
from functools import cached_property
from pathlib import Path, PurePosixPath

from ivl_shards import UserError
from ivl_shards.recipe import require

# Keeps a zip file that unpacks to terabytes from filling the memory.
_MOST_BYTES = 500_000_000


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
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise UserError(f"{self.path}: not a readable zip file: {error}") from None

    def where(self, name: str) -> str:
        """A file's full name, for complaints."""
        return f"{self.path / self.names[name]}"

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        try:
            if self.path.is_dir():
                return (self.path / self.names[name]).read_bytes()
            info = self._zip.getinfo(self.names[name])
            require(info.file_size <= _MOST_BYTES, f"{self.where(name)}: too large")
            return self._zip.read(info)
        # RuntimeError: encrypted; NotImplementedError: packed in a way that Python does not know.
        except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
            raise UserError(f"{self.where(name)}: cannot be read: {error}") from None


def find_archive(root: Path, name: str) -> Archive | None:
    """The folder `root/name`, or else the file `root/name.zip`, or None."""
    if (root / name).is_dir():
        return Archive(root / name)
    packed = root / f"{name}.zip"
    return Archive(packed) if packed.is_file() else None
