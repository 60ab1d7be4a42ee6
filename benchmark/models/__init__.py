"""The models, and how a name becomes one."""

import importlib
import sys
from collections.abc import Callable
from typing import Any

from benchmark.models.contract import InductiveModel, Model, Step
from benchmark.models.counter import FastCounter, PaperCounter
from benchmark.models.end_to_end import build_end_to_end
from benchmark.models.photo_counter import PhotoCounter
from benchmark.models.reader import build_reader
from benchmark.tasks import Task
from ivl_shards import UserError

__all__ = ["MODELS", "InductiveModel", "Model", "Step", "build_model"]


def _inductive(task: Task, preset: str, options: dict[str, Any]) -> Model:
    if task.kind == "reading":
        return build_reader(task, preset, options)
    if preset == "paper":
        return PaperCounter(task.channels, **options)
    return (PhotoCounter if task.photographs else FastCounter)(task.channels, **options)


MODELS: dict[str, Callable[[Task, str, dict[str, Any]], Model]] = {
    "inductive": _inductive,
    "end-to-end": build_end_to_end,
}
ABOUT = {
    "inductive": "one step at a time, with a spatial memory of what has been seen (the paper's)",
    "end-to-end": "a soft-attention LSTM over the whole sequence, with the same encoder",
}


def build_model(name: str, task: Task, preset: str, options: dict[str, Any]) -> Model:
    """A built-in model, or a third party's `package.module:Class`, made from the task."""
    if name in MODELS:
        make: Callable[..., Any] = lambda: MODELS[name](task, preset, options)  # noqa: E731
    elif ":" in name:
        found = _third_party(name)
        make = lambda: found(task, **options)  # noqa: E731
    else:
        raise UserError(
            f"no model '{name}': there are {', '.join(MODELS)}, or package.module:Class"
        )
    try:
        model = make()
    except TypeError as error:
        raise UserError(f"model {name}: {error}") from None
    if not isinstance(model, Model):
        raise UserError(f"{name}: is not a benchmark.models.Model")
    if model.kind != task.kind:
        raise UserError(f"{name}: is for {model.kind}, and {task.name} is a task of {task.kind}")
    return model


def _third_party(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a file in this folder is found, as with python -m
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"model {name}: {error}") from None
