"""Command: the line that makes a dataset again, from its recipe."""

from dataclasses import fields
from typing import Any

from ivl_shards.counts import format_counts
from ivl_shards.recipe import Recipe


def drawing(recipe: Recipe, counts: str = "counts") -> list[str]:
    """The options that all generators share which draw their samples."""
    return [
        f"--{counts}", format_counts(recipe.counts), "--total", str(recipe.total),
        "--split", recipe.split, *knobs(recipe, "seed", "dense_memory"),
    ]  # fmt: skip


def knobs(recipe: Recipe, *names: str, **groups: tuple[str, ...]) -> list[str]:
    """The options for what a recipe has otherwise than by default.

    An option has the name of its field, or is given with the fields that it sets together.

    >>> recipe = Recipe(counts=(3,), total=10, seed=5, dense_memory=True)
    >>> knobs(recipe, "seed", "dense_memory", "split")
    ['--seed', '5', '--dense-memory']
    >>> knobs(recipe, lot=("seed", "split"))
    ['--lot', '5', 'test']
    """
    defaults = {field.name: field.default for field in fields(recipe)}
    found: list[str] = []
    for option, names_ in [*((name, (name,)) for name in names), *groups.items()]:
        values = [getattr(recipe, name) for name in names_]
        if values != [defaults[name] for name in names_]:
            found += _spelled(option.replace("_", "-"), values)
    return found


def _spelled(option: str, values: list[Any]) -> list[str]:
    if isinstance(values[0], bool):
        return [f"--{option}" if values[0] else f"--no-{option}"]
    return [f"--{option}", *map(str, values)]
