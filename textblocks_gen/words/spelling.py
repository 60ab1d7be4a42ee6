"""Spelling: words as lines show them: case, numbers, codes, punctuation."""

from collections.abc import Sequence

import numpy as np

from ivl_shards.format.schema import Array
from textblocks_gen.recipe import TextRecipe

PUNCTUATION = ",.;:!?"
DIGITS = "0123456789"
# Patterns of what signs say beside words; 0 stands for any digit, 1 for any but 0.
CODES = (
    "$1.00",
    "$10",
    "$10.00",
    "10%",
    "-10%",
    "1:00",
    "10:00",
    "10.00",
    "1am",
    "10pm",
    "1-10",
    "100-0000",
    "000-000-0000",
    "(100)",
    "#1",
    "#10",
    "No.1",
    "A10",
    "B1000",
    "M1",
    "1st",
    "10th",
    "20mph",
    "10kg",
    "100m",
    "1000ml",
    "24h",
    "24/7",
    "1/10",
    "10+",
    "&",
    "+",
    "Mr.",
    "Dr.",
    "St.",
    "Rd.",
    "Ltd",
    "Ltd.",
    "Co.",
    "Inc.",
    "e.g.",
    "PO",
    "TV",
    "UK",
    "USA",
    "VAT",
    "A&E",
    "B&B",
    "R&D",
    "Q&A",
    "DVD",
    "PIN",
    "OK",
    "T-10",
    "H10",
    "1A",
    "10B",
    "C/O",
)
# Room for a word in the text of its line, in bytes of UTF-8; with a mark and a space it is 48.
WORD_BYTES = 46
_MOST_LETTERS = 44
# Type of the text of a word by itself.
OTHER_TEXT = f"S{WORD_BYTES}"
# Width of a narrow letter over the height of a line.
_NARROW = 0.35


def readable_words(recipe: TextRecipe, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words that fit a line of the image, and the field of its text."""
    longest = min(_MOST_LETTERS, int(recipe.width / (_NARROW * recipe.line_pixels()[0])))
    return tuple(w for w in words if len(w) <= longest and len(w.encode()) <= WORD_BYTES)


def characters_needed(recipe: TextRecipe, words: Sequence[str]) -> str:
    """Return every character that may be drawn, sorted, the space first."""
    found = set("".join(words))
    # Some letters become two in the other case; words with them are not changed.
    found |= {c for a in found for c in (a.upper(), a.lower()) if len(c) == 1}
    if recipe.punctuation:
        found |= set(PUNCTUATION)
    if recipe.digits:
        found |= set(DIGITS)
    if recipe.codes:
        found |= set("".join(CODES)) | set("".join(CODES).upper()) | set(DIGITS)
    return " " + "".join(sorted(found - {" "}))


def capitals_needed(recipe: TextRecipe, words: Sequence[str]) -> set[str]:
    """Return every character that may be drawn in a face that has capitals alone."""
    marks = characters_needed(recipe, ()).strip()
    return set("".join(set_case((*words, *marks), "upper")))


def character_index(characters: str) -> Array:
    """Return the number of each character by code point; others have that of the space."""
    codes = [ord(character) for character in characters]
    index = np.zeros(max(codes) + 1, np.int32)
    index[codes] = np.arange(len(codes))
    return index


def set_words(
    recipe: TextRecipe, chosen: list[str], case: str, rng: np.random.Generator
) -> list[str]:
    """Return the words of a line as they are written: case, digits and punctuation."""
    if recipe.digits or recipe.codes or recipe.punctuation:
        chosen = _decorated(recipe, chosen, rng)
    return set_case(chosen, case)


def set_case(chosen: Sequence[str], case: str) -> list[str]:
    """Return words in capitals, with a capital each, or as they are."""
    if case == "upper":
        return [_same_length(word, word.upper()) for word in chosen]
    if case == "title":
        return [_same_length(word, word[:1].upper() + word[1:]) for word in chosen]
    return list(chosen)


def _same_length(word: str, changed: str) -> str:
    """Return the changed word; but words with ß, which becomes two letters, stay as they are."""
    return changed if len(changed) == len(word) else word


def _decorated(recipe: TextRecipe, words: list[str], rng: np.random.Generator) -> list[str]:
    draws = rng.random((len(words), 4)).tolist()
    for k, (kind, value, mark, which) in enumerate(draws):
        if kind < recipe.digits:
            words[k] = str(int(10 ** (1 + int(value * 3.999)) * (0.1 + 0.9 * (value * 997 % 1))))
        elif kind < recipe.digits + recipe.codes:
            words[k] = _code(value, len(words[k]), rng)
        if mark < recipe.punctuation:
            words[k] += PUNCTUATION[int(which * len(PUNCTUATION))]
    return words


def _code(value: float, longest: int, rng: np.random.Generator) -> str:
    """Return a code no longer than the word that it replaces, or the shortest there is."""
    fitting = [code for code in CODES if len(code) <= longest] or ["&"]
    pattern = fitting[int(value * len(fitting))]
    digits = rng.integers(0, 9, len(pattern)).tolist()
    return "".join(
        str(digit) if sign == "0" else str(digit + 1) if sign == "1" else sign
        for sign, digit in zip(pattern, digits, strict=True)
    )


def line_bytes(recipe: TextRecipe) -> int:
    """Return the room for the text of a line, in bytes of UTF-8."""
    return (WORD_BYTES + 2) * recipe.words[1]
