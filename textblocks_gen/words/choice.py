"""Word choice: from a lexicon or a running text to the words that a recipe may draw."""

from dataclasses import dataclass
from pathlib import Path

from ivl_shards.errors import UserError
from textblocks_gen.holdout import kept, passages
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.words.filters import charset_of, is_in, without_profanity
from textblocks_gen.words.lexicon import fingerprint_of, load_lexicon, load_text
from textblocks_gen.words.spelling import readable_words


@dataclass(frozen=True)
class ChosenWords:
    """The words that may be drawn, and how many were left out."""

    words: tuple[str, ...]
    running: bool
    """Whether they are a text, to be read in this order."""
    fingerprint: str
    profane: int
    """How many words were left out as slurs or profanity."""
    warnings: tuple[str, ...]
    """Lines to be shown about words that were left out for other reasons."""


def choose_words(recipe: TextRecipe, lexicon: Path | None, text: Path | None) -> ChosenWords:
    """Load the words and leave out those that the recipe does not want or cannot draw."""
    if lexicon and text:
        raise UserError("--lexicon and --text: give one of them")
    if recipe.charset != "ascii" and not (lexicon or text):
        raise UserError(
            f"--charset {recipe.charset}: the default words are English: give words with --lexicon "
            "or a text with --text"
        )
    all_words = load_text(text) if text else load_lexicon(lexicon).words
    place, warnings = str(text or lexicon or "the default lexicon"), []
    known = _in_charset(recipe, all_words, place)
    if len(known) < len(all_words):
        other = next(word for word in all_words if not is_in(recipe.charset, word))
        warnings.append(
            f"{place}: {len(all_words) - len(known):,} of {len(all_words):,} words have characters "
            f"that are not in --charset {recipe.charset} and are left out, such as '{other[:30]}'"
        )
    decent = known if recipe.unfiltered else without_profanity(known)
    if not decent:
        raise UserError(f"{place}: has only slurs and profanity: --unfiltered draws them")
    mine = _of_split(recipe, decent, running=bool(text))
    words = readable_words(recipe, mine)
    if len(words) < len(mine):
        left_out = (
            f"{len(mine) - len(words)} of {len(mine)} words are too long for a line and left out, "
            f"such as '{max(mine, key=len)[:30]}…'"
        )
        if not words:
            raise UserError(f"{place}: {left_out}; use a larger --size or other words")
        warnings.append(f"{place}: {left_out}")
    return ChosenWords(
        words,
        bool(text),
        fingerprint_of(words, running=bool(text)),
        len(known) - len(decent),
        tuple(warnings),
    )


def _in_charset(recipe: TextRecipe, words: tuple[str, ...], place: str) -> tuple[str, ...]:
    known = tuple(word for word in words if is_in(recipe.charset, word))
    if not known:
        fits = charset_of(words[0])
        raise UserError(
            f"{place}: none of its {len(words):,} words is in --charset {recipe.charset}, such as "
            f"'{words[0][:30]}'" + (f": give --charset {fits}" if fits else "")
        )
    return known


def _of_split(recipe: TextRecipe, words: tuple[str, ...], running: bool) -> tuple[str, ...]:
    """Return the words of the recipe's split; of a running text, its passages."""
    if not recipe.holds_out("words"):
        return words
    if not running:
        # Whatever their case: `Polish` and `polish` look the same in capitals.
        return kept("words", recipe.split, words, str.casefold)
    found = kept("words", recipe.split, passages(words), " ".join)
    return tuple(word for passage in found for word in passage)
