"""The log of a training: one JSON object a line, with step, loss and seconds."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.files import require_file
from benchmark.options import is_number, whole
from ivl_shards import Damage
from ivl_shards.disk import explained

# Points of a training curve that a result keeps.
_CURVE_POINTS = 200


def append_to_log(log: Path, line: Mapping[str, float]) -> None:
    """Append a line to a log. Lines beyond a checkpoint are written again when a run is resumed:
    the last line of a step counts."""
    try:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    except OSError as error:
        raise explained(log, error) from None


def cut_unfinished_line(log: Path) -> None:
    """Remove the last line of a log if a process was stopped while it wrote it."""
    if not log.exists():
        return
    with log.open("r+b") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)


def read_log(log: Path) -> list[dict[str, float]]:
    """Return the lines of a log."""
    require_file(log)
    lines = []
    for number, text in enumerate(log.read_bytes().splitlines(), 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not is_log_line(line):
            raise Damage(f"{log}, line {number}: damaged: remove this line and run it again")
        lines.append(line)
    return lines


def is_log_line(line: Any) -> bool:
    """Whether a value is a line of a log: a step and losses, which may be no finite numbers."""
    return (
        isinstance(line, dict)
        and whole(1, 1_000_000_000).fits(line.get("step"))
        and isinstance(line.get("loss"), (int, float))
        and all(type(v) is float or is_number(v, -1e18, 1e18) for v in line.values())
    )


def training_curve(log: Path) -> list[dict[str, float]]:
    """Return the lines of a log, thinned out. Where a run was resumed, lines beyond its checkpoint
    do not count."""
    kept: list[dict[str, float]] = []
    for line in read_log(log):
        while kept and kept[-1]["step"] >= line["step"]:
            kept.pop()
        kept.append(line)
    stride = max(1, len(kept) // _CURVE_POINTS)
    return [
        line
        for k, line in enumerate(kept)
        if k % stride == 0 or "validation" in line or k == len(kept) - 1
    ]
