"""Results: the scores of one model, as `ivl-bench run` and `eval` write them.

Results are exchanged between people, so a file is checked before anything in it is used.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from benchmark.data.datasets import Scored
from benchmark.evaluation.evaluate import Column, Evaluation, Predicted, Scores
from benchmark.evaluation.metrics import Score
from benchmark.evaluation.step_scores import StepScores
from benchmark.files import read_json, write_json
from benchmark.old_files import OLD_TEST_SETS, upgrade_result
from benchmark.options import Option, choice, flag, is_line, is_number, number, whole
from benchmark.registry import find_task
from benchmark.results.step_results import steps_from_json, steps_to_json
from benchmark.tasks.task import Task
from benchmark.training.log import is_log_line
from benchmark.training.run_folder import Config, config_from_json
from ivl_shards import UserError
from ivl_shards.generation.recipe import parse_counts

FORMAT = "ivl-result-2"
# Wrong predictions that a file lists.
_LISTED = 200
_LENGTH = re.compile(r"[0-9]{1,6}")
_ROW = whole(0, 1_000_000_000)
_LINE = Option("a line of text", is_line)
# Errors can be longer than the truth, so a score in per cent has no clear bound.
_SCORE = number(-1e9, 1e9)
# The preset that labels leave out.
_USUAL_PRESET = "fast"
_TITLES = {
    "ocr": "RapidOCR",
    "tesseract": "Tesseract",
    "inductive-ocr": "inductive localisation, RapidOCR recogniser",
    "distinct-colours": "trivial rule, number of distinct colours",
    "canvas-height": "trivial rule, empty lines by the height of the canvas",
}
"""Names in tables of models whose own name does not say what they are."""


@dataclass(frozen=True)
class Result:
    """The scores of one model on one test set."""

    task: Task
    model: str
    preset: str
    """The preset of the training; for an off-the-shelf reader, what it was run on."""
    config: Config | None
    """None: the model was not trained here, such as an off-the-shelf reader."""
    changes: tuple[str, ...]
    """Settings that differ from the preset, as given with `--set`, `--lexicon` and `--beam`."""
    scores: Scores
    wrong: tuple[tuple[int, Any, Any], ...]
    """The first wrong predictions: row of the test set, prediction, ground truth."""
    wrong_total: int
    seconds: float
    """Time of the evaluation."""
    test_data: str
    """Content checksum of the test set."""
    test_differs: str = ""
    """In what the test set differs from the standard one; empty: in nothing, or not stated."""
    split: Scored = "test"
    """Whether the scores are those of the test set or of the validation set."""
    train_data: str = ""
    """Content checksum of the training set; empty: not stated."""
    images: int | None = None
    """The number of photographs that the test samples were cut from, if known."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    parameters: int | None = None
    training_seconds: float | None = None
    processes: int | None = None
    curve: tuple[dict[str, float], ...] = ()
    """Lines of the training log; empty: weights that were scored later."""
    steps: StepScores | None = None
    """Scores of single steps; None: not known."""

    @property
    def seed(self) -> int | None:
        return self.config.seed if self.config else None

    @property
    def trained_to(self) -> int:
        """The length of the longest sequence in training; the task's, where it is not known."""
        training = self.config.training if self.config else None
        counts = parse_counts(training.lengths) if training and training.lengths else None
        return max(counts or self.task.train.counts)

    @property
    def samples(self) -> int:
        """The number of test samples."""
        first = next(iter(self.scores.values()), {})
        return sum(score.samples for n, score in first.items() if isinstance(n, int))

    @property
    def is_standard(self) -> bool | None:
        """Whether the test set is the task's standard one; None: the task has none on record."""
        if self.split != "test":
            return False
        return self.test_data in self.task.standard if self.task.standard else None

    @property
    def changed_settings(self) -> tuple[str, ...]:
        """Training settings that were given with `--set`."""
        return tuple(change for change in self.changes if "=" in change)

    @property
    def is_trial(self) -> bool:
        """Whether settings of the preset were changed: a trial, not a model to use."""
        return bool(self.changed_settings)

    @property
    def decoding(self) -> tuple[str, ...]:
        """How predictions were decoded, where not greedily."""
        others = [change for change in self.changes if "=" not in change]
        return tuple("with lexicon" if c.startswith("lexicon ") else c for c in others)

    @property
    def initial_encoder(self) -> str:
        """The trained weights that the preset initialises the encoder with; empty: none."""
        if self.config is None or any(c.startswith("encoder=") for c in self.changes):
            return ""  # a changed setting is named in the label anyway
        # A run may be given by its path, which says nothing to other people.
        return PurePath(self.config.training.encoder).name

    @property
    def label(self) -> str:
        """The name of the model in tables, as short as can be; `full_label` says the rest."""
        title = _TITLES.get(self.model, self.model)
        if self.config is None:
            title = f"{title} {self.preset}".strip()
        parts = [title]
        if self.config and self.preset != _USUAL_PRESET:
            parts.append(f"{self.preset} preset")
        if self.initial_encoder:
            parts.append(f"encoder from {self.initial_encoder}")
        if self.config and self.config.training.lengths:
            lengths = self.config.training.lengths.replace("-", "–")
            parts.append(f"trained on {lengths} {self.task.unit}")
        if self.config and self.config.folds:
            parts.append(f"{self.config.folds} folds")
        label = ", ".join([*parts, *self.decoding])
        settings = ", ".join(self.changed_settings)
        return f"{label} ({settings})" if settings else label

    @property
    def full_label(self) -> str:
        """The label, with all that tells results apart which differ in more than their seed."""
        parts = [f"{self.model} {self.preset}".strip()] if self.model in _TITLES else []
        parts += [change for change in self.changes if change.startswith("lexicon ")]
        if self.config and self.config.init:
            parts.append(f"initial weights {self.config.init.split()[0]}")
        if self.split != "test":
            parts.append("validation set")
        if self.config and self.config.train_data:
            parts.append(f"training set {self.config.train_data[:8]}")
        return "; ".join([self.label, *parts])

    @property
    def machine(self) -> str:
        """The machine and its threads."""
        machine, threads = self.environment.get("machine", ""), self.environment.get("threads", "?")
        return f"{machine}, {threads} thread{'s' * (threads != 1)}"

    def to_json(self) -> dict[str, Any]:
        """Return the result as it is stored."""
        config = {"task": self.task.name, "model": self.model, "preset": self.preset}
        split = "" if self.split == "test" else self.split
        data = {"train": self.train_data, "test_differs": self.test_differs, "split": split}
        known = {
            "images": self.images,
            "parameters": self.parameters,
            "training_seconds": self.training_seconds,
            "processes": self.processes,
            "curve": list(self.curve) or None,
        }
        return {
            "format": FORMAT,
            "config": self.config.to_json() if self.config else config,
            "changes": list(self.changes),
            "data": {
                "test": self.test_data,
                **{name: value for name, value in data.items() if value},
            },
            "metrics": {
                name: {str(n): score.to_json() for n, score in table.items()}
                for name, table in self.scores.items()
            },
            "wrong": [list(each) for each in self.wrong],
            "wrong_total": self.wrong_total,
            "seconds": self.seconds,
            "environment": dict(self.environment),
            **{name: value for name, value in known.items() if value is not None},
            **({} if self.steps is None else {"steps": steps_to_json(self.steps)}),
        }


def scores_of(evaluation: Evaluation) -> dict[str, Any]:
    """Return the fields of a `Result` that an evaluation decides."""
    wrong = [each for each in evaluation.predictions if each.prediction != each.truth]
    return {
        "scores": evaluation.scores,
        "wrong": tuple(map(_listed, wrong[:_LISTED])),
        "wrong_total": len(wrong),
        "seconds": round(evaluation.seconds, 1),
        "steps": evaluation.steps,
        "images": evaluation.images,
    }


def _listed(each: Predicted) -> tuple[int, Any, Any]:
    return each.row, each.prediction, each.truth


def write_result(path: Path, result: Result) -> None:
    """Write a result."""
    write_json(path, result.to_json())


def result_file_name(result: Result) -> str:
    """Return a name for the file of a result that was not obtained by a run."""
    kind = "eval" if result.split == "test" else result.split
    parts = [result.task.name, result.model, result.preset, *result.changes, kind]
    return re.sub(r"[^\w.=]+", "-", "-".join(parts)) + ".json"


def read_result(path: Path) -> Result:
    """Return the result that a file holds."""
    values = read_json(path)
    try:
        return result_from_json(values, path)
    except UserError as error:
        where = "" if str(error).startswith(str(path)) else f"{path}: "
        raise UserError(f"{where}not a result of ivl-bench: {error}") from None


def result_from_json(values: Any, path: Path) -> Result:
    """Return the result that a file holds, all of it checked."""
    values = _dict(values, "the file")
    asked = _dict(values.get("config"), "config")
    for name in ("task", "model", "preset"):
        _need(_LINE, asked.get(name), f"config: {name}")
    task = find_task(asked["task"])
    if values.get("format") != FORMAT:
        values = upgrade_result(values, task.metric.name)
    data = _dict(values.get("data"), "data")
    _need(_LINE, data.get("test"), "data: test")
    for name in ("train", "test_differs"):
        _need(_LINE, data.get(name, ""), f"data: {name}")
    split = data.get("split", "test")
    _need(choice("test", "val"), split, "data: split")
    changes = _list(values.get("changes", []), "changes")
    for change in changes:
        _need(_LINE, change, "changes")
    for name in ("parameters", "training_seconds", "processes"):
        if name in values:
            _need(number(0, 1e15), values[name], name)
    _need(number(0, 1e12), values.get("seconds"), "seconds")
    if "images" in values:
        _need(_ROW, values["images"], "images")
    wrong = _checked_wrong(values)
    result = Result(
        task=task,
        model=asked["model"],
        preset=asked["preset"],
        config=config_from_json(asked, path) if "training" in asked else None,
        changes=tuple(changes),
        scores=_checked_scores(_dict(values.get("metrics"), "metrics")),
        wrong=wrong,
        wrong_total=values["wrong_total"],
        seconds=values["seconds"],
        test_data=OLD_TEST_SETS.get(data["test"], data["test"]),
        test_differs=data.get("test_differs", ""),
        split=split,
        train_data=data.get("train", ""),
        images=values.get("images"),
        environment=_checked_environment(_dict(values.get("environment", {}), "environment")),
        parameters=values.get("parameters"),
        training_seconds=values.get("training_seconds"),
        processes=values.get("processes"),
        curve=_checked_curve(values),
        steps=steps_from_json(values["steps"]) if "steps" in values else None,
    )
    if result.curve:
        _true(result.config is not None, "config: no training")
        for name in ("parameters", "training_seconds"):
            _true(getattr(result, name) is not None, f"{name}: is missing")
        _true(
            {"machine", "threads"} <= result.environment.keys(),
            "environment: no machine and threads",
        )
    return result


def _checked_scores(metrics: dict[str, Any]) -> Scores:
    _true(metrics, "metrics: none")
    return {
        name: {
            column_of(column): _checked_score(name, column, score)
            for column, score in _dict(table, f"metrics: {name}").items()
        }
        for name, table in metrics.items()
        if _is_name(name)
    }


def _is_name(name: str) -> bool:
    _true(is_line(name), "metrics: a name is not a line of text")
    return True


def column_of(text: str) -> Column:
    """Return the column of a table: a length, or a name such as `all`."""
    return int(text) if text.isdecimal() else text


def _checked_score(metric: str, column: str, score: Any) -> Score:
    where = f"metrics: {metric}: {column}"
    _true(
        is_line(column) and (bool(_LENGTH.fullmatch(column)) or not column.isdecimal()),
        f"metrics: {metric} has a column that is no length",
    )
    values = _dict(score, where)
    for figure in ("value", "low", "high"):
        _need(_SCORE, values.get(figure), f"{where}: {figure}")
    samples = values.get("samples", 0)
    _need(_ROW, samples, f"{where}: samples")
    if "images" in values:
        _need(_ROW, values["images"], f"{where}: images")
    return Score(values["value"], values["low"], values["high"], samples, values.get("images"))


def _checked_wrong(values: dict[str, Any]) -> tuple[tuple[int, Any, Any], ...]:
    listed = _list(values.get("wrong"), "wrong")
    for entry in listed:
        _true(len(_list(entry, "wrong")) == 3 and _ROW.fits(entry[0]), "wrong has no rows")
    rows = [entry[0] for entry in listed]
    _true(sorted(rows) == rows, "wrong: rows are not in order")
    total: Any = values.get("wrong_total")
    _need(_ROW, total, "wrong_total")
    # A result lists the first wrong rows, if there are any.
    _true(total >= len(rows) and (rows or not total), "wrong_total: is too small")
    return tuple((row, prediction, truth) for row, prediction, truth in listed)


def _checked_environment(found: dict[str, Any]) -> dict[str, Any]:
    for name, value in found.items():
        plain = value is None or is_line(value) or is_number(value, -1e15, 1e15)
        _true(is_line(name) and (plain or flag().fits(value)), "environment")
    return found


def _checked_curve(values: dict[str, Any]) -> tuple[dict[str, float], ...]:
    if "curve" not in values:
        return ()
    curve: Sequence[Any] = _list(values["curve"], "curve")
    _true(curve and all(map(is_log_line, curve)), "curve: not lines of a log")
    return tuple(curve)


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
