"""Words: what the lines of a block say."""

from collections.abc import Sequence

import numpy as np

from ivl_shards.schema import Array
from textblocks_gen.recipe import TextRecipe

PUNCTUATION = ",.;:!?"
DIGITS = "0123456789"
# Room for a word in the text of its line, in bytes of UTF-8; with a mark and a space it is 48.
WORD_BYTES = 46
_MOST_LETTERS = 44
# Width of a narrow letter over the height of a line.
_NARROW = 0.35


def readable_words(recipe: TextRecipe, words: Sequence[str]) -> tuple[str, ...]:
    """The words that are not too long for a line of the image, nor for the field of its text."""
    longest = min(_MOST_LETTERS, int(recipe.width / (_NARROW * recipe.line_pixels()[0])))
    return tuple(w for w in words if len(w) <= longest and len(w.encode()) <= WORD_BYTES)


def characters_needed(recipe: TextRecipe, words: Sequence[str]) -> str:
    """Every character that may be drawn, sorted, the space first."""
    found = set("".join(words))
    found |= set("".join(found).upper()) | set("".join(found).lower())
    if recipe.punctuation:
        found |= set(PUNCTUATION)
    if recipe.digits:
        found |= set(DIGITS)
    return " " + "".join(sorted(found - {" "}))


def character_index(characters: str) -> Array:
    """The number of each character by code point; others have that of the space."""
    codes = [ord(character) for character in characters]
    index = np.zeros(max(codes) + 1, np.int32)
    index[codes] = np.arange(len(codes))
    return index


def draw_case(recipe: TextRecipe, draw: float, caps_only: bool, script: bool) -> str:
    """How a block is set: `upper`, `title`, or as the words stand in the lexicon.

    A handwriting is not set in capitals alone: its swashes make them unreadable.
    """
    if caps_only or (draw < recipe.upper_case and not script):
        return "upper"
    if recipe.upper_case <= draw < recipe.upper_case + recipe.title_case:
        return "title"
    return "as is"


def set_words(
    recipe: TextRecipe, chosen: list[str], case: str, rng: np.random.Generator
) -> list[str]:
    """The words of one line as they are written: case, and digits and punctuation if asked for."""
    if recipe.digits or recipe.punctuation:
        chosen = _decorated(recipe, chosen, rng)
    if case == "upper":
        return [_same_length(word, word.upper()) for word in chosen]
    if case == "title":
        return [_same_length(word, word[:1].upper() + word[1:]) for word in chosen]
    return chosen


def _same_length(word: str, changed: str) -> str:
    """The changed word; but ß and its like become two letters in capitals and stay as they are."""
    return changed if len(changed) == len(word) else word


def _decorated(recipe: TextRecipe, words: list[str], rng: np.random.Generator) -> list[str]:
    draws = rng.random((len(words), 4)).tolist()
    for k, (number, value, mark, which) in enumerate(draws):
        if number < recipe.digits:
            words[k] = str(int(10 ** (1 + int(value * 3.999)) * (0.1 + 0.9 * (value * 997 % 1))))
        if mark < recipe.punctuation:
            words[k] += PUNCTUATION[int(which * len(PUNCTUATION))]
    return words
