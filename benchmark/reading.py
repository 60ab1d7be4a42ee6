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
from benchmark.inference import STOP, run_loop
from benchmark.models.contract import InductiveModel, Step
from benchmark.models.strips import band_quads, mask_bands
from benchmark.page_reading import is_line_finder, read_page
from benchmark.tasks import Task
from ivl_shards import UserError
from ivl_shards.schema import Array

# Sizes in which a picture is laid on the canvas, over the largest that fits: how large its letters
# are is seen only by reading them.
_ZOOMS = (1.0, 0.7, 0.5, 0.35)
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
    sure: float
    """How sure the model is of the text, 0 to 1."""
    stop: bool
    """Whether it says that nothing is left."""

    @property
    def is_line(self) -> bool:
        """Whether text was read."""
        return not self.stop and bool(self.text)


@dataclass(frozen=True)
class ReadLine:
    """One line of a picture."""

    text: str
    quad: Array  # (4, 2) corners in pixels of the picture, clockwise from the upper left
    sure: float


@dataclass(frozen=True)
class Reading:
    """What a model read in a picture, and how."""

    lines: list[ReadLine]
    canvas: Array  # (H, W) or (H, W, 3), what the model saw
    steps: list[ReadStep]
    """All of them, those that found no text and the last one included."""

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        lines = [
            {"text": x.text, "quad": x.quad.round(1).tolist(), "sure": round(x.sure, 3)}
            for x in self.lines
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
    if task.page is None or not is_line_finder(model):
        if picture.shape[0] * picture.shape[1] > _MOST_PIXELS:
            raise UserError(f"the picture is larger than {_MOST_PIXELS:,} pixels: shrink it")
        return _read_whole(model, picture)
    page = read_page(model, picture, task.page, _ZOOMS)
    steps = [ReadStep(s.memory, s.delta, s.after, s.text, s.confidence, s.stop) for s in page.steps]
    lines = [ReadLine(line.text, line.quad, line.confidence) for line in page.lines]
    return Reading(lines, page.view.pixels, steps)


def _read_whole(model: InductiveModel, picture: Array) -> Reading:
    """Read a picture as large as it is."""
    steps: list[ReadStep] = []

    def watch(active: Tensor, memory: Tensor, step: Step) -> None:
        after = model.update(memory, step.delta)
        sure = 1.0 if step.sure is None else float(step.sure[0])
        before, delta, later = (x[0].cpu().numpy() for x in (memory, step.delta, after))
        text, stop = step.outputs[0].strip() if step.outputs else "", bool(step.stop[0] > STOP)
        steps.append(ReadStep(before, delta, later, text, sure, stop))

    run_loop(model, image_batch(picture[None]), watch=watch)
    read = [step for step in steps if step.is_line]
    masks = torch.from_numpy(np.stack([s.delta for s in read])) if read else torch.zeros(0, 1, 1)
    quads = band_quads(mask_bands(masks, (1, 1))).numpy()
    lines = [ReadLine(s.text, q, s.sure) for s, q in zip(read, quads, strict=True)]
    return Reading(lines, picture, steps)
