"""Build models: from a name, a task and a preset to a model with checked options."""

import importlib
import inspect
import re
import sys
from typing import Any

from benchmark.data.alphabets import ALPHABETS, reader_alphabet
from benchmark.models.contract import Model
from benchmark.models.counter import FastCounter, PaperCounter
from benchmark.models.end_to_end import build_end_to_end
from benchmark.models.line_reader import ROWS, STRIDES, LineReader
from benchmark.models.paper_reader import PaperReader, text_size
from benchmark.models.photo_counter import PhotoCounter
from benchmark.options import (
    Option,
    check_options,
    choice,
    flag,
    like,
    number,
    numbers,
    whole,
    wholes,
)
from benchmark.registry import MODELS, ModelEntry
from benchmark.tasks.task import ReadingTask, Task
from benchmark.training.settings import TRAINING_OPTIONS
from ivl_shards import UserError
from ivl_shards.errors import did_you_mean


def _inductive(task: Task, preset: str, options: dict[str, Any]) -> Model:
    if isinstance(task, ReadingTask):
        return _reader(task, preset, options)
    if preset == "paper":
        return PaperCounter(task.channels, **options)
    return (PhotoCounter if task.photographs else FastCounter)(task.channels, **options)


def _reader(task: ReadingTask, preset: str, options: dict[str, Any]) -> Model:
    """Build the reader of a preset: the paper's takes colour images, the fast one grey ones."""
    if preset != "paper":
        others = {name: value for name, value in options.items() if name != "alphabet"}
        return LineReader(1, reader_alphabet(task, options), **others)
    if not task.photographs:
        return PaperReader(task.channels, task.alphabet, **options)
    others = {name: value for name, value in options.items() if name != "shrink"}
    size = text_size(int(options.get("shrink", 1)))
    return PaperReader(task.channels, task.alphabet, size, **others)


_INIT = choice("gaussian", "scaled", "own")
_COUNTER = {
    "sigma": number(0.1, 100),
    "jitter": number(0, 100),
    "stop_share": number(0, 1000),
    "every": flag(),
}
_PHOTO_FIELDS = wholes(3, 2, 64)
_PHOTO_COUNTER = {
    "fields": _PHOTO_FIELDS,
    "step": whole(1, 64),
    "reach": whole(1, 16),
    "thresholds": numbers(0, 1, 2),
    "scales": numbers(0.1, 4),
}
_SHRINK = {"shrink": whole(1, 16)}
_WIDTH = {"width": whole(2, 1024)}
_LINE_READER = {
    "jitter": number(0, 100),
    "error": number(0, 10),
    "strides": STRIDES,
    "finder": whole(2, 1024),
    "step": whole(1, 1024),
    "rows": ROWS,
    "extent": number(0, 1000),
    "columns": whole(16, 4096),
    "padding": choice("border", "zeros"),
    "reader": wholes(5, 1, 2048),
    "hidden": whole(1, 4096),
    "momentum": number(0, 1),
    "along": number(0, 100),
    "squeeze": number(0.25, 4),
    "layers": choice("plain", "residual"),
    "alphabet": choice(*ALPHABETS),
    "scales": choice("one", "many"),
    "views": whole(1, 32),
}
_BLOCK_READER = {
    **{
        name: option
        for name, option in _LINE_READER.items()
        if name not in ("jitter", "extent", "views")
    },
    "state": whole(1, 4096),
}


def _inductive_options(task: Task, preset: str) -> dict[str, Option]:
    paper = preset == "paper"
    if isinstance(task, ReadingTask) and paper:
        shrink = _SHRINK if task.photographs else {}
        return {"gamma": number(0, 1000), "init": _INIT, "jitter": number(0, 100), **shrink}
    if isinstance(task, ReadingTask):
        return _LINE_READER
    if paper:
        return {"sigma": number(0.1, 100), "gamma": number(0, 1000), "init": _INIT}
    if task.photographs:
        return {**_PHOTO_COUNTER, **_COUNTER}
    return {**_WIDTH, **_COUNTER}


def _end_to_end_options(task: Task, preset: str) -> dict[str, Option]:
    paper = preset == "paper"
    if isinstance(task, ReadingTask):
        if task.photographs and not paper:
            return _BLOCK_READER
        return {"init": _INIT, **(_SHRINK if task.photographs else {})}
    if paper:
        return {"init": _INIT}
    return {"init": _INIT, **({"fields": _PHOTO_FIELDS} if task.photographs else _WIDTH)}


INDUCTIVE = ModelEntry(
    "inductive",
    _inductive,
    _inductive_options,
    "one step at a time, with a spatial memory of what has been seen (the paper's)",
)
END_TO_END = ModelEntry(
    "end-to-end",
    build_end_to_end,
    _end_to_end_options,
    "a soft-attention LSTM over the whole sequence, with the same encoder",
)


# Options of the counters for photographs that have no default.
_NEEDED = ("fields", "step", "reach")


def build_model(name: str, task: Task, preset: str, options: dict[str, Any]) -> Model:
    """Build a built-in model, or a third party's `package.module:Class`, from a task.

    A third party's code is imported, so its name must come from the user, never from a file.
    """
    if name in MODELS:
        known = MODELS[name].options(task, preset)
        _check(name, options, known)
        missing = [n for n in _NEEDED if "fields" in known and n in known and n not in options]
        if missing:
            raise UserError(f"model {name}: its option {missing[0]} is missing")
        model = MODELS[name].build(task, preset, options)
    else:
        model = _build_third_party(name, task, options)
    if model.kind != task.kind:
        raise UserError(f"{name}: is for {model.kind}, but {task.name} is a {task.kind} task")
    return model


def _build_third_party(name: str, task: Task, options: dict[str, Any]) -> Model:
    found = _third_party(name)
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise UserError(f"{name}: is not a benchmark.Model")
    _, *parameters = inspect.signature(found).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        _check(name, options, {p.name: like(p.default) for p in parameters})
    # An integer is accepted where the default is a float.
    real = {p.name for p in parameters if isinstance(p.default, float)}
    try:
        return found(task, **{k: float(v) if k in real else v for k, v in options.items()})
    except TypeError as error:
        raise UserError(f"model {name}: {error}") from None


def _check(name: str, options: dict[str, Any], known: dict[str, Option]) -> None:
    """Raise if a model does not take an option; a mistyped one may also be a training option."""
    for option in options:
        if option not in known:
            hint = did_you_mean(option, TRAINING_OPTIONS) or did_you_mean(option, known)
            raise UserError(
                f"no option '{option}'{hint}: training has {', '.join(TRAINING_OPTIONS)}; "
                f"the model {name} has {', '.join(known) or 'none'}"
            )
    check_options(options, known, f"the model {name}")


def _third_party(name: str) -> Any:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", name):
        raise UserError(
            f"no model '{name}'{did_you_mean(name, MODELS)}: there are {', '.join(MODELS)}, or "
            "package.module:Class"
        )
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.append("")  # last: a folder fonts/ of the user's must not hide our own
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise UserError(f"model {name}: {error}") from None
