"""Photograph: images supplied by users, decoded with limits on format, bytes and pixels.

Pillow knows dozens of formats, and passes some of them (EPS) to other programs. Only documented
formats are opened here, and no image that takes more memory than a large photograph.
"""

import io
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, UnidentifiedImageError

# On damaged files Pillow raises errors that have no common base class.
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    ArithmeticError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    struct.error,
    zlib.error,
)
MOST_PIXELS = 64_000_000
MOST_BYTES = 200_000_000


class Unreadable(ValueError):
    """An image that cannot be read; the message says why, in one line."""


def read_bounded(path: Path) -> bytes:
    """Read an image file; raise `Unreadable` if it has more than `MOST_BYTES`."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise Unreadable(f"has more than the {MOST_BYTES // 1_000_000} MB that are read")
    return data


@contextmanager
def open_photograph(
    data: bytes,
    formats: tuple[str, ...],
    enough: Callable[[int, int], tuple[int, int]] | None = None,
) -> Iterator[Image.Image]:
    """Open an image; errors in the body become `Unreadable` too, because Pillow decodes lazily.

    Parameters
    ----------
    formats
        Pillow's names of the allowed formats, such as JPEG and PNG.
    enough
        Function from width and height of the image to those that are needed. A JPEG is then
        decoded at a half, a quarter or an eighth of its size, which is faster.
    """
    try:
        with warnings.catch_warnings():
            # About oddities in files, and about pixels, which are limited below.
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=formats) as picture:
                if enough is not None:
                    picture.draft("RGB", enough(picture.width, picture.height))
                if picture.width * picture.height > MOST_PIXELS:
                    raise Image.DecompressionBombError  # Pillow's own bound is higher
                yield picture
    except Unreadable:
        raise
    except Image.DecompressionBombError:
        most = MOST_PIXELS // 1_000_000
        raise Unreadable(f"has more than the {most} million pixels that are read") from None
    except UnidentifiedImageError:
        raise Unreadable(f"is not a readable {' or '.join(formats)} file") from None
    except _BROKEN as error:
        raise Unreadable(" ".join(str(error).split()) or type(error).__name__) from None
