"""Places: where on a user's machine the catalogue and the caches live."""

import os
from pathlib import Path

from ivl_shards.errors import UserError


def catalogue_folder() -> Path:
    """The folder of the installed catalogue: `$IVL_FONTS`, or the user's data folder."""
    chosen = os.environ.get("IVL_FONTS")
    return Path(chosen).expanduser() if chosen else _xdg("XDG_DATA_HOME", ".local/share") / "fonts"


def cache_folder() -> Path:
    """The folder for what can be computed again: the lexicon, the verdicts on fonts."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def _xdg(variable: str, default: str) -> Path:
    chosen = Path(os.environ.get(variable, ""))
    # The XDG specification says that a relative path is invalid and must be ignored.
    return (chosen if chosen.is_absolute() else Path.home() / default) / "ivl"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that appears whole under its name, or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def remember(name: str, content: bytes) -> None:
    """Put a file into the cache if that is possible; the work goes on without it."""
    try:
        write_atomically(cache_folder() / name, content)
    except (UserError, OSError):
        return


def recall(name: str) -> bytes | None:
    """A file of the cache, or None."""
    try:
        return (cache_folder() / name).read_bytes()
    except OSError:
        return None
