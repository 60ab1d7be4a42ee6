"""Letters: typical shapes of letters, to tell readable faces from others.

`letters.png`, which comes with the package, holds eight typical shapes of each letter: the
clusters of that letter over the faces of the catalogue. `python -m fonts.letters` makes it again
from an installed catalogue.
"""

from functools import cache
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fonts.glyphs import Mask, normalised

Shapes = NDArray[np.uint8]
"""(N, 72): shapes of 24×24 pixels, eight to the byte."""

SIDE = 24
_FILE = Path(__file__).with_name("letters.png")
_PER_LETTER = 8
_ROUNDS = 12
# Letters of 52, and of each case, that must be recognised.
_LEAST, _LEAST_OF_CASE = 7, 2


def shapes_of(inks: list[Mask | None]) -> Shapes:
    """Return the shapes of characters, (N, 72); a missing one is blank."""
    blank = np.zeros((SIDE, SIDE), bool)
    squares = [blank if ink is None else normalised(ink, SIDE) for ink in inks]
    return np.packbits(np.array(squares).reshape(len(inks), -1), axis=1)


def distances(some: Shapes, others: Shapes) -> NDArray[np.int64]:
    """Return the number of pixels in which shapes differ: (N, 72) and (M, 72) give (N, M)."""
    pixels: NDArray[np.int64] = np.bitwise_count(some[:, None] ^ others[None]).sum(
        -1, dtype=np.int64
    )
    return pixels


def readable(shapes: Shapes, caps_only: bool) -> bool:
    """Tell whether enough of the 52 letters look like themselves.

    Blocks, barcodes and symbols hit their letter by chance, 2 times in 52; the wildest script
    of the catalogue 8 times, and a plain face 48 times. So the bar is low, but both cases must
    take part: in some mathematical faces only the capitals are letters.
    """
    hits = _hits(shapes)
    lower, upper = hits[: len(ascii_lowercase)].sum(), hits[len(ascii_uppercase) :].sum()
    if caps_only:
        return bool(2 * upper >= _LEAST)
    return bool(lower >= _LEAST_OF_CASE and upper >= _LEAST_OF_CASE and lower + upper >= _LEAST)


def _hits(shapes: Shapes) -> NDArray[np.bool_]:
    """Tell for each letter whether the typical shape nearest to it is one of it, in either case."""
    # Not `@`: waking BLAS's threads takes longer than this product.
    nearest = np.einsum("ik,jk->ij", _soft(shapes), _typical()).argmax(1) // _PER_LETTER
    return np.array(
        [ascii_letters[n].lower() == c.lower() for n, c in zip(nearest, ascii_letters, strict=True)]
    )


def _soft(shapes: Shapes) -> NDArray[np.float64]:
    """Blur shapes, so that thin, bold and broken strokes agree: (N, 72) gives (N, 144)."""
    squares = np.unpackbits(shapes, axis=1).reshape(-1, SIDE, SIDE) * np.uint8(255)
    soft = np.array([cv2.GaussianBlur(square, (0, 0), 1.5)[1::2, 1::2] for square in squares])
    vectors = soft.reshape(len(squares), -1).astype(np.float64)
    vectors -= vectors.mean(1, keepdims=True)
    lengths: NDArray[np.float64] = np.sqrt((vectors**2).sum(1, keepdims=True))
    return vectors / np.maximum(lengths, 1.0)


@cache
def _typical() -> NDArray[np.float64]:
    with Image.open(_FILE) as image:
        sheet = np.asarray(image.convert("1"))
    cells = sheet.reshape(len(ascii_letters), SIDE, _PER_LETTER, SIDE).swapaxes(1, 2)
    return _soft(np.packbits(cells.reshape(-1, SIDE * SIDE), axis=1))


def typical_shapes(samples: Shapes) -> Shapes:
    """Cluster the shapes of one letter over many faces, (N, 72), into eight typical ones."""
    bits = np.unpackbits(samples, axis=1)
    # Begin far apart: first the shape nearest to the mean, then each time the farthest one.
    mean = np.packbits(bits.mean(0) >= 0.5)[None]
    centres: Shapes = samples[distances(samples, mean).argmin(0)]
    while len(centres) < _PER_LETTER:
        spread = np.sort(distances(samples, centres).min(1))[-len(samples) // 50]
        farthest = np.flatnonzero(distances(samples, centres).min(1) == spread)[:1]
        centres = np.concatenate([centres, samples[farthest]])
    for _ in range(_ROUNDS):
        nearest = distances(samples, centres).argmin(1)
        groups = [bits[nearest == k] for k in range(_PER_LETTER)]
        centres = np.array(
            [
                np.packbits(g.mean(0) >= 0.5) if len(g) else c
                for g, c in zip(groups, centres, strict=True)
            ]
        )
    return centres


def _make() -> None:
    from fonts.catalogue import installed_faces
    from fonts.glyphs import Glyphs
    from fonts.places import catalogue_folder

    faces = installed_faces(catalogue_folder())
    glyphs = [Glyphs(face.path, face.index) for face in faces]
    rows = []
    for letter in ascii_letters:
        typical = typical_shapes(shapes_of([face.ink(letter) for face in glyphs]))
        cells = np.unpackbits(typical, axis=1).reshape(_PER_LETTER, SIDE, SIDE)
        rows.append(cells.swapaxes(0, 1).reshape(SIDE, -1))
    Image.fromarray(np.concatenate(rows).astype(bool)).save(_FILE, optimize=True)


if __name__ == "__main__":
    _make()
