"""Backgrounds: what text lies on, as a pool in memory from which samples take crops.

A pool is made once a process, from textures or from a folder of photographs. Taking a crop
costs some tens of microseconds.
"""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numba import njit
from PIL import Image, ImageOps

from ivl_shards.errors import UserError
from textblocks_gen.noise import Rng
from textblocks_gen.textures import TEXTURES, Pixels

log = logging.getLogger(__name__)

PHOTOGRAPHS = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff"})
# Raise it when a texture changes: it is all that the fingerprint of textures says of them.
_TEXTURES_VERSION = 1
# Five of each kind: 55 MB at the least size, made in about 0.7 s.
_TEXTURES = 5 * len(TEXTURES)
# Pixels of an image in the pool: room to move a crop, and a bound for memory.
_AREA = 640 * 480
# Photographs in memory: 180 MB at most for canvases up to 640×480.
_PHOTOGRAPHS = 192
# A photograph is enlarged at most so much to cover the canvas; beyond that it is too small.
_MOST_ENLARGED = 2
# Brightness is shifted by so much of 255: less up than down, where paper would burn out.
_DARKEST, _LIGHTEST = -28, 12


@dataclass(frozen=True)
class Pool:
    """Images in memory, each at least as large as the canvas."""

    images: tuple[Pixels, ...]
    fingerprint: str
    """sha256 that tells what the images are, for a recipe to hold."""


@dataclass(frozen=True)
class Background:
    """A crop of the pool."""

    pixels: Pixels
    """Of its own: may be drawn on."""
    image: int
    """Number of the image in the pool."""


def texture_pool(seed: int, height: int, width: int, count: int = _TEXTURES) -> Pool:
    """A pool of procedural textures for a canvas; kinds take turns.

    >>> pool = texture_pool(seed=0, height=256, width=384, count=2)
    >>> [image.shape for image in pool.images]
    [(480, 640, 3), (480, 640, 3)]
    """
    tall, wide = max(480, height * 5 // 4), max(640, width * 5 // 4)
    images = tuple(_texture(seed, k, tall, wide) for k in range(count))
    return Pool(images, texture_fingerprint(seed, height, width, count))


def texture_fingerprint(seed: int, height: int, width: int, count: int = _TEXTURES) -> str:
    """The fingerprint of a pool of textures, without making it."""
    name = f"textures {_TEXTURES_VERSION} {seed} {height} {width} {count}"
    return hashlib.sha256(name.encode()).hexdigest()


def _texture(seed: int, k: int, height: int, width: int) -> Pixels:
    rng = np.random.Generator(np.random.Philox(key=np.array([seed, k], np.uint64)))
    return TEXTURES[k % len(TEXTURES)](rng, height, width)


def photograph_pool(
    folder: Path | str, seed: int, height: int, width: int, limit: int = _PHOTOGRAPHS
) -> Pool:
    """A pool of the photographs in a folder and the folders below it.

    Unreadable, truncated and too small files are skipped with a warning. Of more than `limit`
    photographs, which ones are taken depends on the seed alone, and not on the machine.
    """
    paths = list_photographs(folder)
    shuffled = np.random.Generator(np.random.Philox(key=seed)).permutation(len(paths))
    images: list[Pixels] = []
    digest = hashlib.sha256(f"photographs {height} {width}\n".encode())
    for path, content, pixels in _decoded([paths[i] for i in shuffled], height, width):
        images.append(pixels)
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode())
        digest.update(hashlib.sha256(content).digest())
        if len(images) == limit:
            break
    if not images:
        raise UserError(
            f"{folder}: none of its {len(paths):,} photographs can be used for a canvas of "
            f"{width}×{height} pixels"
        )
    return Pool(tuple(images), digest.hexdigest())


def list_photographs(folder: Path | str) -> Sequence[Path]:
    """The photographs of a folder by suffix, sorted the same way everywhere."""
    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"{folder}: is not a folder: --backgrounds takes a folder of photographs")
    found = (p for p in root.rglob("*") if p.suffix.lower() in PHOTOGRAPHS and p.is_file())
    paths = sorted(found, key=lambda path: path.relative_to(root).as_posix())
    if not paths:
        kinds = " ".join(sorted(PHOTOGRAPHS))
        raise UserError(f"{folder}: has no photographs ({kinds})")
    return paths


def _decoded(
    paths: Sequence[Path], height: int, width: int
) -> Iterator[tuple[Path, bytes, Pixels]]:
    for path in paths:
        try:
            content = path.read_bytes()
            yield path, content, _fitted(path, height, width)
        # Pillow raises SyntaxError and ValueError, too, on files that are not what they seem.
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            log.warning("%s: skipped: %s", path, reason)


def _fitted(path: Path, height: int, width: int) -> Pixels:
    """A photograph in RGB, covering the canvas, and not much larger than `_AREA`."""
    with Image.open(path) as file:
        # JPEG decodes at a half, a quarter or an eighth for a part of the cost.
        file.draft("RGB", _size(file.width, file.height, height, width))
        image = ImageOps.exif_transpose(file).convert("RGB")
    # Pillow's filters work in whole numbers on 8 bits: the same pixels everywhere.
    size = _size(image.width, image.height, height, width)
    return np.asarray(image.resize(size, Image.Resampling.BILINEAR))


def _size(wide: int, tall: int, height: int, width: int) -> tuple[int, int]:
    """Width and height of a photograph in the pool; ValueError if it is too small."""
    cover = max(width / wide, height / tall)
    if cover > _MOST_ENLARGED:
        raise ValueError(f"{wide}×{tall} pixels are too few for {width}×{height}")
    scale = max(cover, min(1.0, (_AREA / (wide * tall)) ** 0.5))
    return max(round(wide * scale), width), max(round(tall * scale), height)


def make_pool(folder: Path | str | None, seed: int, height: int, width: int) -> Pool:
    """The pool for a canvas: photographs of a folder, or textures if there is none."""
    if folder is None:
        return texture_pool(seed, height, width)
    return photograph_pool(folder, seed, height, width)


def crop(pool: Pool, rng: Rng, height: int, width: int) -> Background:
    """A random piece of a random image, perhaps mirrored, a little lighter or darker.

    The canvas must not be larger than the one that the pool was made for.
    """
    # One call for all draws: each call costs as much as the draws themselves.
    which, down, across, mirror, light = rng.random(5).tolist()
    number = int(which * len(pool.images))
    image = pool.images[number]
    tall, wide, _ = image.shape
    top, left = int(down * (tall - height + 1)), int(across * (wide - width + 1))
    piece = image[top : top + height, left : left + width]
    pixels = cv2.flip(piece, 1) if mirror < 0.5 else piece.copy()
    shift(pixels, _DARKEST + int(light * (_LIGHTEST - _DARKEST + 1)))
    return Background(pixels, number)


@njit(cache=True)  # type: ignore[untyped-decorator]
def shift(image: Pixels, by: int) -> None:
    """Make an image lighter, or darker where `by` is negative; it stops at white and black.

    Compiled because neither OpenCV nor NumPy adds a number to bytes, saturating, in one pass.
    """
    up, down = np.uint8(max(by, 0)), np.uint8(max(-by, 0))
    brightest = np.uint8(255 - up)
    values = image.reshape(-1)
    for k in range(len(values)):
        values[k] = max(np.uint8(min(values[k], brightest) + up), down) - down
