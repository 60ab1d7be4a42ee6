"""Options: which values a setting accepts, from a command line or from a file."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ivl_shards import UserError
from ivl_shards.errors import did_you_mean

# Maximal length of a value that is quoted in a message.
_MAX_QUOTED = 60


@dataclass(frozen=True)
class Option:
    """The values that a setting accepts."""

    takes: str
    """Description for error messages."""
    fits: Callable[[Any], bool]
    """Tells whether a value is accepted."""


def whole(low: int, high: int) -> Option:
    """Accept a whole number between two bounds."""
    return Option(
        f"a whole number from {low:,} to {high:,}",
        lambda value: type(value) is int and low <= value <= high,
    )


def number(low: float, high: float) -> Option:
    """Accept a number between two bounds, whole or not."""
    return Option(f"a number from {low:g} to {high:g}", lambda value: is_number(value, low, high))


def flag() -> Option:
    """Accept true or false."""
    return Option("true or false", lambda value: type(value) is bool)


def choice(*names: str) -> Option:
    """Accept one of some names."""
    return Option(" or ".join(names), lambda value: isinstance(value, str) and value in names)


def text() -> Option:
    """Accept a short line of text, which may be empty."""
    return Option("a line of text", lambda value: is_line(value))


def wholes(length: int, low: int, high: int) -> Option:
    """Accept a list of whole numbers, all between two bounds."""
    each = whole(low, high)
    return Option(
        f"a list of {length} whole numbers from {low:,} to {high:,}",
        lambda value: (
            isinstance(value, (list, tuple)) and len(value) == length and all(map(each.fits, value))
        ),
    )


def numbers(low: float, high: float, length: int | None = None) -> Option:
    """Accept a list of numbers, all between two bounds; without a length, one to eight of them."""
    many = f"{length}" if length else "1 to 8"
    return Option(
        f"a list of {many} numbers from {low:g} to {high:g}",
        lambda value: (
            isinstance(value, (list, tuple))
            and (len(value) == length if length else 1 <= len(value) <= 8)
            and all(is_number(each, low, high) for each in value)
        ),
    )


def like(default: Any) -> Option:
    """Accept values of the same type as a default, or any value for a default of another type."""
    known: dict[type, Option] = {
        bool: flag(),
        int: Option("a whole number", lambda value: type(value) is int),
        float: Option("a number", lambda value: is_number(value, -math.inf, math.inf)),
        str: text(),
    }
    return known.get(type(default), Option("any value", lambda value: True))


def is_number(value: Any, low: float, high: float) -> bool:
    """Tell whether a value is a finite number between two bounds.

    >>> is_number(0.5, 0, 1), is_number(float("nan"), 0, 1), is_number(True, 0, 1)
    (True, False, False)
    """
    if type(value) is int:
        return abs(value) < 1 << 63 and low <= value <= high
    return type(value) is float and math.isfinite(value) and low <= value <= high


def is_line(value: Any, longest: int = 1000) -> bool:
    """Tell whether a value is a line of text without control characters.

    >>> is_line("inductive, fast"), is_line("two\\nlines"), is_line("\\x1b[2J"), is_line(3)
    (True, False, False, False)
    """
    return isinstance(value, str) and len(value) <= longest and value.isprintable()


def check_options(values: Mapping[str, Any], known: Mapping[str, Option], owner: str) -> None:
    """Raise if a setting is unknown or does not accept its value; `owner` has the settings."""
    for name, value in values.items():
        if name not in known:
            raise UserError(
                f"no option '{name}' of {owner}{did_you_mean(name, known)}: "
                f"there are {', '.join(known) or 'none'}"
            )
        check_option(name, value, known[name])


def check_option(name: str, value: Any, option: Option) -> None:
    """Raise unless a setting accepts a value."""
    if not option.fits(value):
        raise UserError(f"{name}={_quote(value)}: {name} takes {option.takes}")


def _quote(value: Any) -> str:
    """Return a value as an error message quotes it: short, or the name of its type."""
    quoted = value if isinstance(value, str) else type(value).__name__
    if isinstance(value, (int, float, bool)) and not _is_huge(value):
        quoted = str(value).lower() if isinstance(value, bool) else str(value)
    return quoted if len(quoted) <= _MAX_QUOTED else f"{quoted[:_MAX_QUOTED]}…"


def _is_huge(value: float) -> bool:
    """Tell whether a number may have more digits than Python prints."""
    return isinstance(value, int) and abs(value) >= 1 << 63
