"""Registry: tasks, models and metrics by name.

Ours are registered in builtins.py. Those of third parties are registered in the same way, by a
module that the user names on the command line: `ivl-bench --plugin my_module run …`. A name that
stands in a file is looked up here and never imported.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmark.evaluation.metrics import Metric
from benchmark.models.contract import Model
from benchmark.options import Option
from benchmark.tasks.task import Task
from benchmark.training.settings import Training, change_training
from ivl_shards import UserError
from ivl_shards.errors import did_you_mean

Presets = Mapping[tuple[str, str], Training]
"""Training settings by model and preset."""


@dataclass(frozen=True)
class ModelEntry:
    """A model that has a name."""

    name: str
    build: Callable[[Task, str, dict[str, Any]], Model]
    """Task, preset, options → the model."""
    options: Callable[[Task, str], dict[str, Option]]
    """Task, preset → the values that each option takes."""
    description: str


TASKS: dict[str, Task] = {}
MODELS: dict[str, ModelEntry] = {}
PRESETS: dict[str, dict[tuple[str, str], Training]] = {}
"""Presets by task."""


def register_task(task: Task, presets: Presets) -> None:
    """Make a task known by its name, with training settings for some models and presets.

    Models without settings of their own are trained with those of `inductive`.
    """
    if not any(model == "inductive" for model, _ in presets):
        raise ValueError(f"{task.name}: presets need one for the model 'inductive'")
    TASKS[task.name] = task
    PRESETS[task.name] = dict(presets)


def register_metric(metric: Metric, *tasks: str) -> None:
    """Score these tasks by one more metric."""
    for name in tasks:
        task = find_task(name)
        kept = tuple(known for known in task.metrics if known.name != metric.name)
        TASKS[name] = replace(task, metrics=(*kept, metric))


def register_model(entry: ModelEntry) -> None:
    """Make a model known by its name."""
    MODELS[entry.name] = entry


def find_task(name: str) -> Task:
    """Return the task with a name."""
    if name not in TASKS:
        hint = did_you_mean(name, TASKS)
        raise UserError(
            f"no task '{name}'{hint}: there are {', '.join(TASKS)}; the task of a module of yours "
            "is known with --plugin MODULE"
        )
    return TASKS[name]


def find_training(
    task: Task, model: str, preset: str, changes: Mapping[str, Any] | None = None
) -> Training:
    """Return the training settings of a model; one without settings gets those of `inductive`,
    without its model options."""
    presets = PRESETS[task.name]
    names = sorted({name for _, name in presets})
    if preset not in names:
        hint = did_you_mean(preset, names)
        raise UserError(f"no preset '{preset}' of {task.name}{hint}: there are {', '.join(names)}")
    training = presets.get((model, preset))
    if training is None:
        if ("inductive", preset) not in presets:
            raise UserError(f"no preset '{preset}' of {task.name} for {model}")
        training = replace(presets["inductive", preset], model={})
    return change_training(training, changes or {})
