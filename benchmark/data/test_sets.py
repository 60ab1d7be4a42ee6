"""Standard test sets: is a test set the one that results are compared on, and if not, why not?"""

import json
from collections.abc import Mapping
from typing import Any

from benchmark.tasks.task import Task
from ivl_shards.format.reader import Dataset
from ivl_shards.generation.recipe import format_counts

STANDARD, NONE = "standard", "no standard one is on record"
# Differences that are named; the rest is counted.
_NAMED = 4


def set_differences(task: Task, dataset: Dataset) -> str:
    """Say in what a test set differs from the task's standard one; empty: it is the standard one,
    or none is recorded."""
    if not task.standard or dataset.attributes["content_sha256"] in task.standard:
        return ""
    if "operation" in dataset.recipe:
        return f"made by ivl-shards {str(dataset.recipe['operation'])[:40]}"
    different = recipe_differences(task.recipe(task.test, 0), dataset.recipe)
    if task.source_differences is not None:
        different += task.source_differences(dataset)
    if not different:
        source = "the source (fonts, photographs)" if task.photographs else "the generator"
        return f"the recipe is the same, {source} differs"
    more = f" and {len(different) - _NAMED} more" if len(different) > _NAMED else ""
    return ", ".join(different[:_NAMED]) + more


def set_words(task: Task, dataset: Dataset) -> str:
    """Say whether a test set is the task's standard one, and if not, what differs."""
    if not task.standard:
        return NONE
    different = set_differences(task, dataset)
    return f"not standard: {different}" if different else STANDARD


def recipe_differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return the settings in which a stored recipe differs from the wanted one.

    >>> recipe_differences(
    ...     {"counts": (3, 4), "total": 400, "seed": 0}, {"counts": [3, 4], "total": 100, "seed": 3}
    ... )
    ['n 50 instead of 200', 'seed 3 instead of 0']
    """
    wanted = json.loads(json.dumps(wanted))  # tuples become lists, as they are stored
    found = json.loads(json.dumps(found))
    names = [name for name in wanted if name not in found or found[name] != wanted[name]]
    # Of other lengths there are other totals: what matters is the number of each.
    if "counts" in names and _per_length(found) == _per_length(wanted) is not None:
        names = [name for name in names if name != "total"]
    return [_difference(name, wanted, found) for name in names]


def _difference(name: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    if name not in found:
        return f"{name} is not stated"
    if name == "counts":
        return f"lengths {_lengths(found[name])} instead of {_lengths(wanted[name])}"
    ours, standard = _per_length(found), _per_length(wanted)
    if name == "total" and ours is not None and standard is not None:
        return f"n {ours:,} instead of {standard:,}"
    return f"{name} {_shorten(found[name])} instead of {_shorten(wanted[name])}"


def _per_length(recipe: Mapping[str, Any]) -> int | None:
    """Return the number of samples of each length; None: they differ, or it is not stated."""
    counts, total = recipe.get("counts"), recipe.get("total")
    if not isinstance(counts, list) or type(total) is not int or not counts:
        return None
    return None if total % len(counts) else total // len(counts)


def _lengths(counts: Any) -> str:
    if isinstance(counts, list) and all(type(n) is int for n in counts):
        text = format_counts(tuple(counts)).replace("-", "–").replace(",", ", ")
        return text if len(text) <= 40 else f"{text[:40]}…"
    return _shorten(counts)


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
