"""Reading: the lines of any picture of a block of text, and the steps in which they were read."""

import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from benchmark.data import image_batch
from benchmark.fit import Fitted, fit
from benchmark.inference import STOP, run_loop
from benchmark.models.contract import InductiveModel, Step
from benchmark.models.strips import band_quads, mask_bands
from benchmark.sizes import is_text, letters
from benchmark.tasks import Task
from ivl_shards import UserError
from ivl_shards.schema import Array

# How large a picture is laid on the canvas. Readers know letters of about one size, and how
# large those of a picture are is seen only by reading them.
_ZOOMS = (1.0, 0.78, 0.61, 0.47, 0.37, 0.29, 0.22, 0.17, 0.13)
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
        return not self.stop and is_text(self.text, self.sure)


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
    """The pixels of an image file, (H, W) or (H, W, 3), upright as its camera noted."""
    # What Pillow raises on damaged files is not one family of errors.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as picture:
                upright = ImageOps.exif_transpose(picture)
                return np.asarray(upright.convert("L" if channels == 1 else "RGB"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise UserError(f"{path}: too large a picture: shrink it first") from None
    except (OSError, SyntaxError, ValueError, struct.error) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path}: not a readable picture: {reason}") from None


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
    # The first of equals, which is the largest.
    return max(found, key=lambda reading: letters((x.text, x.sure) for x in reading.lines))


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


def _reading(fitted: Fitted, steps: list[ReadStep]) -> Reading:
    read = [step for step in steps if step.is_line]
    masks = torch.from_numpy(np.stack([s.delta for s in read])) if read else torch.zeros(0, 1, 1)
    quads = fitted.back(band_quads(mask_bands(masks, (1, 1))).numpy())
    lines = [ReadLine(s.text.strip(), q, s.sure) for s, q in zip(read, quads, strict=True)]
    return Reading(lines, fitted.pixels, steps)
