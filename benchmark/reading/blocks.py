"""Blocks: open a picture of one block of text and read its lines."""

import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from benchmark.data.letterbox import letterbox
from benchmark.files import require_file
from benchmark.models.contract import InductiveModel
from benchmark.reading.multi_scale import ReadStep, read_at_scales, read_views
from benchmark.tasks.task import ReadingTask
from ivl_shards import UserError
from ivl_shards.format.schema import Array

TEST_SCALES = (1.0, 0.78, 0.61, 0.47, 0.37, 0.29, 0.22, 0.17, 0.13)
"""Scales, relative to the largest that fits the canvas, for readers that were trained on lines of
about one height."""
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "PPM")
"""Supported image formats, by Pillow's names."""
# Largest picture that is decoded, in pixels.
_MAX_DECODED_PIXELS = 40_000_000
# Pillow's errors for damaged files have no common base class.
_UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    ArithmeticError,
    LookupError,
    AttributeError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
# Largest picture that is read without letterboxing, in pixels.
_MAX_PIXELS = 4_000_000


@dataclass(frozen=True)
class ReadLine:
    """One line of a picture."""

    text: str
    quad: Array  # (4, 2) corners in pixels of the picture, clockwise from the upper left
    confidence: float  # 0 to 1


@dataclass(frozen=True)
class Reading:
    """The lines of a picture and the steps in which they were read."""

    lines: list[ReadLine]
    canvas: Array  # (H, W) or (H, W, 3), input of the model
    steps: list[ReadStep]
    """All steps, including those without text and the last one."""
    window: tuple[int, int, int, int] | None = None
    """x0, y0, x1, y1 of the picture on the canvas; None: all of it."""

    def view(self, pixels: Array) -> Array:
        """Crop the canvas, or a map (H, W) of it, to the picture, or a little larger if the picture
        is very long and narrow."""
        height, width = pixels.shape[:2]
        x0, y0, x1, y1 = self.window or (0, 0, width, height)
        least = max(x1 - x0, y1 - y0) // 4
        across, down = max(0, least - (x1 - x0)) // 2, max(0, least - (y1 - y0)) // 2
        return pixels[max(0, y0 - down) : y1 + down, max(0, x0 - across) : x1 + across]

    def to_json(self) -> dict[str, Any]:
        """Return the lines as JSON values."""
        lines = [
            {
                "text": line.text,
                "confidence": round(line.confidence, 3),
                "quad": line.quad.round(1).tolist(),
            }
            for line in self.lines
        ]
        return {"lines": lines}


def open_picture(path: Path, channels: int) -> Array:
    """Return the pixels of an image file, (H, W) or (H, W, 3), rotated by its EXIF orientation.

    Transparent pictures are composited on white; 16-bit and floating-point ones are scaled to 8
    bits.
    """
    require_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Only these formats: for some others, Pillow starts external programs.
            with Image.open(path, formats=FORMATS) as picture:
                if picture.width * picture.height > _MAX_DECODED_PIXELS:
                    raise UserError(
                        f"{path}: has more than {_MAX_DECODED_PIXELS:,} pixels: shrink it first"
                    )
                opaque = _to_eight_bits(ImageOps.exif_transpose(picture), path)
                # A copy, because torch warns about read-only arrays.
                return np.array(opaque.convert("L" if channels == 1 else "RGB"))
    except _UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"{path}: not a readable picture ({', '.join(FORMATS)}): {reason}"
        ) from None


def _to_eight_bits(picture: Image.Image, path: Path) -> Image.Image:
    """Convert a picture of any mode to 8 bits, on white where it is transparent."""
    if picture.has_transparency_data:
        layers = picture.convert("RGBA")
        white = Image.new("RGBA", layers.size, "white")
        return Image.alpha_composite(white, layers)
    if picture.mode == "F" or picture.mode.startswith("I"):
        return Image.fromarray(_scale(np.asarray(picture), path))
    return picture


def _scale(values: Array, path: Path) -> Array:
    """Scale grey values (H, W) to bytes: floats from 0–1 or 0–255, integers from 0–255 or
    0–65,535."""
    low, high = float(values.min()), float(values.max())
    tops: tuple[float, ...] = (1.0, 255.0) if values.dtype.kind == "f" else (255.0, 65_535.0)
    if values.dtype.itemsize == 2:  # 16 bits: the range is known
        tops = (65_535.0,)
    top = next((each for each in tops if low >= 0 and high <= each), None)
    if top is None:  # also if there is a NaN, which is in no range
        raise UserError(
            f"{path}: grey values from {low:g} to {high:g}: scale them to 0–1 or 0–255 first"
        )
    scaled: Array = np.rint(values * (255.0 / top)).astype(np.uint8)
    return scaled


def read_picture(model: InductiveModel, task: ReadingTask, picture: Array) -> Reading:
    """Read a picture (H, W) or (H, W, 3) of one block of text.

    If the task letterboxes its images, the picture is read on that canvas at several scales.
    """
    if task.letterbox is not None:
        read = read_at_scales(model, picture, task.letterbox, task.test_scales or TEST_SCALES)
    else:
        height, width = picture.shape[:2]
        if height * width > _MAX_PIXELS:
            raise UserError(f"the picture has more than {_MAX_PIXELS:,} pixels: shrink it")
        (read,) = read_views(model, picture, [letterbox(picture, (height, width))])
    lines = [ReadLine(line.text, line.quad, line.confidence) for line in read.lines]
    return Reading(lines, read.view.pixels, read.steps, read.view.window)
