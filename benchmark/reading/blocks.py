"""Reading: the lines of any picture of a block of text, and the steps in which they were read."""

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
from benchmark.reading.pages import ReadStep, read_page, read_views
from benchmark.tasks.task import ReadingTask
from ivl_shards import UserError
from ivl_shards.format.schema import Array

TEST_SCALES = (1.0, 0.78, 0.61, 0.47, 0.37, 0.29, 0.22, 0.17, 0.13)
"""Scales, over the largest that fits the canvas, for readers that were trained on lines of about
one height."""
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "PPM")
"""Pictures that are opened, by Pillow's names."""
# Pixels of a picture that is decoded at all.
_MOST_DECODED = 40_000_000
# What Pillow raises on damaged files is not one family of errors.
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
# Pixels of a picture that is read as large as it is.
_MOST_PIXELS = 4_000_000


@dataclass(frozen=True)
class ReadLine:
    """One line of a picture."""

    text: str
    quad: Array  # (4, 2) corners in pixels of the picture, clockwise from the upper left
    confidence: float  # 0 to 1


@dataclass(frozen=True)
class Reading:
    """What a model read in a picture, and how."""

    lines: list[ReadLine]
    canvas: Array  # (H, W) or (H, W, 3), what the model saw
    steps: list[ReadStep]
    """All of them, those that found no text and the last one included."""
    window: tuple[int, int, int, int] | None = None
    """x0, y0, x1, y1 of the picture on the canvas; None: all of it."""

    def view(self, pixels: Array) -> Array:
        """Return of the canvas, or of a map (H, W) of it, the part that shows the picture, and
        more where that is so long and narrow that one could not look at it."""
        height, width = pixels.shape[:2]
        x0, y0, x1, y1 = self.window or (0, 0, width, height)
        least = max(x1 - x0, y1 - y0) // 4
        across, down = max(0, least - (x1 - x0)) // 2, max(0, least - (y1 - y0)) // 2
        return pixels[max(0, y0 - down) : y1 + down, max(0, x0 - across) : x1 + across]

    def to_json(self) -> dict[str, Any]:
        """Return what a script wants to know."""
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
    """Return the pixels of an image file, (H, W) or (H, W, 3), upright as its camera noted.

    What is transparent is shown on white; pictures of 16 bits or of floating-point numbers are
    scaled to 8 bits.
    """
    require_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Only these: some of Pillow's formats start other programs.
            with Image.open(path, formats=FORMATS) as picture:
                if picture.width * picture.height > _MOST_DECODED:
                    raise UserError(
                        f"{path}: a picture of more than {_MOST_DECODED:,} pixels: shrink it first"
                    )
                shown = _eight_bits(ImageOps.exif_transpose(picture), path)
                # A copy: torch warns of arrays that cannot be written.
                return np.array(shown.convert("L" if channels == 1 else "RGB"))
    except _UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"{path}: not a readable picture ({', '.join(FORMATS)}): {reason}"
        ) from None


def _eight_bits(picture: Image.Image, path: Path) -> Image.Image:
    """A picture of any kind in shades or colours from 0 to 255, on white."""
    if picture.has_transparency_data:
        layers = picture.convert("RGBA")
        white = Image.new("RGBA", layers.size, "white")
        return Image.alpha_composite(white, layers)
    if picture.mode == "F" or picture.mode.startswith("I"):
        return Image.fromarray(_scale(np.asarray(picture), path))
    return picture


def _scale(values: Array, path: Path) -> Array:
    """Shades (H, W) of any numbers as bytes: real ones from 0 to 1 or to 255, whole ones from 0
    to 255 or to 65,535."""
    low, high = float(values.min()), float(values.max())
    tops: tuple[float, ...] = (1.0, 255.0) if values.dtype.kind == "f" else (255.0, 65_535.0)
    if values.dtype.itemsize == 2:  # which says what its whole numbers mean
        tops = (65_535.0,)
    top = next((each for each in tops if low >= 0 and high <= each), None)
    if top is None:  # numbers that are none (NaN) are in no range
        raise UserError(
            f"{path}: shades from {low:g} to {high:g}: scale them to 0–1 or 0–255 first"
        )
    scaled: Array = np.rint(values * (255.0 / top)).astype(np.uint8)
    return scaled


def read_picture(model: InductiveModel, task: ReadingTask, picture: Array) -> Reading:
    """Read a picture (H, W) or (H, W, 3) of one block of text. Where the reader knows a canvas, it
    is laid on that in several sizes and the most confident reading is taken."""
    if task.letterbox is not None:
        page = read_page(model, picture, task.letterbox, task.test_scales or TEST_SCALES)
    else:
        height, width = picture.shape[:2]
        if height * width > _MOST_PIXELS:
            raise UserError(f"the picture is larger than {_MOST_PIXELS:,} pixels: shrink it")
        (page,) = read_views(model, picture, [letterbox(picture, (height, width))])
    lines = [ReadLine(line.text, line.quad, line.confidence) for line in page.lines]
    return Reading(lines, page.view.pixels, page.steps, page.view.window)
