"""Studio: fonts, words and grounds, found on this machine and opened for rendering."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import cv2
import numpy as np

from fonts import Face, fingerprint, load
from ivl_shards import UserError
from ivl_shards.schema import Array
from textblocks_gen.backgrounds import Pool, make_pool, texture_fingerprint
from textblocks_gen.lexicon import load_lexicon
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.render import Studio, make_grain
from textblocks_gen.typeface import load_typefaces
from textblocks_gen.words import character_index, characters_needed, readable_words

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Where fonts, words and grounds are; None stands for the default of each."""

    fonts: Path | None = None
    lexicon: Path | None = None
    backgrounds: Path | None = None


def complete(recipe: TextRecipe, source: Source) -> TextRecipe:
    """The recipe with the fingerprints of what it draws from: equal recipes, equal content."""
    if source.backgrounds is None:
        grounds = texture_fingerprint(recipe.seed, recipe.height, recipe.width)
    else:
        grounds = _pool(source, recipe.seed, recipe.height, recipe.width).fingerprint
    return replace(
        recipe,
        fonts=fingerprint(usable_faces(recipe, source)),
        lexicon=load_lexicon(source.lexicon).fingerprint,
        backgrounds=grounds,
    )


@lru_cache(maxsize=2)
def open_studio(recipe: TextRecipe, source: Source) -> Studio:
    """Everything that rendering needs, once a process."""
    if complete(recipe, source) != recipe:
        raise UserError(
            "fonts, words or backgrounds here are not those of the recipe: all machines of a "
            "cluster need the same ones"
        )
    words, faces = _words(recipe, source), usable_faces(recipe, source)
    characters = characters_needed(recipe, words)
    typefaces = load_typefaces(faces, characters, recipe.line_pixels()[1])
    return Studio(
        recipe=recipe,
        faces=typefaces,
        face_ids=tuple(face.id for face in faces),
        caps_only=tuple(face.caps_only for face in faces),
        script=tuple(face.style == "handwriting" for face in faces),
        index=character_index(characters),
        words=words,
        lengths=np.array([len(word) for word in words]),
        widths=np.stack(
            [_mean_widths(typefaces.advance, characters, text) for text in _both_cases(words)], 1
        ),
        pool=_turned(_pool(source, recipe.seed, recipe.height, recipe.width)),
        grain=make_grain(recipe),
    )


def _both_cases(words: Sequence[str]) -> tuple[str, str]:
    text = "".join(words)
    return text, text.upper()


def _mean_widths(advance: Array, characters: str, text: str) -> Array:
    """Mean width of the letters of a text in each face, (F,), in em.

    Summed one letter after the other: a matrix product may round differently elsewhere.
    """
    total = np.zeros(len(advance))
    for k, character in enumerate(characters):
        total += advance[:, k].astype(np.float64) * text.count(character)
    return total / len(text)


def _turned(pool: Pool) -> Pool:
    """The pool with its images in BGR."""
    images = tuple(cv2.cvtColor(image, cv2.COLOR_RGB2BGR) for image in pool.images)
    return replace(pool, images=images)


@lru_cache(maxsize=2)
def _pool(source: Source, seed: int, height: int, width: int) -> Pool:
    return make_pool(source.backgrounds, seed, height, width)


@lru_cache(maxsize=4)
def _words(recipe: TextRecipe, source: Source) -> tuple[str, ...]:
    """The words that can be drawn in a line of the image."""
    found = load_lexicon(source.lexicon).words
    words = readable_words(recipe, found)
    if len(words) < len(found):
        longest = max(found, key=len)
        left_out = (
            f"{len(found) - len(words)} of {len(found)} words are too long for a line and left "
            f"out, such as '{longest[:30]}…'"
        )
        if not words:
            raise UserError(f"{source.lexicon}: {left_out}; use a larger --size or other words")
        _warn(f"{source.lexicon}: {left_out}")
    return words


@lru_cache(maxsize=4)
def usable_faces(recipe: TextRecipe, source: Source) -> tuple[Face, ...]:
    """The faces that have every character that may be drawn."""
    needed = set(characters_needed(recipe, _words(recipe, source))) - {" "}
    capitals = set("".join(needed).upper())
    found = _load(source.fonts)
    faces = tuple(
        face for face in found if face.characters >= (capitals if face.caps_only else needed)
    )
    if not faces:
        best = max(found, key=lambda face: len(face.characters & needed))
        lacking = "".join(sorted(needed - best.characters))
        raise UserError(
            f"none of {len(found)} fonts has all characters of the words; the best, {best.id}, "
            f"lacks {lacking[:40]!r}"
        )
    if len(faces) < len(found):
        _warn(
            f"{len(found) - len(faces)} of {len(found)} fonts lack characters that may be drawn "
            "and are left out"
        )
    return faces


# Screening a folder takes long, and it warns of what it leaves out: once is enough for both.
_load = cache(load)


@cache
def _warn(message: str) -> None:
    log.warning(message)
