"""Filters: the characters that words may be made of, and profanity.

The list of profanity and its source are in profanity.txt. It is English; words of other languages
pass.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from ivl_shards.errors import UserError

# All charsets have ASCII: digits and marks are the same everywhere, and signs mix scripts.
_RANGES = {
    "ascii": (),
    "latin-1": ((0xA1, 0xFF),),
    "greek": ((0x370, 0x3FF),),
    "cyrillic": ((0x400, 0x45F), (0x490, 0x491)),
}
CHARSETS = tuple(_RANGES)


def parse_charset(text: str) -> tuple[str, ...]:
    """Return the charsets that a list such as `latin-1,greek` names, in our order."""
    named = {part.strip() for part in text.lower().split(",")} - {""}
    unknown = sorted(named - set(CHARSETS))
    if unknown:
        raise UserError(f"--charset '{unknown[0]}': give some of {', '.join(CHARSETS)}")
    return tuple(charset for charset in CHARSETS if charset in named) or ("ascii",)


def is_in(charset: str, word: str) -> bool:
    """Tell whether all characters of a word are in a charset.

    >>> is_in("ascii", "naive"), is_in("ascii", "naïve"), is_in("latin-1", "naïve")
    (True, False, True)
    """
    return word.isascii() or all(_has(parse_charset(charset), character) for character in word)


def _has(charsets: Sequence[str], character: str) -> bool:
    if character.isascii():
        return True
    code = ord(character)
    return any(a <= code <= b for charset in charsets for a, b in _RANGES[charset])


def charset_of(word: str) -> str | None:
    """Return the smallest charset that a word fits in, to be suggested; None if there is none.

    >>> charset_of("мир"), charset_of("漢字")
    ('cyrillic', None)
    """
    return next((charset for charset in CHARSETS if is_in(charset, word)), None)


@cache
def profanity() -> frozenset[str]:
    """Return the list, in lower case."""
    text = files("textblocks_gen.words").joinpath("profanity.txt").read_text("utf-8")
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
