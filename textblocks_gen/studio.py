"""Studio: fonts, words and backgrounds, found on this machine and opened for rendering."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import cv2
import numpy as np

from fonts import Face, fingerprint, load
from ivl_shards import UserError
from ivl_shards.format.schema import Array
from textblocks_gen.backgrounds.pool import Pool, PoolRecipe, make_pool
from textblocks_gen.effects.camera import CameraFields, make_camera_fields
from textblocks_gen.effects.look import Faces
from textblocks_gen.holdout import kept
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.typesetting.block import FACE_NAME, Lettering, Vocabulary, make_vocabulary
from textblocks_gen.typesetting.typeface import load_typefaces
from textblocks_gen.typesetting.typeset import Metrics
from textblocks_gen.words.choice import ChosenWords, choose_words
from textblocks_gen.words.spelling import capitals_needed, character_index, characters_needed

log = logging.getLogger(__name__)

# Images of the pool that letters are textured with.
_TEXTURES = 40
_PLAIN = ("sans", "serif", "mono")


@dataclass(frozen=True)
class Studio:
    """What samples are made from, opened once a process; nothing in it changes."""

    recipe: TextRecipe
    lettering: Lettering
    vocabulary: Vocabulary
    pool: Pool
    """Its images in BGR, OpenCV's order, so that samples need not be converted to be encoded."""
    textures: tuple[Array, ...]
    """Grey textures for letters."""
    camera: CameraFields


@dataclass(frozen=True)
class Inputs:
    """Where fonts, words and backgrounds are; None stands for the default of each."""

    fonts: Path | None = None
    lexicon: Path | None = None
    backgrounds: Path | None = None
    text: Path | None = None
    """A file of running text instead of a lexicon."""


def complete(recipe: TextRecipe, source: Inputs) -> TextRecipe:
    """Return the recipe with the fingerprints of its inputs: equal recipes, equal content."""
    wanted = _pool_recipe(recipe, source)
    return replace(
        recipe,
        fonts=fingerprint(usable_faces(recipe, source)),
        lexicon=words_of(recipe, source).fingerprint,
        # The recipe of textures and scenes identifies them; they need not be drawn for that.
        backgrounds=(_pool(wanted) if wanted.folder else wanted).fingerprint,
    )


@lru_cache(maxsize=2)
def open_studio(recipe: TextRecipe, source: Inputs) -> Studio:
    """Open everything that rendering needs, once a process."""
    if complete(recipe, source) != recipe:
        raise UserError(
            "fonts, words or backgrounds here are not those of the recipe: all machines of a "
            "cluster need the same ones"
        )
    chosen, faces = words_of(recipe, source), usable_faces(recipe, source)
    words = chosen.words
    characters = characters_needed(recipe, words)
    typefaces = load_typefaces(faces, characters, _outline_size(recipe))
    index = character_index(characters)
    pool = _turned(_pool(_pool_recipe(recipe, source)))
    return Studio(
        recipe=recipe,
        lettering=Lettering(
            faces=typefaces,
            ids=tuple(face.id for face in faces),
            names=np.array([face.id.encode() for face in faces], FACE_NAME),
            kinds=Faces(
                caps_only=tuple(face.caps_only for face in faces),
                script=tuple(face.style == "handwriting" for face in faces),
                plain=tuple(k for k, face in enumerate(faces) if face.style in _PLAIN),
            ),
            metrics=Metrics(
                index, typefaces.advance, typefaces.kern, typefaces.box, typefaces.line
            ),
            widths=np.stack(
                [_mean_widths(typefaces.advance, characters, t) for t in _both_cases(words)], 1
            ),
        ),
        vocabulary=make_vocabulary(words, chosen.running),
        pool=pool,
        camera=make_camera_fields(recipe),
        textures=_textures(recipe, pool.images),
    )


def _outline_size(recipe: TextRecipe) -> float:
    """Return the line height in pixels that outlines are made for: coarser ones are drawn faster.

    Where heights vary much, most lines are far lower than the tallest, on which half a pixel does
    not show.
    """
    least, most = recipe.line_pixels()
    return max(most / 2, min(most, 2 * least))


def _both_cases(words: Sequence[str]) -> tuple[str, str]:
    text = "".join(words)
    return text, text.upper()


def _mean_widths(advance: Array, characters: str, text: str) -> Array:
    """Return the mean width of the letters of a text in each face, (F,), in em.

    Summed one letter after the other: a matrix product may round differently elsewhere.
    """
    total = np.zeros(len(advance))
    for k, character in enumerate(characters):
        total += advance[:, k].astype(np.float64) * text.count(character)
    return total / len(text)


def _textures(recipe: TextRecipe, images: Sequence[Array]) -> tuple[Array, ...]:
    """Return textures for letters: pieces of images in grey, with full contrast."""
    found = []
    for image in images[: _TEXTURES if recipe.texture else 1]:
        grey = cv2.cvtColor(image[: recipe.height, : recipe.width], cv2.COLOR_BGR2GRAY)
        low, high = int(grey.min()), int(grey.max())
        found.append(((grey.astype(np.int32) - low) * 255 // max(high - low, 1)).astype(np.uint8))
    return tuple(found)


def _turned(pool: Pool) -> Pool:
    """Return the pool with its images in BGR."""
    images = tuple(cv2.cvtColor(image, cv2.COLOR_RGB2BGR) for image in pool.images)
    return replace(pool, images=images)


def _pool_recipe(recipe: TextRecipe, source: Inputs) -> PoolRecipe:
    return PoolRecipe(
        recipe.height,
        recipe.width,
        recipe.seed,
        source.backgrounds,
        scenes=recipe.scenes > 0,
        split=recipe.split if recipe.holds_out("backgrounds") else "",
    )


_pool = lru_cache(maxsize=2)(make_pool)


def words_of(recipe: TextRecipe, source: Inputs) -> ChosenWords:
    """Return the words that may be drawn; warn about those that are left out."""
    return _words(_bare(recipe), source)


def usable_faces(recipe: TextRecipe, source: Inputs) -> tuple[Face, ...]:
    """Return the faces that have every character that may be drawn."""
    return _usable_faces(_bare(recipe), source)


def _bare(recipe: TextRecipe) -> TextRecipe:
    """Return the recipe without fingerprints: the key under which its inputs are cached."""
    return replace(recipe, fonts="", lexicon="", backgrounds="")


@lru_cache(maxsize=4)
def _words(recipe: TextRecipe, source: Inputs) -> ChosenWords:
    words = choose_words(recipe, source.lexicon, source.text)
    for warning in words.warnings:
        _warn(warning)
    return words


@lru_cache(maxsize=4)
def _usable_faces(recipe: TextRecipe, source: Inputs) -> tuple[Face, ...]:
    words = words_of(recipe, source).words
    needed = set(characters_needed(recipe, words)) - {" "}
    capitals = capitals_needed(recipe, words)
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
    if recipe.holds_out("fonts"):
        # Whole families: their faces look alike.
        return kept("fonts", recipe.split, faces, lambda face: face.family)
    return faces


# Screening a folder takes long, and it warns of what it leaves out: once is enough for both.
_load = cache(load)


@cache
def _warn(message: str) -> None:
    log.warning(message)
