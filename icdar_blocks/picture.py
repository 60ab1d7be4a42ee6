"""Picture: the pixels of a scene."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from PIL import Image

from ivl_shards import UserError
from ivl_shards.format.schema import Array
from ivl_shards.photograph import Unreadable, open_photograph

FORMATS = ("JPEG", "PNG")


def picture_size(data: bytes, name: str) -> tuple[int, int]:
    """Height and width, from the head of the file."""
    with _opened(data, name) as picture:
        return picture.height, picture.width


def read_picture(data: bytes, name: str) -> Array:
    """All pixels, (height, width, 3) RGB.

    A camera's note to turn the picture is not obeyed: the boxes are of the picture as stored.
    """
    with _opened(data, name) as picture:
        return np.asarray(picture.convert("RGB"))


@contextmanager
def _opened(data: bytes, name: str) -> Iterator[Image.Image]:
    try:
        with open_photograph(data, FORMATS) as picture:
            yield picture
    except Unreadable as error:
        raise UserError(f"{name}: not a readable picture: {error}") from None
