"""Knobs: the settings of a recipe, each declared once.

A knob is a dataclass field made with `knob`. Its option on the command line, the message about a
wrong value, its place in the command on a card and its row in the documentation are all derived
from that declaration. A recipe with styles has a field `style`: the name of a set of defaults.

>>> @dataclass(frozen=True)
... class Rain(Recipe):
...     drops: int = knob(3, "Drops in an image.", 1, 9)
...     wind: tuple[float, float] = knob((0.0, 0.5), "Least and greatest drift.", 0, 1)
...     def __post_init__(self) -> None:
...         super().__post_init__()
...         settle(self)
>>> given(Rain((1,), 10, drops=4))
['--drops', '4']
>>> Rain((1,), 10, drops=40)
Traceback (most recent call last):
ivl_shards.errors.UserError: --drops 40: between 1 and 9
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import click

from ivl_shards.generation.recipe import Recipe, format_counts, require
from ivl_shards.options import Decorator

_KEY = "knob"


class _Unset:
    """Stands for a value that the style of the recipe decides."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


@dataclass(frozen=True)
class Knob:
    """What is declared about one setting."""

    name: str
    default: Any
    help: str
    low: float
    high: float
    unit: str
    choices: tuple[str, ...]
    styles: Mapping[str, Any]

    @property
    def option(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    def default_in(self, style: str) -> Any:
        """Return the default in a style."""
        return self.styles.get(style, self.default)

    def check(self, value: Any) -> None:
        """Raise a `UserError` that names the option unless the value is possible."""
        said = f"{self.option} {spelled(value)}"
        if self.choices:
            require(value in self.choices, f"{said}: choose from {', '.join(self.choices)}")
        if isinstance(self.default, bool | str):
            wanted = type(self.default)
            require(isinstance(value, wanted), f"{said}: is not of type {wanted.__name__}")
            return
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(self.default, tuple):
            pair = isinstance(value, tuple) and len(value) == len(self.default)
            require(pair, f"{said}: give the least and the greatest number")
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        require(numbers, f"{said}: is not a number")
        whole = isinstance(_first(self.default), int)
        require(not whole or all(isinstance(v, int) for v in values), f"{said}: a whole number")
        require(
            all(self.low <= v <= self.high for v in values),
            f"{said}: between {self.limits}",
        )
        require(list(values) == sorted(values), f"{said}: the smaller number comes first")

    @property
    def limits(self) -> str:
        """The range in words: `0 and 30 degrees`."""
        return f"{self.low:g} and {self.high:g}" + (f" {self.unit}" if self.unit else "")


def knob(
    default: Any,
    help_: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    unit: str = "",
    choices: tuple[str, ...] = (),
    **styles: Any,
) -> Any:
    """Declare a setting as a dataclass field.

    Parameters
    ----------
    default
        Its type is the option's: a number, a pair of numbers (least and greatest), a flag or text.
    low, high
        The range that a value must lie in, both ends included.
    styles
        The default in a style of that name, where it is another one.
    """
    declared = {
        "default": default,
        "help": help_,
        "low": low,
        "high": high,
        "unit": unit,
        "choices": choices,
        "styles": styles,
    }
    return field(default=UNSET if styles else default, metadata={_KEY: declared})


def knobs_of(recipe: type[Recipe] | Recipe) -> dict[str, Knob]:
    """Return the knobs of a recipe by the name of their field, in their order."""
    return {f.name: Knob(f.name, **f.metadata[_KEY]) for f in fields(recipe) if _KEY in f.metadata}


def settle(recipe: Recipe) -> None:
    """Give knobs that are not set the default of the recipe's style, and check all of them.

    Called by `__post_init__` of a recipe.
    """
    style = getattr(recipe, "style", "")
    found = knobs_of(recipe)
    if "style" in found:
        found["style"].check(style)
    for name, declared in found.items():
        value = getattr(recipe, name)
        if value is UNSET:
            value = declared.default_in(style)
        if isinstance(value, list):
            value = tuple(value)
        object.__setattr__(recipe, name, value)
        declared.check(value)


def given(recipe: Recipe, **defaults: Any) -> list[str]:
    """Return the options for all knobs that are not as the recipe's style has them.

    `defaults` are used instead of declared ones, for what depends on the rest of the recipe.
    """
    style = getattr(recipe, "style", "")
    found: list[str] = []
    for name, declared in knobs_of(recipe).items():
        value = getattr(recipe, name)
        if value == defaults.get(name, declared.default_in(style)):
            continue
        if isinstance(value, bool):
            found.append(declared.option if value else f"--no-{declared.option[2:]}")
        else:
            found += [declared.option, *spelled(value).split(" ")]
    return found


def spelled(value: Any) -> str:
    """Write a value as it stands on the command line.

    >>> spelled((0.05, 0.1)), spelled(7), spelled("scene")
    ('0.05 0.1', '7', 'scene')
    """
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def knob_options(recipe: type[Recipe]) -> Decorator:
    """Return a decorator that adds an option for every knob; what is not given is None."""

    def decorate(function: Any) -> Any:
        for declared in reversed(knobs_of(recipe).values()):
            function = _option(declared)(function)
        return function

    return decorate


def _option(declared: Knob) -> Decorator:
    help_ = f"{declared.help}  [{_defaults(declared)}]"
    first = declared.default
    if isinstance(first, bool):
        names = f"{declared.option}/--no-{declared.option[2:]}"
        return click.option(names, declared.name, default=None, help=help_)
    if isinstance(first, tuple):
        return click.option(
            declared.option,
            declared.name,
            type=(type(first[0]),) * len(first),
            default=None,
            metavar="LEAST MOST",
            help=help_,
        )
    kind = click.Choice(declared.choices) if declared.choices else type(first)
    return click.option(declared.option, declared.name, type=kind, default=None, help=help_)


def _defaults(declared: Knob) -> str:
    others = [f"{style}: {spelled(value)}" for style, value in declared.styles.items()]
    return "; ".join([f"default: {spelled(declared.default)}", *others])


def take_knobs(recipe: type[Recipe], options: dict[str, Any]) -> dict[str, Any]:
    """Take the knobs that were given out of a command's options, and drop those that were not."""
    values = {name: options.pop(name) for name in knobs_of(recipe) if name in options}
    return {name: value for name, value in values.items() if value is not None}


def knob_table(recipe: type[Recipe], *styles: str) -> str:
    """Return the knobs as a table in Markdown, with the default in every style."""
    return "\n".join(_rows(recipe, styles)) + "\n"


def _rows(recipe: type[Recipe], styles: tuple[str, ...]) -> Iterator[str]:
    yield f"| option | {' | '.join(styles or ('default',))} | range | |"
    yield "|---|" + "---|" * (max(len(styles), 1) + 2)
    for declared in knobs_of(recipe).values():
        values = " | ".join(_cell(declared.default_in(style)) for style in (styles or ("",)))
        yield f"| `{declared.option}` | {values} | {_range(declared)} | {declared.help} |"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _range(declared: Knob) -> str:
    if declared.choices:
        return ", ".join(declared.choices)
    if math.isinf(declared.low) or isinstance(declared.default, bool):
        return ""
    unit = f" {declared.unit}" if declared.unit else ""
    return f"{declared.low:g}–{declared.high:g}{unit}"


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def drawing(recipe: Recipe, counts: str = "counts") -> list[str]:
    """The options that all generators share which draw their samples."""
    return [
        f"--{counts}",
        format_counts(recipe.counts),
        "--total",
        str(recipe.total),
        "--split",
        recipe.split,
        *knobs(recipe, "seed", "dense_memory"),
    ]


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
