"""Knobs: the settings of a recipe, each declared once.

A knob is a dataclass field made with `knob`. Its command-line option, the message about a wrong
value, its place in the command on a card and its row in the documentation are all derived from
that declaration.

>>> @dataclass(frozen=True)
... class Rain:
...     drops: int = knob(3, "Drops in an image.", 1, 9)
...     wind: tuple[float, float] = knob((0.0, 0.5), "Minimum and maximum drift.", 0, 1)
...     def __post_init__(self) -> None:
...         settle(self)
>>> changed_options(Rain(drops=4))
['--drops', '4']
>>> Rain(drops=40)
Traceback (most recent call last):
ivl_shards.errors.UserError: --drops 40: must be between 1 and 9

Defaults may differ between variants of a recipe. The class attribute `defaults_by` names the field
that holds the variant, for example `style` or `split`; `knob(3, …, wet=8)` declares 8 as the
default of the variant `wet`.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import Any

import click

from ivl_shards.errors import UserError, did_you_mean

_KEY = "knob"
_IMAGE_SIZE = "WIDTHxHEIGHT"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Unset:
    """Stands for a value that the variant of the recipe decides."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


class ImageSize(click.ParamType[tuple[int, int]]):
    """Width and height in pixels such as 448x320, or one number for both.

    The value is (height, width), as in the shape of an image.
    """

    name = _IMAGE_SIZE

    def convert(self, value: Any, param: Any, context: Any) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\d{1,6})(?:[x×](\d{1,6}))?", value.lower())
        if not match:
            name = param.opts[0] if param else "size"
            raise UserError(f"{name} {value}: write WIDTHxHEIGHT, for example 448x320")
        return int(match[2] or match[1]), int(match[1])


@dataclass(frozen=True)
class Knob:
    """What is declared about one setting: one option, and the field or fields that it sets."""

    fields: tuple[str, ...]
    option: str
    """`--min-size`; or a form such as `--choice growth=`, which its value is appended to."""
    default: Any
    """The value, or a tuple with one value for each field; None where nothing is the default."""
    type: type
    help: str
    low: float
    high: float
    unit: str
    choices: tuple[str, ...]
    metavar: str
    variants: Mapping[str, Any]
    added_later: bool
    """Whether recipes of earlier versions lack it."""

    @property
    def name(self) -> str:
        """The name of the command-line parameter."""
        return self.option.removeprefix("--").replace("-", "_")

    @property
    def many(self) -> int:
        """The number of values."""
        if self.metavar == _IMAGE_SIZE:
            return 2
        return len(self.default) if isinstance(self.default, tuple) else 1

    def default_in(self, variant: str) -> Any:
        """Return the default in a variant of the recipe."""
        return self.variants.get(variant, self.default)

    def value_in(self, recipe: Any) -> Any:
        """Return the value in a recipe; a tuple if the option sets several fields."""
        values = tuple(getattr(recipe, name) for name in self.fields)
        return values if len(values) > 1 else values[0]

    def written(self, value: Any) -> list[str]:
        """Return a value as it is typed on the command line: the option and what follows it."""
        if self.option.endswith("="):
            text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
            return f"{self.option}{text}".split(" ", 1)
        if isinstance(value, bool) and self.type is bool:
            return [self.option if value else f"--no-{self.option[2:]}"]
        values = [self.spelled(value)] if self.many == 1 else self.spelled(value).split(" ")
        return [self.option, *values]

    def spelled(self, value: Any) -> str:
        """Write a value the way it is typed after the option."""
        if not isinstance(value, tuple):
            return str(value)
        if self.metavar == _IMAGE_SIZE:
            return "x".join(map(str, reversed(value)))
        return " ".join(map(str, value))

    def check(self, value: Any) -> None:
        """Raise a `UserError` that names the option unless the value is possible."""
        if fault := self._fault(value):
            raise UserError(f"{' '.join(self.written(value))}: {fault}")

    def _fault(self, value: Any) -> str:
        """Return what is wrong with a value; nothing if it is possible."""
        if value is None and self.default is None:
            return ""
        if self.choices and value not in self.choices:
            hint = did_you_mean(str(value), self.choices)
            return f"choose from {', '.join(self.choices)}{hint}"
        if self.type in (bool, str):
            right = isinstance(value, self.type)
            return "" if right else f"must be of type {self.type.__name__}"
        return self._number_fault(value)

    def _number_fault(self, value: Any) -> str:
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(value, tuple) != (self.many > 1) or len(values) != self.many:
            return "give a minimum and a maximum" if self.many > 1 else "give one number"
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            return "must be a number"
        if self.type is int and not all(isinstance(v, int) for v in values):
            return "must be a whole number"
        if not all(map(math.isfinite, values)):
            return "must be a finite number"
        if not all(self.low <= v <= self.high for v in values):
            return f"must be {self.limits}"
        if self.metavar != _IMAGE_SIZE and list(values) != sorted(values):
            return "give the smaller number first"
        return ""

    @property
    def limits(self) -> str:
        """The range in words: `between 0 and 30 degrees`."""
        unit = f" {self.unit}" if self.unit else ""
        if math.isinf(self.high):
            return f"at least {_short(self.low)}{unit}"
        return f"between {_short(self.low)} and {_short(self.high)}{unit}"


def knob(
    default: Any,
    help_: str = "",
    low: float = 0,
    high: float = math.inf,
    *,
    unit: str = "",
    choices: tuple[str, ...] = (),
    metavar: str = "",
    option: str = "",
    type_: type | None = None,
    image_size: bool = False,
    added_later: bool = False,
    **variants: Any,
) -> Any:
    """Declare a setting as a dataclass field.

    Parameters
    ----------
    default
        Its type is the option's: a number, a pair of numbers (minimum and maximum), a flag or text.
    low, high
        The range that a number must lie in, both ends included.
    option
        The option, where it is not the name of the field. Neighbouring fields with the same option
        are set by it together; the first of them declares its help and its range.
    type_
        The type of the option where the default is None.
    image_size
        Whether the value is a height and a width, typed as WIDTHxHEIGHT.
    added_later
        Whether recipes of earlier versions lack it. Its default is not stored then, so that these
        recipes, and the datasets made from them, stay what they are.
    variants
        The default in a variant of that name, where it is another one.
    """
    first = default[0] if isinstance(default, tuple) else default
    declared = {
        "option": option,
        "default": default,
        "type": type_ or type(first),
        "help": help_,
        "low": low,
        "high": high,
        "unit": unit,
        "choices": choices,
        "metavar": _IMAGE_SIZE if image_size else metavar,
        "variants": variants,
        "added_later": added_later,
    }
    return field(default=UNSET if variants else default, metadata={_KEY: declared})


def knobs_of(recipe: Any) -> list[Knob]:
    """Return the knobs of a recipe or of its class, in the order of their fields."""
    declared = [(f.name, dict(f.metadata[_KEY])) for f in fields(recipe) if _KEY in f.metadata]
    for name, values in declared:
        values["option"] = values["option"] or f"--{name.replace('_', '-')}"
    together = groupby(declared, key=lambda item: item[1]["option"])
    return [_joined(list(group)) for _, group in together]


def _joined(group: list[tuple[str, dict[str, Any]]]) -> Knob:
    """Return the knob that sets one field, or several fields together."""
    names, first = tuple(name for name, _ in group), group[0][1]
    if len(group) > 1:
        first = {**first, "default": tuple(values["default"] for _, values in group)}
    return Knob(fields=names, **first)


def _variant(recipe: Any) -> str:
    """Return the variant that a recipe is: the value of the field named by `defaults_by`."""
    return str(getattr(recipe, getattr(recipe, "defaults_by", ""), ""))


def settle(recipe: Any) -> None:
    """Give knobs that are not set the default of the recipe's variant, and check all of them.

    Called by `__post_init__` of a recipe.
    """
    declared = knobs_of(recipe)
    # First, so that a variant that does not exist is not mistaken for one without own defaults.
    for each in declared:
        if each.fields == (getattr(recipe, "defaults_by", ""),):
            each.check(each.value_in(recipe))
    for each in declared:
        value = each.value_in(recipe)
        if value is UNSET:
            value = each.default_in(_variant(recipe))
        if isinstance(value, list):
            value = tuple(value)
        for name, part in zip(each.fields, value if each.fields[1:] else (value,), strict=True):
            object.__setattr__(recipe, name, part)
        each.check(value)


def changed_options(recipe: Any, **defaults: Any) -> list[str]:
    """Return the options for all knobs that differ from the default of the recipe's variant.

    `defaults` replace declared ones that depend on the rest of the recipe.
    """
    found: list[str] = []
    for each in knobs_of(recipe):
        value = each.value_in(recipe)
        if value != defaults.get(each.name, each.default_in(_variant(recipe))):
            found += each.written(value)
    return found


def knob_options(recipe: type[Any]) -> Decorator:
    """Return a decorator that adds an option for every knob; what is not given is None."""

    def decorate(function: Any) -> Any:
        for each in reversed(knobs_of(recipe)):
            function = _option(each)(function)
        return function

    return decorate


def _option(declared: Knob) -> Decorator:
    help_, names = declared.help + _defaults(declared), declared.option
    kind: Any = declared.type
    metavar = declared.metavar or None
    if declared.type is bool:
        names = f"{declared.option}/--no-{declared.option[2:]}"
    elif declared.metavar == _IMAGE_SIZE:
        kind = ImageSize()
    elif declared.many > 1:
        kind, metavar = (declared.type,) * declared.many, "MIN MAX"
    elif declared.choices:
        # Not click's own choice: the recipe checks it, with the same message as in Python.
        if metavar:
            help_ = f"{declared.help} One of: {', '.join(declared.choices)}.{_defaults(declared)}"
        metavar = metavar or f"[{'|'.join(declared.choices)}]"
    return click.option(names, declared.name, type=kind, default=None, metavar=metavar, help=help_)


def _defaults(declared: Knob) -> str:
    """Return what is said after the help text: `  [0–1; default: 0.25; scene: 0.46]`."""
    numbers = declared.type in (int, float)
    said = [_range(declared)] if numbers else []
    if declared.default is not None:
        said.append(f"default: {_shown(declared, declared.default)}")
    said += [f"{name}: {_shown(declared, value)}" for name, value in declared.variants.items()]
    return f"  [{'; '.join(said)}]"


def _shown(declared: Knob, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return declared.spelled(value)


def take_knobs(recipe: type[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Take the knobs that were given out of a command's options, by the names of their fields."""
    taken: dict[str, Any] = {}
    for each in knobs_of(recipe):
        value = options.pop(each.name, None)
        if value is not None:
            taken |= zip(each.fields, value if each.fields[1:] else (value,), strict=True)
    return taken


def knob_table(recipe: type[Any], *variants: str) -> str:
    """Return the knobs as a table in Markdown, with the default in every variant."""
    return "\n".join(_rows(recipe, variants)) + "\n"


def _rows(recipe: type[Any], variants: tuple[str, ...]) -> Iterator[str]:
    yield f"| option | {' | '.join(variants or ('default',))} | range | |"
    yield "|---|" + "---|" * (max(len(variants), 1) + 2)
    for each in knobs_of(recipe):
        chooses = each.fields == (getattr(recipe, "defaults_by", ""),)
        values = [v if chooses else _cell(each, each.default_in(v)) for v in variants or ("",)]
        yield f"| `{each.option}` | {' | '.join(values)} | {_range(each)} | {each.help} |"


def _cell(declared: Knob, value: Any) -> str:
    if value is None:
        return "–"
    if declared.metavar != _IMAGE_SIZE and isinstance(value, tuple):
        return "–".join(map(_short, value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return _short(value) if number else _shown(declared, value)


def _range(declared: Knob) -> str:
    if declared.type is bool:
        return "yes, no" if declared.option.endswith("=") else ""
    if declared.type is str:
        return ", ".join(declared.choices) or declared.metavar.replace("|", ", ")
    unit = f" {declared.unit}" if declared.unit else ""
    if math.isinf(declared.high):
        return f"{_short(declared.low)} or more{unit}"
    return f"{_short(declared.low)}–{_short(declared.high)}{unit}"


def _short(value: float) -> str:
    """Write a number for people: 0.333, 10,000.

    >>> _short(1 / 3), _short(10_000), _short(2.0), _short(0.00001)
    ('0.333', '10,000', '2', '1e-05')
    """
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:.3g}"
