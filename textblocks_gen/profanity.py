"""Profanity: the words that are left out unless a user asks for all of them.

The list and its source are in profanity.txt. It is English; words of other languages pass.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files


@cache
def profanity() -> frozenset[str]:
    """Return the list, in lower case."""
    text = files("textblocks_gen").joinpath("profanity.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def is_profane(word: str) -> bool:
    """Tell whether a word, marks around it aside, is on the list as a whole.

    >>> is_profane("Bitch!"), is_profane("bitch's"), is_profane("Scunthorpe"), is_profane("cockpit")
    (True, True, False, False)
    """
    letters = word.casefold().replace("’", "'").removesuffix("'s")
    return _bare(letters) in profanity()


def without_profanity(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that are not on the list, in their order."""
    return tuple(word for word in words if not is_profane(word))


def _bare(word: str) -> str:
    """Strip what is not a letter from both ends."""
    if word.isalpha():
        return word
    first = next((k for k, c in enumerate(word) if c.isalpha()), len(word))
    last = next((k for k in range(len(word), first, -1) if word[k - 1].isalpha()), first)
    return word[first:last]
