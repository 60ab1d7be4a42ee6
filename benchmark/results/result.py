"""Result file: what `ivl-bench run` and `eval` have found, read back and checked.

Results are exchanged between people, so nothing that one says is relied on before it is checked.
"""

import re
from pathlib import Path
from typing import Any

from benchmark.files import read_json
from benchmark.options import Option, flag, is_line, is_number, number, whole
from benchmark.tasks import find_task
from benchmark.training.loop import is_log_line
from benchmark.training.run_folder import config_from_json
from ivl_shards import UserError

_LENGTH = re.compile(r"[0-9]{1,6}")
_ROW = whole(0, 1_000_000_000)
_LINE = Option("a line of text", is_line)
# Errors can be more than the truth is long, so a score in per cent has no clear limit.
_SCORE = number(-1e9, 1e9)


def read_result(path: Path) -> dict[str, Any]:
    """Return the result that a file holds."""
    result = read_json(path)
    try:
        _check_result(result, path)
    except UserError as error:
        where = "" if str(error).startswith(str(path)) else f"{path}: "
        raise UserError(f"{where}not a result of ivl-bench: {error}") from None
    checked: dict[str, Any] = result
    return checked


def _check_result(result: Any, path: Path) -> None:
    config = _dict(_dict(result, "the file").get("config"), "config")
    for name in ("task", "model", "preset"):
        _need(_LINE, config.get(name), f"config: {name}")
    task = find_task(config["task"])
    # Readers off the shelf were not trained here.
    if "training" in config:
        config_from_json(config, path)
    for change in _list(result.get("changes", []), "changes"):
        _need(_LINE, change, "changes")
    _check_evaluation(_dict(result.get("evaluation"), "evaluation"))
    data = result.get("data")
    _need(_LINE, data.get(task.test.split) if isinstance(data, dict) else data, "data")
    _check_around(_dict(result.get("surroundings", {}), "surroundings"))
    for name in ("parameters", "training_seconds"):
        if name in result:
            _need(number(0, 1e15), result[name], name)
    if "curve" in result:
        _check_curve(result)


def _check_evaluation(evaluation: dict[str, Any]) -> None:
    scores = _dict(evaluation.get("scores"), "evaluation: scores")
    for length in scores:
        _true(_LENGTH.fullmatch(length), "evaluation: scores are not by length")
    metrics = _dict(evaluation.get("metrics", {}), "evaluation: metrics")
    for name, table in {"scores": scores, **metrics}.items():
        for column, score in _dict(table, f"evaluation: {name}").items():
            _true(
                column.isdecimal() <= bool(_LENGTH.fullmatch(column)) and is_line(column),
                f"evaluation: {name} has a column of no length",
            )
            for figure in ("value", "low", "high"):
                found = _dict(score, f"evaluation: {name}: {column}").get(figure)
                _need(_SCORE, found, f"evaluation: {name}: {column}: {figure}")
    rows = [
        _list(entry, "evaluation: wrong")[:1]
        for entry in _list(evaluation.get("wrong"), "evaluation: wrong")
    ]
    _true(all(row and _ROW.fits(row[0]) for row in rows), "evaluation: wrong has no rows")
    _true(sorted(rows) == rows, "evaluation: wrong rows are not in order")
    in_all: Any = evaluation.get("wrong_in_all")
    _need(_ROW, in_all, "evaluation: wrong_in_all")
    # A result lists the first wrong rows, if there are any.
    _true(in_all >= len(rows) and (rows or not in_all), "evaluation: wrong_in_all is too small")


def _check_around(around: dict[str, Any]) -> None:
    for name, value in around.items():
        text_or_number = value is None or is_line(value) or is_number(value, -1e15, 1e15)
        _true(is_line(name) and (text_or_number or flag().fits(value)), "surroundings")


def _check_curve(result: dict[str, Any]) -> None:
    """Raise unless a result with a curve has all that belongs to a training."""
    curve = _list(result["curve"], "curve")
    _true(curve and all(map(is_log_line, curve)), "curve: not lines of a log")
    _dict(result["config"].get("training"), "config: training")
    for name in ("parameters", "training_seconds"):
        _need(number(0, 1e15), result.get(name), name)
    around = result.get("surroundings", {})
    _true({"machine", "threads"} <= around.keys(), "surroundings: no machine and threads")


def _dict(value: Any, where: str) -> dict[str, Any]:
    _true(isinstance(value, dict), f"{where}: no names and values")
    found: dict[str, Any] = value
    return found


def _list(value: Any, where: str) -> list[Any]:
    _true(isinstance(value, list), f"{where}: no list")
    found: list[Any] = value
    return found


def _need(option: Option, value: Any, where: str) -> None:
    _true(option.fits(value), f"{where}: is not {option.takes}")


def _true(fact: Any, complaint: str) -> None:
    if not fact:
        raise UserError(complaint)
