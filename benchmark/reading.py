"""Reading: the lines of any picture of a block of text, and the steps in which they were read."""

import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from benchmark.data import image_batch
from benchmark.files import require_file
from benchmark.fit import Fitted, fit
from benchmark.inference import STOP, run_loop
from benchmark.models.contract import InductiveModel, Step
from benchmark.models.strips import band_quads, mask_bands
from benchmark.sizes import letters
from benchmark.tasks import Task
from ivl_shards import UserError
from ivl_shards.schema import Array

# How large a picture is laid on the canvas. Readers know letters of about one size, and how
# large those of a picture are is seen only by reading them.
_ZOOMS = (1.0, 0.78, 0.61, 0.47, 0.37, 0.29, 0.22, 0.17, 0.13)
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "PPM")
"""Pictures that are opened, by Pillow's names."""
# Pixels of a picture that is decoded at all.
_MOST_DECODED = 40_000_000
# What Pillow raises on damaged files is not one family of errors.
_UNREADABLE = (
    OSError, SyntaxError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError,
    struct.error, zlib.error, Image.DecompressionBombError,
)  # fmt: skip
# Pixels of a picture that is read as large as it is.
_MOST_PIXELS = 4_000_000


@dataclass(frozen=True)
class ReadStep:
    """One step, on the canvas."""

    memory: Array  # (H, W) m_t
    delta: Array  # (H, W) Δm_t
    after: Array  # (H, W) m_{t+1}
    text: str
    confidence: float
    """That of the model in the text, 0 to 1."""
    stop: bool
    """Whether it says that nothing is left."""

    @property
    def is_line(self) -> bool:
        """Whether text was read, with whatever confidence."""
        return not self.stop and bool(self.text.strip())


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
                return np.asarray(shown.convert("L" if channels == 1 else "RGB"))
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


def read_picture(model: InductiveModel, task: Task, picture: Array) -> Reading:
    """Read a picture (H, W) or (H, W, 3), laid on the task's page in several sizes: the reading
    with the most letters that the model is sure of is taken."""
    if task.page is None:
        if picture.shape[0] * picture.shape[1] > _MOST_PIXELS:
            raise UserError(f"the picture is larger than {_MOST_PIXELS:,} pixels: shrink it")
        fitted = [fit(picture, (picture.shape[0], picture.shape[1]))]
    else:
        fitted = [fit(picture, task.page, zoom) for zoom in _ZOOMS]
    steps = _record(model, image_batch(np.stack([f.pixels for f in fitted])))
    found = [_reading(f, s) for f, s in zip(fitted, steps, strict=True)]
    return max(found, key=_worth)  # the first of equals, which is the largest


def _record(model: InductiveModel, images: Tensor) -> list[list[ReadStep]]:
    """The steps of each image (N, C, H, W)."""
    steps: list[list[ReadStep]] = [[] for _ in images]

    def watch(active: Tensor, memory: Tensor, step: Step) -> None:
        after = model.update(memory, step.delta)
        sure = torch.ones(len(active)) if step.sure is None else step.sure
        for k, i in enumerate(active.tolist()):
            before, delta, later = (x[k].cpu().numpy() for x in (memory, step.delta, after))
            text, stop = step.outputs[k] if step.outputs else "", bool(step.stop[k] > STOP)
            steps[i].append(ReadStep(before, delta, later, text, float(sure[k]), stop))

    run_loop(model, images, watch=watch)
    return steps


def _worth(reading: Reading) -> tuple[float, float]:
    """Return how much confident text was read, and for where there is none, how much of any."""
    read = [(line.text, line.confidence) for line in reading.lines]
    return letters(read), letters(read, limit=0.0)


def _reading(fitted: Fitted, steps: list[ReadStep]) -> Reading:
    read = [step for step in steps if step.is_line]
    masks = torch.from_numpy(np.stack([s.delta for s in read])) if read else torch.zeros(0, 1, 1)
    quads = fitted.back(band_quads(mask_bands(masks, (1, 1))).numpy())
    lines = [ReadLine(s.text.strip(), q, s.confidence) for s, q in zip(read, quads, strict=True)]
    return Reading(lines, fitted.pixels, steps, fitted.window)
