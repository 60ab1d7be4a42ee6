"""Picture: the pixels of a source image, window by window, decoded once.

Ordinary images are decoded whole by OpenCV. Huge ones are read from top to bottom by libvips,
and only the rows that the current window covers are held.
"""

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
import pyvips

from ivl_shards import UserError
from ivl_shards.format.schema import Array
from ivl_shards.photograph import Unreadable

# Above this many pixels (192 MB) an image is streamed.
WHOLE = 64_000_000
# Bytes of the file of an image that is not streamed: 64 million pixels of 16 bits, as they are.
_WHOLE_BYTES = 512_000_000
# Pixels of a side: DOTA's largest have some 30,000. Rows of the whole width are held in memory.
_LONGEST_SIDE = 50_000
# What files begin with, and the loader of libvips for each. No other loader is ever asked.
_LOADERS = {
    b"\x89PNG\r\n\x1a\n": "pngload",
    b"\xff\xd8\xff": "jpegload",
    b"II*\0": "tiffload",
    b"MM\0*": "tiffload",
    b"II+\0": "tiffload",  # BigTIFF
    b"MM\0+": "tiffload",
}
# Rows decoded at a time; libvips buffers several times as many.
_STRIP = 64
_JPEG_END = b"\xff\xd9"
_PNG_END = b"IEND\xaeB`\x82"
_TAIL = 1 << 16


# Loaders that libvips itself does not trust with files of strangers; none of them is used here.
pyvips.block_untrusted_set(True)
# An operation that is remembered keeps its buffers; no image is opened twice for the same purpose.
pyvips.cache_set_max(0)


class Picture(Protocol):
    """An open image."""

    def window(self, x0: int, y0: int, x1: int, y1: int) -> Array:
        """Return pixels (y1 - y0, x1 - x0, 3) in the order B, G, R."""


@dataclass(frozen=True)
class Header:
    """Height and width of an image, or what is wrong with it."""

    height: int = 0
    width: int = 0
    fault: str = ""


def read_header(path: Path) -> Header:
    """Return the size of an image, if its file is complete as far as can be told cheaply."""
    try:
        image = _load(path)
        fault = _size_fault(image)
        if not fault and not _ends_well(path):
            # The ending proves nothing for some files; decoding them does.
            _load(path, fail_on="truncated").avg()
    except (pyvips.Error, Unreadable) as error:
        return Header(fault=f"cannot be read: {_reason(error)}")
    except OSError as error:
        return Header(fault=f"cannot be read: {error.strerror}")
    return Header(fault=f"cannot be read: {fault}") if fault else Header(image.height, image.width)


def _load(path: Path, **options: Any) -> Any:
    """Open an image of a documented format in libvips, whatever its name ends in."""
    with path.open("rb") as file:
        loader = _loader(file.read(8))
    # Revalidated each time: libvips would remember an earlier file of that name.
    options |= {"access": "sequential", "revalidate": True}
    return pyvips.Operation.call(loader, str(path), **options)


def _loader(head: bytes) -> str:
    """Return the loader for a file that begins so; `Unreadable` if it is of no known format."""
    for magic, loader in _LOADERS.items():
        if head.startswith(magic):
            return loader
    raise Unreadable("is not a PNG, JPEG or TIFF file")


def _size_fault(image: Any) -> str:
    """Return why an image would not fit into memory; "" if it does."""
    if max(image.width, image.height) > _LONGEST_SIDE:
        size = f"{image.width}×{image.height}"
        return f"{size} pixels, and no side may have more than {_LONGEST_SIDE:,}"
    interlaced = image.get_typeof("interlaced") and image.get("interlaced")
    if interlaced and image.width * image.height > WHOLE:
        return "is interlaced (progressive), and too large for that: save it without"
    return ""


def _ends_well(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        tail = file.read()
    if path.suffix.lower() == ".png":
        return tail.endswith(_PNG_END)
    return path.suffix.lower() in (".jpg", ".jpeg") and tail.endswith(_JPEG_END)


def open_picture(path: Path, pixels: int) -> Picture:
    """Open an image that has so many pixels."""
    return Streamed(path) if pixels > WHOLE else Whole(path)


class Whole:
    """An image in memory."""

    def __init__(self, path: Path) -> None:
        # The labels mean the pixels as stored, whatever an EXIF tag says about turning them.
        flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
        try:
            data = np.fromfile(path, np.uint8, _WHOLE_BYTES)
            _loader(data[:8].tobytes())  # OpenCV knows many more formats
            pixels = cv2.imdecode(data, flags)
        except (cv2.error, Unreadable, OSError) as error:
            raise _damaged(path, _reason(error)) from None
        if pixels is None:
            raise _damaged(path, "OpenCV cannot decode it")
        self._pixels: Array = pixels

    def window(self, x0: int, y0: int, x1: int, y1: int) -> Array:
        return self._pixels[y0:y1, x0:x1]


class Streamed:
    """A huge image, of which a band of rows is in memory.

    Windows should come from top to bottom; one above the band begins the file anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._restart()

    def _restart(self) -> None:
        self._region: Any = None  # first, so that two are never in memory
        self._strips: deque[Array] = deque()  # of _STRIP rows each, but for the image's last
        try:
            image = _load(self._path, fail_on="truncated")
            self._region = pyvips.Region.new(_as_rgb(image))
        except (pyvips.Error, Unreadable, OSError) as error:
            raise _damaged(self._path, _reason(error)) from None
        self._height, self._width = image.height, image.width
        self._top = self._bottom = 0  # the rows that the strips cover

    def window(self, x0: int, y0: int, x1: int, y1: int) -> Array:
        if y0 < self._top:
            self._restart()
        while self._bottom < y1:
            self._drop_above(y0)
            rows = min(_STRIP, self._height - self._bottom)
            self._strips.append(self._fetch(self._bottom, rows))
            self._bottom += rows
        self._drop_above(y0)
        columns = [strip[:, x0:x1, ::-1] for strip in self._strips]
        return np.concatenate(columns)[y0 - self._top : y1 - self._top]

    def _drop_above(self, y: int) -> None:
        """Forget what is not needed again."""
        while self._strips and self._top + len(self._strips[0]) <= y:
            self._top += len(self._strips.popleft())

    def _fetch(self, y: int, rows: int) -> Array:
        try:
            data = self._region.fetch(0, y, self._width, rows)
        except pyvips.Error as error:
            raise _damaged(self._path, _reason(error)) from None
        return np.frombuffer(data, np.uint8).reshape(rows, self._width, 3)


def _as_rgb(image: Any) -> Any:
    """Convert to three channels of eight bits, as OpenCV would decode it."""
    if image.interpretation not in ("srgb", "multiband") or image.bands < 3:
        image = image.colourspace("srgb")
    return image.extract_band(0, n=3).cast("uchar")


def _reason(error: Any) -> str:
    """Return the last line of what libvips, or OpenCV, says."""
    return (str(error).strip().splitlines() or ["unknown error"])[-1].strip()


def _damaged(path: Path, why: object) -> UserError:
    return UserError(f"{path}: damaged: {why}; remove or repair it, and run again")
