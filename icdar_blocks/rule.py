"""Rule: how words become lines and lines become blocks, each choice by name.

The paper's sentence: "text lines are formed by linking together pairs of words with relative
distance at most half, and three times the minimum of their heights, along the vertical and
horizontal directions respectively; then, the bounding boxes of these lines are doubled along
the height, and those with area of intersection at least a third of the maximum of their areas
are merged into text-blocks." docs/ICDAR.md says what it leaves open.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from icdar_blocks.words import Word
from ivl_shards import UserError
from ivl_shards.generation.knobs import Knob, knob, knobs_of, settle
from ivl_shards.generation.recipe import require


@dataclass(frozen=True)
class Rule:
    """One reading of the paper's sentence; the defaults are the published rule's."""

    vertical: str = knob(
        "tops",
        "The parts of two words between which the vertical distance is measured.",
        choices=("tops", "centres", "bottoms"),
        option="--choice vertical=",
        literal="centres",
    )
    horizontal: str = knob(
        "edges",
        "The same for the horizontal distance; between edges it is the gap, 0 if words overlap.",
        choices=("edges", "centres"),
        option="--choice horizontal=",
    )
    rise: float = knob(
        0.5,
        "Maximum vertical distance of linked words over the smaller height; the paper's half.",
        option="--choice rise=",
    )
    reach: float = knob(
        3.0,
        "Maximum horizontal distance of linked words over the smaller height; the paper's three.",
        option="--choice reach=",
    )
    growth: float = knob(
        3.0,
        "Height of a line's box after growing about its centre, over its height before. The paper "
        'says "doubled": 2 in all, or 3 with the height added on each side.',
        1,
        option="--choice growth=",
        literal=2.0,
    )
    area: str = knob(
        "original",
        "The area that the intersection of two grown boxes is compared with: before or after "
        "growing.",
        choices=("original", "grown"),
        option="--choice area=",
        literal="grown",
    )
    of: str = knob(
        "larger",
        'Which of the two areas; the paper\'s "maximum of their areas".',
        choices=("larger", "smaller"),
        option="--choice of=",
    )
    share: float = knob(
        1 / 3, "Minimum intersection over that area; the paper's third.", option="--choice share="
    )
    repeated: bool = knob(
        True,
        "Whether merged boxes are grown and merged again until nothing changes, or only once.",
        option="--choice repeated=",
        literal=False,
    )
    counted: str = knob(
        "alnum3",
        "Words that count in the table: those of three or more letters and digits only, as in the "
        "benchmark's word spotting, or all.",
        choices=("alnum3", "all"),
        option="--choice counted=",
        literal="all",
    )

    def __post_init__(self) -> None:
        settle(self)
        # With a share of 0 the two ends of a scene would touch.
        require(self.share > 0, f"--choice share={self.share}: must be above 0")

    def counts(self, word: Word) -> bool:
        """Tell whether a word counts.

        >>> [PUBLISHED.counts(Word(0, 0, 1, 1, text)) for text in ("the", "24", "J&J", "A4x")]
        [True, False, False, True]
        """
        if self.counted == "all":
            return True
        return len(word.text) >= 3 and word.text.isascii() and word.text.isalnum()


PUBLISHED = Rule()
"""The reading that comes closest to the published table; `icdar_blocks.search` found it."""

LITERAL = Rule(**{each.fields[0]: each.default_in("literal") for each in knobs_of(Rule)})
"""The sentence to the letter."""

RULES = {"published": PUBLISHED, "literal": LITERAL}


def choose(rule: Rule, choices: Iterable[str]) -> Rule:
    """Return the rule with some choices changed, each written as `name=value`.

    >>> choose(LITERAL, ["growth=3", "repeated=yes"]).growth
    3.0
    """
    known = {each.fields[0]: each for each in knobs_of(Rule)}
    for choice in choices:
        name, _, value = choice.partition("=")
        require(
            name in known,
            f"--choice {choice}: write NAME=VALUE, the name one of {', '.join(known)}",
        )
        rule = replace(rule, **{name: _parsed(known[name], value)})
    return rule


def _parsed(declared: Knob, value: str) -> Any:
    if declared.type is bool:
        require(value in ("yes", "no"), f"{declared.option}{value}: write yes or no")
        return value == "yes"
    if declared.type is float:
        try:
            return float(value)
        except ValueError:
            raise UserError(f"{declared.option}{value}: must be a number") from None
    return value
