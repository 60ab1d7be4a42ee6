"""Photograph: pictures that users bring, decoded within bounds.

Pillow knows dozens of formats, and hands some of them (EPS) to other programs. Only those that
are documented are opened here, and none that would take more memory than a large photograph.
"""

import io
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, UnidentifiedImageError

# What Pillow raises on damaged files is not one family of errors.
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
    """A picture that cannot be read; its text says why, in one line."""


def read_bounded(path: Path) -> bytes:
    """Read a file that is to be a picture; `Unreadable` if it is larger than pictures are."""
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
    """Open a picture; what goes wrong in the body is `Unreadable`, too, as Pillow decodes late.

    Parameters
    ----------
    formats
        Pillow's names of those that are allowed, such as JPEG and PNG.
    enough
        From width and height of the picture to those that are needed of it: a JPEG decodes at a
        half, a quarter or an eighth for a part of the cost.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of oddities in files, and of pixels we count ourselves
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
