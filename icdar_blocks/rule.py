"""Rule: how words become lines and lines become blocks, each choice by name.

The paper's sentence: "text lines are formed by linking together pairs of words with relative
distance at most half, and three times the minimum of their heights, along the vertical and
horizontal directions respectively; then, the bounding boxes of these lines are doubled along
the height, and those with area of intersection at least a third of the maximum of their areas
are merged into text-blocks." docs/ICDAR.md tells what it leaves open.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from icdar_blocks.words import Word
from ivl_shards import UserError
from ivl_shards.generation.recipe import require

CHOICES = {
    "vertical": ("tops", "centres", "bottoms"),
    "horizontal": ("edges", "centres"),
    "area": ("original", "grown"),
    "of": ("larger", "smaller"),
    "counted": ("alnum3", "all"),
}


@dataclass(frozen=True)
class Rule:
    """One reading of the paper's sentence."""

    vertical: str = "tops"
    """Between which parts of two words the vertical distance is taken."""
    horizontal: str = "edges"
    """`edges`: the gap between two words, 0 where they overlap; or their `centres`."""
    rise: float = 0.5
    """Most vertical distance of linked words, times the smaller height; the paper's half."""
    reach: float = 3.0
    """Most horizontal distance of linked words, times the smaller height; the paper's three."""
    growth: float = 3.0
    """Height of a line's box after growing about its centre, times its height before."""
    area: str = "original"
    """Which area the intersection of two grown boxes is compared with: before or after."""
    of: str = "larger"
    """Of which of the two; the paper's "maximum of their areas"."""
    share: float = 1 / 3
    """Least intersection, times that area; the paper's third."""
    repeated: bool = True
    """Whether merged boxes are grown and merged again, until none does; else once."""
    counted: str = "alnum3"
    """Words that count in the table: `alnum3`, three or more letters or digits; or `all`."""

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            value = getattr(self, name)
            require(value in known, f"{name} '{value}': choose from {', '.join(known)}")
        for name, least in (("rise", 0), ("reach", 0), ("growth", 1)):
            value = getattr(self, name)
            require(math.isfinite(value) and value >= least, f"{name} {value}: at least {least}")
        # With a share of 0 the two ends of a scene would touch.
        require(0 < self.share < math.inf, f"share {self.share}: above 0")

    def counts(self, word: Word) -> bool:
        """Whether a word counts.

        >>> [PUBLISHED.counts(Word(0, 0, 1, 1, text)) for text in ("the", "24", "J&J", "A4x")]
        [True, False, False, True]
        """
        if self.counted == "all":
            return True
        return len(word.text) >= 3 and word.text.isascii() and word.text.isalnum()


PUBLISHED = Rule()
"""The reading that comes closest to the published table; `icdar_blocks.search` found it."""

LITERAL = Rule(vertical="centres", growth=2.0, area="grown", repeated=False, counted="all")
"""The sentence to the letter."""

RULES = {"published": PUBLISHED, "literal": LITERAL}


def choose(rule: Rule, choices: Iterable[str]) -> Rule:
    """The rule with some choices made otherwise, each written as `name=value`.

    >>> choose(LITERAL, ["growth=3", "repeated=yes"]).growth
    3.0
    """
    types = {field.name: field.type for field in fields(Rule)}
    for choice in choices:
        name, _, value = choice.partition("=")
        require(name in types, f"'{choice}': write name=value, name one of {', '.join(types)}")
        made: dict[str, Any] = {name: _typed(name, value, types[name])}
        rule = replace(rule, **made)
    return rule


def _typed(name: str, value: str, kind: object) -> str | float | bool:
    if kind is bool:
        require(value in ("yes", "no"), f"{name} '{value}': yes or no")
        return value == "yes"
    if kind is float:
        try:
            return float(value)
        except ValueError:
            raise UserError(f"{name} '{value}': not a number") from None
    return value
