"""Pictures: decode stored JPEG images within limits, and write images as PNG."""

import struct

import cv2
import numpy as np
from zlib_ng import zlib_ng

from ivl_shards.errors import Damage
from ivl_shards.format.outlines import Fields
from ivl_shards.format.schema import ENCODED, Array, Schema
from ivl_shards.format.structure import MAX_PIXELS

_START = b"\xff\xd8"
_SCAN = 0xDA
# Markers without a length field.
_BARE = {0x01, *range(0xD0, 0xD9)}
# Start-of-frame markers; C4, C8 and CC in this range mean something else.
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# A progressive image is decoded once per scan; a small file can have thousands.
_MAX_PAINTED = 8 * MAX_PIXELS


def decode_jpeg(data: Array) -> Array:
    """Return the pixels of a photograph: (H, W) grey or (H, W, 3) RGB."""
    raw = data.tobytes()
    height, width = jpeg_size(raw)
    painted = height * width * raw.count(b"\xff\xda")
    if height * width > MAX_PIXELS or painted > _MAX_PAINTED:
        raise Damage(f"an image of {width:,} × {height:,} pixels is too large")
    try:
        pixels = cv2.imdecode(data, cv2.IMREAD_UNCHANGED)
    except cv2.error:
        pixels = None
    if pixels is None or pixels.shape[:2] != (height, width):
        raise Damage("not a readable image")
    return np.asarray(pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB))


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Return height and width from the header of a JPEG file, without decoding it."""
    place = 2
    while data.startswith(_START) and place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker in _FRAMES:
            height = int.from_bytes(data[place + 5 : place + 7])
            width = int.from_bytes(data[place + 7 : place + 9])
            if height and width:
                return height, width
            break
        if marker == _SCAN:
            break
        bare = marker in _BARE or marker == 0xFF
        place += (1 if marker == 0xFF else 2) if bare else 2 + _length(data, place + 2)
    raise Damage("not a readable image")


def _length(data: bytes, place: int) -> int:
    # At least 2, the size of the length itself, so that the scan of a damaged file advances.
    return max(2, int.from_bytes(data[place : place + 2]))


def picture_ending(schema: Schema) -> str:
    """Return `jpg` if photographs are stored encoded, otherwise `png`."""
    return "jpg" if schema["image"].storage == ENCODED else "png"


def picture_bytes(schema: Schema, stored: Fields) -> bytes:
    """Return a sample's image as a file, JPEG as stored or PNG; `stored` has no padding."""
    image = stored["image"]
    return image.tobytes() if schema["image"].storage == ENCODED else png(image)


def picture_size(stored: Fields) -> tuple[int, int]:
    """Return height and width of a sample's image, without decoding it."""
    height, width = stored["image_size"] if "image_size" in stored else stored["image"].shape[:2]
    return int(height), int(width)


def png(pixels: Array) -> bytes:
    """Encode grey (H, W) uint8 or uint16, or RGB (H, W, 3) uint8 pixels as a PNG file."""
    return pngs(pixels[None])[0]


def pngs(images: Array, sizes: Array | None = None) -> list[bytes]:
    """Encode images, (N, H, W) or (N, H, W, 3), as PNG files.

    `sizes`, (N, 2), are their heights and widths without padding. Five times as fast as OpenCV:
    rows are not filtered, which suits drawings and step maps.
    """
    if images.dtype.itemsize > 1:
        images = images.astype(images.dtype.newbyteorder(">"))
    depth, colour = 8 * images.dtype.itemsize, 0 if images.ndim == 3 else 2
    all_sizes = [images.shape[1:3]] * len(images) if sizes is None else sizes.tolist()
    files = []
    rows = np.zeros((0, 0), np.uint8)
    for image, (h, w) in zip(images, all_sizes, strict=True):
        pixels = image[:h, :w].reshape(h, -1).view(np.uint8)
        if rows.shape != (h, pixels.shape[1] + 1):
            rows = np.zeros((h, pixels.shape[1] + 1), np.uint8)  # each row begins with its filter
        rows[:, 1:] = pixels
        header = _chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, 0))
        packed = zlib_ng.compress(rows.data, _PNG_LEVEL)
        files.append(b"".join([_PNG_START, header, _chunk(b"IDAT", packed), _PNG_END]))
    return files


def _chunk(name: bytes, data: bytes) -> bytes:
    checksum = zlib_ng.crc32(data, zlib_ng.crc32(name))
    return b"".join([struct.pack(">I", len(data)), name, data, struct.pack(">I", checksum)])


_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_END = _chunk(b"IEND", b"")
_PNG_LEVEL = 1
