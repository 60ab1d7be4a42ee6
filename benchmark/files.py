"""Files: read and write the JSON files of runs and reports; writing is atomic."""

import json
from pathlib import Path
from typing import Any

from ivl_shards import UserError
from ivl_shards.disk import write_whole

# In bytes. A parsed file takes up to 25 times its size in memory; our own results have less than a
# megabyte.
_MAX_JSON_SIZE = 16_000_000


def write_json(path: Path, values: Any) -> None:
    """Write values as JSON."""
    write_whole(path, (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read a JSON file; refuse one that is too large for memory."""
    require_file(path)
    try:
        if path.stat().st_size > _MAX_JSON_SIZE:
            raise UserError(f"{path}: larger than any file of ivl-bench")
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None


def require_file(path: Path) -> None:
    """Raise unless a path is a regular file: opening a pipe or a device might block for ever."""
    try:
        found, is_file = path.exists(), path.is_file()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    if not found:
        raise UserError(f"{path}: no such file")
    if not is_file:
        raise UserError(f"{path}: not a file")
