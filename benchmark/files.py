"""Files: those of a run and of a report, which appear whole under their names or not at all."""

import json
from pathlib import Path
from typing import Any

from ivl_shards import UserError
from ivl_shards.disk import write_whole

# A megabyte of JSON takes up to 25 of memory. Our own results have less than one.
_LARGEST_JSON = 16_000_000


def write_json(path: Path, values: Any) -> None:
    """Write values as JSON."""
    write_whole(path, (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read a JSON file, of a size that fits into memory."""
    require_file(path)
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise UserError(f"{path}: larger than any file of ivl-bench")
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None


def require_file(path: Path) -> None:
    """Raise unless a path is that of a file: to open a pipe or a device might never end."""
    try:
        found, is_file = path.exists(), path.is_file()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    if not found:
        raise UserError(f"{path}: no such file")
    if not is_file:
        raise UserError(f"{path}: not a file")
