"""Pool: images in memory from which samples take crops as their background.

A pool is made once a process: of textures, of textures and drawn scenes, or of a folder of
photographs. Taking a crop costs some tens of microseconds.
"""

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np
from numba import njit
from PIL import Image, ImageOps

from ivl_shards.errors import UserError
from ivl_shards.photograph import Unreadable, open_photograph, read_bounded
from textblocks_gen.backgrounds.noise import Rng
from textblocks_gen.backgrounds.readability import PLACES, Box, Sums, quietest, sum_cells
from textblocks_gen.backgrounds.scenes import SCENES
from textblocks_gen.backgrounds.screening import FORMATS, Verdicts, has_ocr
from textblocks_gen.backgrounds.textures import TEXTURES, Pixels
from textblocks_gen.holdout import SPLITS, split_of

log = logging.getLogger(__name__)

PHOTOGRAPHS = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff"})
# Photographs that are named one by one when they are skipped.
_MOST_NAMED = 20
# Raise one when a texture or a scene changes: it is all that a fingerprint says of them.
_TEXTURES_VERSION, _SCENES_VERSION = 1, 1
# Five of each kind: 55 MB at the least size, made in about 0.7 s.
_TEXTURES = 5 * len(TEXTURES)
# Three of each kind: 28 MB at the least size, made in one to three seconds.
_SCENES = 3 * len(SCENES)
# Pixels of an image in the pool: room to move a crop, and a bound for memory.
_AREA = 640 * 480
# Photographs in memory: 180 MB at most for canvases up to 640×480.
_PHOTOGRAPHS = 192
# New verdicts on photographs are saved in between, so that a run that is stopped keeps them.
_SAVED_EVERY = 20
# A photograph is enlarged at most so much to cover the canvas; beyond that it is too small.
_MOST_ENLARGED = 2
# Brightness is shifted by so much of 255: less up than down, where paper would burn out.
_DARKEST, _LIGHTEST = -28, 12


@dataclass(frozen=True)
class Pool:
    """Images in memory, each at least as large as the canvas."""

    images: tuple[Pixels, ...]
    fingerprint: str
    """sha256 that identifies the images, stored in recipes."""
    scenes: int = 0
    """Number of drawn scenes, which are the last of the images."""

    @cached_property
    def sums(self) -> tuple[Sums, ...]:
        """Running sums of each image, which find quiet places."""
        return tuple(sum_cells(image) for image in self.images)


@dataclass(frozen=True)
class PoolRecipe:
    """What a pool is made of; equal recipes give equal pools."""

    height: int
    """Height of the canvas in pixels."""
    width: int
    seed: int = 0
    folder: Path | None = None
    """Folder of photographs; None for textures and scenes."""
    scenes: bool = False
    """Whether there are drawn scenes beside the textures."""
    split: str = ""
    """Take only what belongs to this split; '' takes all."""

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of a drawn pool, without making it."""
        name = f"textures {_TEXTURES_VERSION} {self.seed} {self.height} {self.width} {_TEXTURES}"
        if self.scenes:
            name += f" scenes {_SCENES_VERSION} {_SCENES}"
        if self.split:
            name += f" {self.split}"
        return hashlib.sha256(name.encode()).hexdigest()


def make_pool(recipe: PoolRecipe) -> Pool:
    """Make the pool: photographs of a folder, or textures and scenes if there is none.

    >>> pool = make_pool(PoolRecipe(height=256, width=384))
    >>> len(pool.images), pool.images[0].shape
    (60, (480, 640, 3))
    """
    return drawn_pool(recipe) if recipe.folder is None else photograph_pool(recipe)


def drawn_pool(recipe: PoolRecipe, count: int | None = None) -> Pool:
    """Draw textures, and scenes if they are asked for; kinds take turns.

    count: draw only so many, the first ones.
    """
    tall, wide = max(480, recipe.height * 5 // 4), max(640, recipe.width * 5 // 4)
    makers = [TEXTURES[k % len(TEXTURES)] for k in range(_TEXTURES)]
    scenes = [SCENES[k % len(SCENES)] for k in range(_SCENES)] if recipe.scenes else []
    # Splits draw from keys of their own, so that they share no image.
    first = (SPLITS.index(recipe.split) + 1) << 32 if recipe.split else 0
    images = []
    for k, make in enumerate((*makers, *scenes)[:count]):
        key = np.array([recipe.seed, first + k], np.uint64)
        images.append(make(np.random.Generator(np.random.Philox(key=key)), tall, wide))
    return Pool(tuple(images), recipe.fingerprint, max(0, len(images) - _TEXTURES))


def photograph_pool(recipe: PoolRecipe, limit: int = _PHOTOGRAPHS) -> Pool:
    """Make a pool of the photographs in a folder and the folders below it.

    Unreadable, truncated and too small files are skipped with a warning, and so are those that
    text can be read in. Of more than `limit` photographs, which ones are taken depends on the seed
    alone, and not on the machine.
    """
    assert recipe.folder is not None
    folder, height, width = recipe.folder, recipe.height, recipe.width
    paths = list_photographs(folder)
    shuffled = np.random.Generator(np.random.Philox(key=recipe.seed)).permutation(len(paths))
    images: list[Pixels] = []
    screen = _Screen(folder, len(paths))
    digest = hashlib.sha256(f"photographs {height} {width}\n".encode())

    def wanted(sha256: str) -> bool:
        return not recipe.split or split_of("backgrounds", sha256) == recipe.split

    chosen = [paths[i] for i in shuffled]
    for path, content, sha256, pixels in _decoded(chosen, height, width, wanted):
        if screen.finds_text(path.name, sha256, content):
            continue
        images.append(pixels)
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode())
        digest.update(bytes.fromhex(sha256))
        if len(images) == limit:
            break
    screen.close()
    if not images:
        belongs = f" that belong to split '{recipe.split}'" if recipe.split else ""
        raise UserError(
            f"{folder}: none of its {len(paths):,} photographs{belongs} can be used for a canvas "
            f"of {width}×{height} pixels"
        )
    return Pool(tuple(images), digest.hexdigest())


@dataclass
class _Screen:
    """Leaves out photographs with text, if the OCR extra is installed, and warns about them."""

    folder: Path
    total: int
    found: dict[str, str] = field(default_factory=dict)
    """The text in photographs by their names."""
    verdicts: Verdicts | None = None

    def __post_init__(self) -> None:
        if has_ocr():
            self.verdicts = Verdicts.load()

    def finds_text(self, name: str, sha256: str, content: bytes) -> bool:
        if self.verdicts is None:
            return False
        if text := self.verdicts.text(sha256, content):
            self.found[name] = text
        if self.verdicts.new % _SAVED_EVERY == 0:
            self.verdicts.save()
        return bool(text)

    def close(self) -> None:
        """Keep the verdicts and warn of what was left out, or of what could not be looked for."""
        if self.verdicts is None:
            log.warning(
                "%s: not looked at for text, which would have no labels: `pip install ivl[ocr]` "
                "leaves such photographs out",
                self.folder,
            )
            return
        self.verdicts.save()
        if self.found:
            name, text = next(iter(self.found.items()))
            log.warning(
                "%s: %d of %d photographs have text in them and are left out, such as %s ('%s')",
                self.folder,
                len(self.found),
                self.total,
                name,
                text[:30],
            )


def list_photographs(folder: Path | str) -> Sequence[Path]:
    """Return the photographs of a folder by suffix, in the same order on every machine."""
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
    paths: Sequence[Path], height: int, width: int, wanted: Callable[[str], bool]
) -> Iterator[tuple[Path, bytes, str, Pixels]]:
    """Yield photographs whose sha256 is wanted, with content, sha256 and pixels.

    Those that cannot be read are skipped with a warning.
    """
    skipped = 0
    for path in paths:
        try:
            content = read_bounded(path)
            sha256 = hashlib.sha256(content).hexdigest()
            if wanted(sha256):
                yield path, content, sha256, _fitted(content, height, width)
        except Unreadable as error:
            skipped += 1
            if skipped <= _MOST_NAMED:
                log.warning("%s: skipped: %s", path, error)
            elif skipped == _MOST_NAMED + 1:
                log.warning("more photographs were skipped for such reasons")


def _fitted(content: bytes, height: int, width: int) -> Pixels:
    """Return a photograph in RGB, covering the canvas, and not much larger than `_AREA`."""

    def enough(wide: int, tall: int) -> tuple[int, int]:
        return _size(wide, tall, height, width)

    with open_photograph(content, FORMATS, enough) as file:
        image = ImageOps.exif_transpose(file).convert("RGB")
        # Pillow's filters work in whole numbers on 8 bits: the same pixels everywhere.
        size = enough(image.width, image.height)
        return np.asarray(image.resize(size, Image.Resampling.BILINEAR))


def _size(wide: int, tall: int, height: int, width: int) -> tuple[int, int]:
    """Return width and height of a photograph in the pool; ValueError if it is too small."""
    cover = max(width / wide, height / tall)
    if cover > _MOST_ENLARGED:
        raise ValueError(f"{wide}×{tall} pixels are too few for {width}×{height}")
    scale = max(cover, min(1.0, (_AREA / (wide * tall)) ** 0.5))
    return max(round(wide * scale), width), max(round(tall * scale), height)


def crop(pool: Pool, rng: Rng, out: Pixels, text: Box, scenes: float = 0.0) -> int:
    """Copy a quiet piece of a random image, perhaps mirrored, a little lighter or darker.

    Return the number of the image in the pool.

    The canvas must not be larger than the one that the pool was made for.

    Parameters
    ----------
    out
        The canvas, (H, W, 3), which is written to.
    text
        Where on the canvas the text will be: it is there that the piece should be quiet.
    scenes
        How often a scene is taken, if the pool has any.
    """
    height, width = out.shape[:2]
    # One call for all draws: each call costs as much as the draws themselves.
    kind, which, mirror, light, *where = rng.random(4 + 2 * PLACES).tolist()
    others = len(pool.images) - pool.scenes
    if pool.scenes and kind < scenes:
        number = others + int(which * pool.scenes)
    else:
        number = int(which * others)
    image, sums = pool.images[number], pool.sums[number]
    tall, wide, _ = image.shape
    left, top, right, bottom = text
    if mirror < 0.5:
        left, right = width - right, width - left
    best = quietest(
        sums.values,
        sums.squares,
        np.array(where).reshape(PLACES, 2),
        (tall - height + 1, wide - width + 1),
        (left, top, right, bottom),
    )
    y, x = int(where[2 * best] * (tall - height + 1)), int(where[2 * best + 1] * (wide - width + 1))
    piece = image[y : y + height, x : x + width]
    if mirror < 0.5:
        cv2.flip(piece, 1, dst=out)
    else:
        np.copyto(out, piece)
    shift(out, _DARKEST + int(light * (_LIGHTEST - _DARKEST + 1)))
    return number


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
