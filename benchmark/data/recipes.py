"""Recipes of datasets: in what does a stored one differ from the one that a task asks for?"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ivl_shards.generation.recipe import format_counts

# Differences that are named; the rest is counted.
_NAMED = 4
# Letters of a value that are shown.
_SHOWN = 40


def recipe_differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return the settings in which a stored recipe differs from the wanted one.

    >>> recipe_differences(
    ...     {"counts": (3, 4), "total": 400, "seed": 0}, {"counts": [3, 4], "total": 100, "seed": 3}
    ... )
    ['seed 3 instead of 0', 'n 50 instead of 200']
    >>> recipe_differences({"total": 200}, {"operation": "take", "total": 200})
    ['made by ivl-shards take']

    A setting that is off need not be stated: recipes of earlier versions did not have it.

    >>> recipe_differences({"hard": False}, {}), recipe_differences({"hard": False}, {"hard": True})
    ([], ['hard true instead of false'])
    """
    if "operation" in found:
        return [f"made by ivl-shards {str(found['operation'])[:_SHOWN]}"]
    wanted = json.loads(json.dumps(wanted))  # tuples become lists, as they are stored
    names = [
        name
        for name, value in sorted(wanted.items())
        if (found[name] != value if name in found else value not in (None, False))
    ]
    # Of other lengths there are other totals: what matters is the number of each.
    if "counts" in names and _per_length(found) == _per_length(wanted) is not None:
        names = [name for name in names if name != "total"]
    return [_difference(name, wanted, found) for name in names]


def join_differences(different: Sequence[str]) -> str:
    """Return differences in one line.

    >>> join_differences(["seed 3 instead of 0"])
    'seed 3 instead of 0'
    """
    more = f" and {len(different) - _NAMED} more" if len(different) > _NAMED else ""
    return ", ".join(different[:_NAMED]) + more


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
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return _shorten(counts)


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
