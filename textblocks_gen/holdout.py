"""Holdout: fonts, words and backgrounds that one split has and the others never see.

A thing belongs to a split by a hash of its name or content alone. So it stays where it is when
others are added or taken away, on any machine and for any random seed.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from ivl_shards.errors import UserError

KINDS = ("fonts", "words", "backgrounds")
SPLITS = ("train", "val", "test")
# Percentage of all things that go to val and to test; train has the rest.
_VAL = _TEST = 10
# Part of every hash. The number is such that even the few families that come as Python packages
# reach all three splits.
_SALT = "held out 190"
# Consecutive words of a running text that stay together.
PASSAGE = 50

T = TypeVar("T")


def split_of(kind: str, name: str) -> str:
    """Return the split that a thing belongs to.

    >>> split_of("words", "apple"), split_of("words", "tree")
    ('train', 'test')
    """
    digest = hashlib.sha256(f"{_SALT}\n{kind}\n{name}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") % 100
    if place < _TEST:
        return "test"
    return "val" if place < _TEST + _VAL else "train"


def kept(kind: str, split: str, things: Sequence[T], name: Callable[[T], str]) -> tuple[T, ...]:
    """Return the things of a split, in their order; an error if there are none."""
    found = tuple(thing for thing in things if split_of(kind, name(thing)) == split)
    if not found:
        raise UserError(
            f"--holdout {kind}: none of {len(things):,} {kind} belongs to split '{split}': "
            f"give more {kind}, or leave {kind} out of --holdout"
        )
    return found


def passages(words: Sequence[str]) -> list[Sequence[str]]:
    """Cut a running text into passages, which are held out as wholes.

    >>> [len(passage) for passage in passages(["word"] * 120)]
    [50, 50, 20]
    """
    return [words[k : k + PASSAGE] for k in range(0, len(words), PASSAGE)]


def parse_holdout(text: str) -> tuple[str, ...]:
    """Return the kinds that a list such as `fonts,words` names, in our order; `none` names none."""
    named = {part.strip() for part in text.split(",")} - {"", "none"}
    unknown = sorted(named - set(KINDS))
    if unknown:
        raise UserError(f"--holdout {unknown[0]}: give some of {', '.join(KINDS)}, or none")
    return tuple(kind for kind in KINDS if kind in named)


def check_holdout(text: str, split: str) -> None:
    """Complain of unknown kinds, and of a split that nothing belongs to."""
    if parse_holdout(text) and split not in SPLITS:
        raise UserError(
            f"--holdout {text}: nothing belongs to --split '{split}': give one of "
            f"{', '.join(SPLITS)}, or --holdout none"
        )
