"""Studio: fonts, words and grounds, found on this machine and opened for rendering."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from fonts import Face, fingerprint, load
from ivl_shards import UserError
from textblocks_gen.backgrounds import make_pool, texture_fingerprint
from textblocks_gen.lexicon import load_lexicon
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.render import Studio, make_grain
from textblocks_gen.typeface import load_typefaces
from textblocks_gen.words import characters_needed

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Where fonts, words and grounds are; None stands for the default of each."""

    fonts: Path | None = None
    lexicon: Path | None = None
    backgrounds: Path | None = None


def complete(recipe: TextRecipe, source: Source) -> TextRecipe:
    """The recipe with the fingerprints of what it draws from: equal recipes, equal content."""
    faces, _ = _faces(recipe, source)
    if source.backgrounds is None:
        grounds = texture_fingerprint(recipe.seed, recipe.height, recipe.width)
    else:
        grounds = _pool(source, recipe.seed, recipe.height, recipe.width).fingerprint
    return replace(
        recipe,
        fonts=fingerprint(faces),
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
    faces, characters = _faces(recipe, source)
    return Studio(
        recipe=recipe,
        faces=load_typefaces(faces, characters),
        face_ids=tuple(face.id for face in faces),
        caps_only=tuple(face.caps_only for face in faces),
        index={character: k for k, character in enumerate(characters)},
        words=load_lexicon(source.lexicon).words,
        pool=_pool(source, recipe.seed, recipe.height, recipe.width),
        grain=make_grain(recipe),
    )


_pool = lru_cache(maxsize=2)(
    lambda source, seed, height, width: make_pool(source.backgrounds, seed, height, width)
)


def _faces(recipe: TextRecipe, source: Source) -> tuple[Sequence[Face], str]:
    """The faces that have every character that may be drawn, and these characters."""
    return _covering(source, recipe.punctuation > 0, recipe.digits > 0, recipe)


@lru_cache(maxsize=2)
def _covering(
    source: Source, punctuation: bool, digits: bool, recipe: TextRecipe
) -> tuple[Sequence[Face], str]:
    characters = characters_needed(recipe, load_lexicon(source.lexicon).words)
    needed = set(characters) - {" "}
    found = load(source.fonts)
    faces = tuple(
        face
        for face in found
        if face.characters >= (needed if not face.caps_only else _caps(needed))
    )
    if not faces:
        best = max(found, key=lambda face: len(face.characters & needed))
        lacking = "".join(sorted(needed - best.characters))
        raise UserError(
            f"none of {len(found)} fonts has all characters of the words; the best, {best.id}, "
            f"lacks {lacking[:40]!r}"
        )
    if len(faces) < len(found):
        log.warning("%d of %d fonts lack characters that may be drawn and are left out",
                    len(found) - len(faces), len(found))  # fmt: skip
    return faces, characters


def _caps(characters: set[str]) -> set[str]:
    return set("".join(characters).upper())
