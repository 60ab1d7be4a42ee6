"""Picture: the image of a sample as the bytes of a file."""

import cv2

from ivl_shards.outlines import Fields
from ivl_shards.schema import ENCODED, Array, Schema


def picture_ending(schema: Schema) -> str:
    """`jpg` where photographs are stored encoded, otherwise `png`."""
    return "jpg" if schema["image"].storage == ENCODED else "png"


def picture_bytes(schema: Schema, stored: Fields) -> bytes:
    """The file; an encoded photograph stays as it is. `stored` has no padding."""
    image = stored["image"]
    return image.tobytes() if schema["image"].storage == ENCODED else png(image)


def picture_size(stored: Fields) -> tuple[int, int]:
    """Height and width, without decoding anything."""
    height, width = stored["image_size"] if "image_size" in stored else stored["image"].shape[:2]
    return int(height), int(width)


def png(pixels: Array) -> bytes:
    """Grey or RGB pixels as a PNG file."""
    ordered = pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    data: bytes = cv2.imencode(".png", ordered)[1].tobytes()
    return data
