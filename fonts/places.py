"""Places: where on a user's machine the catalogue and the caches live."""

import hashlib
import mmap
import os
from contextlib import suppress
from pathlib import Path

from ivl_shards.disk import explained, write_whole
from ivl_shards.errors import UserError

# Cached files begin with their sha256 in hexadecimal; what follows is aligned for any array.
SEAL_BYTES = 64


def catalogue_folder() -> Path:
    """Return the folder of the installed catalogue: `$IVL_FONTS`, or the user's data folder."""
    chosen = os.environ.get("IVL_FONTS")
    return Path(chosen).expanduser() if chosen else _xdg("XDG_DATA_HOME", ".local/share") / "fonts"


def cache_folder() -> Path:
    """Return the folder for what can be computed again: lexicon, verdicts on fonts, outlines."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def _xdg(variable: str, default: str) -> Path:
    chosen = Path(os.environ.get(variable, ""))
    # The XDG specification says that a relative path is invalid and must be ignored.
    return (chosen if chosen.is_absolute() else Path.home() / default) / "ivl"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, and the folders above it, that appears whole under its name or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explained(path, error) from None
    write_whole(path, content, sync=False)


def remember(name: str, content: bytes) -> None:
    """Put a file into the cache if that is possible; the work goes on without it."""
    with suppress(UserError, OSError):
        write_atomically(cache_folder() / name, _seal(name, content) + content)


def recall(name: str) -> bytes | None:
    """Return what was cached under a name; None if that is not there, or not as it was written."""
    mapped = recall_mapped(name)
    if mapped is None:
        return None
    with mapped:
        return mapped[SEAL_BYTES:]


def recall_mapped(name: str) -> mmap.mmap | None:
    """Return what `recall` does as a memory map, which all processes share.

    The content begins at `SEAL_BYTES`. All of it is read once, to compare its checksum.
    """
    try:
        with (cache_folder() / name).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # ValueError: the file is empty
        return None
    with memoryview(mapped) as whole, whole[SEAL_BYTES:] as content:
        if mapped[:SEAL_BYTES] == _seal(name, content):
            return mapped
    mapped.close()
    return None


def _seal(name: str, content: bytes | memoryview) -> bytes:
    """Return the checksum of a cached file: of its name, too, so that none passes for another."""
    digest = hashlib.sha256(f"{name}\n".encode())
    digest.update(content)
    return digest.hexdigest().encode()
