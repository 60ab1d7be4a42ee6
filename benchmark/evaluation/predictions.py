"""Predictions: what any program, in any language, found in the samples of a test set.

A file of predictions is text, one JSON object a line. The first line is the header:

    {"format": "ivl-predictions-1", "task": "text-blocks", "model": "my reader",
     "test_data": "<content checksum of the test set>"}

Each other line is for one row of the test set, in any order:

    {"row": 0, "prediction": ["first line", "second line"]}        a reading task
    {"row": 0, "prediction": 3}                                    a counting task

A line may also say what was found at each step, in order, one step for each line or object:

    "steps": [{"text": …, "quad": [[x, y], …], "confidence": …}, …]    a reading task
    "steps": [{"point": [x, y], "confidence": …}, …]                   a counting task

The quad and the confidence may be left out. Either all rows have steps, or none has.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.evaluation.metrics import Prediction
from benchmark.files import require_file
from benchmark.options import is_line, is_number
from ivl_shards import UserError
from ivl_shards.disk import write_whole
from ivl_shards.errors import did_you_mean
from ivl_shards.format.structure import FARTHEST, MAX_STEPS

FORMAT = "ivl-predictions-1"
# Bytes of a line, so that a file of one endless line does not fill the memory.
_LONGEST_LINE = 1 << 20
_LONGEST_TEXT = 10_000
# Steps of a row: a counter that does not find its end takes thousands.
_MOST_STEPS = 20_000
_STEP_KEYS = ("text", "quad", "point", "confidence")


@dataclass(frozen=True)
class FoundStep:
    """What was found at one step; None where it is not stated."""

    text: str | None = None
    quad: tuple[tuple[float, float], ...] | None = None
    """Corners of the line, clockwise from the upper left, in pixels of the image."""
    point: tuple[float, float] | None = None
    """A point on the object that was counted."""
    confidence: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what is stated."""
        values = {name: getattr(self, name) for name in _STEP_KEYS}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class RowPrediction:
    """The prediction for one row of a test set."""

    row: int
    prediction: Prediction
    steps: tuple[FoundStep, ...] | None = None
    """What was found at each step; None: not stated."""


@dataclass(frozen=True)
class Predictions:
    """The predictions of one model for a test set."""

    task: str
    model: str
    test_data: str
    """Content checksum of the test set."""
    rows: tuple[RowPrediction, ...]


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Write a file of predictions; it appears complete or not at all."""
    header = {
        "format": FORMAT,
        "task": predictions.task,
        "model": predictions.model,
        "test_data": predictions.test_data,
    }
    lines = [header, *map(_row_json, predictions.rows)]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_whole(path, text.encode())


def _row_json(each: RowPrediction) -> dict[str, Any]:
    line: dict[str, Any] = {"row": each.row, "prediction": each.prediction}
    if each.steps is not None:
        line["steps"] = [step.to_json() for step in each.steps]
    return line


def read_predictions(path: Path, kind: str | None = None) -> Predictions:
    """Read a file of predictions and check every line; `kind` is `reading` or `counting`.

    An error names the line.
    """
    lines = _json_lines(path)
    header = _header(path, lines)
    rows: dict[int, RowPrediction] = {}
    for number, line in lines:
        try:
            found = _row_prediction(line, kind)
            if found.row in rows:
                raise UserError(f"row {found.row} is there twice")
        except UserError as error:
            raise UserError(f"{path}: line {number}: {error}") from None
        rows[found.row] = found
    ordered = tuple(rows[row] for row in sorted(rows))
    _check_steps(path, ordered)
    return Predictions(header["task"], header["model"], header["test_data"], ordered)


def _check_steps(path: Path, rows: Sequence[RowPrediction]) -> None:
    """Raise if some rows have steps and others have not: a part of the rows is no fair sample."""
    without = [each.row for each in rows if each.steps is None]
    if without and len(without) < len(rows):
        raise UserError(
            f"{path}: {len(without):,} of {len(rows):,} rows have no steps, the first of them row "
            f"{without[0]}: give steps in all rows, an empty list where nothing was found, or in "
            "none"
        )


def stated_task(path: Path) -> str:
    """Return the task that a file of predictions names in its first line."""
    return str(_header(path, _json_lines(path))["task"])


def stated_test_data(path: Path) -> str:
    """Return the checksum of the test set that a file of predictions names in its first line."""
    return str(_header(path, _json_lines(path))["test_data"])


def _header(path: Path, lines: Iterator[tuple[int, Any]]) -> dict[str, Any]:
    number, header = next(lines, (0, None))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UserError(
            f'{path}: not a file of predictions: its first line must have "format": "{FORMAT}"'
        )
    for name in ("task", "model", "test_data"):
        if not is_line(header.get(name)) or not header[name]:
            raise UserError(f'{path}: line {number}: "{name}" is missing or not a line of text')
    return header


def check_rows(path: Path, rows: Sequence[RowPrediction], samples: int) -> None:
    """Raise unless there is a prediction for every row of a test set, and for no other."""
    if rows and rows[-1].row >= samples:
        raise UserError(f"{path}: row {rows[-1].row}: the test set has {samples:,} rows, from 0 on")
    if len(rows) < samples:
        known = {each.row for each in rows}
        first = next(row for row in range(samples) if row not in known)
        raise UserError(
            f"{path}: {samples - len(rows):,} of {samples:,} rows have no prediction, the first of "
            f"them row {first}: predict them all, an empty list or 0 where nothing was found"
        )


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number and the content of each line that is not empty."""
    require_file(path)
    try:
        with path.open("rb") as file:
            number = 0
            while data := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(data) > _LONGEST_LINE:
                    raise UserError(f"{path}: line {number}: longer than {_LONGEST_LINE:,} bytes")
                if data.strip():
                    yield number, _parse(data, f"{path}: line {number}")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _parse(data: bytes, where: str) -> Any:
    def refuse(constant: str) -> Any:
        raise UserError(f"{where}: {constant} is not a number that can be scored")

    try:
        return json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise UserError(f"{where}: not JSON: write one object a line") from None


def _row_prediction(line: Any, kind: str | None) -> RowPrediction:
    _need(isinstance(line, dict), "not an object with a row and a prediction")
    _check_keys(line, ("row", "prediction", "steps"))
    row = line.get("row")
    _need(type(row) is int and 0 <= row < 1 << 40, '"row" is not a row of the test set')
    prediction = _prediction(line.get("prediction"), kind)
    return RowPrediction(row, prediction, _found_steps(line.get("steps"), prediction, kind))


def _found_steps(
    values: Any, prediction: Prediction, kind: str | None
) -> tuple[FoundStep, ...] | None:
    if values is None:
        return None
    _need(isinstance(values, list), '"steps" is not a list')
    _need(len(values) <= _MOST_STEPS, f"more than {_MOST_STEPS:,} steps")
    steps = []
    for number, value in enumerate(values, 1):
        try:
            steps.append(_found_step(value, kind))
        except UserError as error:
            raise UserError(f"step {number}: {error}") from None
    count = prediction if isinstance(prediction, int) else len(prediction)
    unit = "objects" if isinstance(prediction, int) else "lines"
    _need(
        len(steps) == count,
        f"{len(steps):,} steps, but the prediction has {count:,} {unit}: give one step for each",
    )
    return tuple(steps)


def _prediction(value: Any, kind: str | None) -> Prediction:
    if isinstance(value, list) and kind != "counting":
        _need(len(value) <= MAX_STEPS, f"more than {MAX_STEPS:,} lines")
        _need(all(map(_is_text, value)), '"prediction" is not a list of texts')
        return value
    whole = type(value) is int and 0 <= value <= 1 << 31
    wanted = {"reading": "a list of texts", "counting": "a whole number from 0 on"}
    _need(
        whole and kind != "reading",
        f'"prediction" is not {wanted.get(kind or "", "a list of texts, or a whole number")}',
    )
    count: int = value
    return count


def _found_step(value: Any, kind: str | None) -> FoundStep:
    _need(isinstance(value, dict), "not an object with text, quad, point or confidence")
    _check_keys(value, _STEP_KEYS)
    text, quad, point = value.get("text"), value.get("quad"), value.get("point")
    confidence = value.get("confidence")
    _need(text is None or _is_text(text), '"text" is not a text')
    _need(
        quad is None or (isinstance(quad, list) and len(quad) == 4 and all(map(_is_point, quad))),
        '"quad" is not four points [x, y]',
    )
    _need(point is None or _is_point(point), '"point" is not [x, y]')
    _need(
        confidence is None or is_number(confidence, 0, 1),
        '"confidence" is not a number from 0 to 1',
    )
    if kind == "reading":
        _need(text is not None, '"text" is missing: a step of a reading task has one')
        _need(point is None, '"point" is for objects: a line has a "quad"')
    if kind == "counting":
        _need(point is not None, '"point" is missing: a step of a counting task has one')
        _need(text is None and quad is None, '"text" and "quad" are for lines to be read')
    return FoundStep(
        text,
        None if quad is None else tuple((float(x), float(y)) for x, y in quad),
        None if point is None else (float(point[0]), float(point[1])),
        confidence,
    )


def _check_keys(values: dict[str, Any], known: Sequence[str]) -> None:
    for name in values:
        _need(
            name in known,
            f'no entry "{name[:60]}"{did_you_mean(name, known)}: there are {", ".join(known)}',
        )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _is_point(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(is_number(each, -FARTHEST, FARTHEST) for each in value)
    )


def _need(condition: Any, complaint: str) -> None:
    if not condition:
        raise UserError(complaint)
