"""Steps: how pictures were read, as a page with the step player or as one drawn picture."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmark.reading.blocks import FORMATS, Reading
from benchmark.reading.figure import draw_steps, stack
from benchmark.reading.photographs import ReadPicture
from benchmark.results.report.player import image_url, png_url
from benchmark.results.report.recording import Recording, map_sheet, shrink
from benchmark.results.report.template import fill_template
from ivl_shards import UserError
from ivl_shards.disk import write_whole
from ivl_shards.format.schema import Array

# Pictures are shown no larger than this, in pixels of their longer side.
_LONGEST = 1280


class StepsFile:
    """A file that shows the steps in which pictures were read; its ending says of which kind."""

    def __init__(self, out: Path, weights: str) -> None:
        """Raise if it cannot be written, before anything is read."""
        self.out, self.weights = out, weights
        self.is_page = out.suffix.lower() in (".html", ".htm")
        self.kind = Image.registered_extensions().get(out.suffix.lower())
        if not self.is_page and self.kind not in FORMATS:
            raise UserError(f"{out}: cannot be written: name it .html, .png or .jpg")
        if not out.parent.is_dir() or out.is_dir():
            raise UserError(f"{out}: cannot be written: give --out a file in a folder that exists")
        self.pictures: list[dict[str, Any]] = []
        self.drawn: list[tuple[str, Image.Image]] = []

    def add(self, picture: ReadPicture, pixels: Array) -> None:
        """Add a picture with pixels (H, W) or (H, W, 3)."""
        if self.is_page:
            self.pictures.append(_picture_json(picture, pixels))
            return
        for k, block in enumerate(picture.blocks, 1):
            heading = f"{Path(picture.name).name}, block {k} of {len(picture.blocks)}"
            self.drawn.append((heading, draw_steps(block.reading)))

    def write(self) -> None:
        """Write the file, whole or not at all."""
        if self.is_page:
            values = {"weights": self.weights, "pictures": self.pictures}
            write_whole(self.out, fill_template("steps.html", values))
            return
        data = BytesIO()
        try:
            stack(self.drawn).save(data, self.kind)
        except (OSError, ValueError, SystemError):  # what Pillow raises for too large a picture
            raise UserError(
                f"{self.out}: cannot be written: so many steps are too high for {self.kind}: "
                "name it .html"
            ) from None
        write_whole(self.out, data.getvalue())


def _picture_json(picture: ReadPicture, pixels: Array) -> dict[str, Any]:
    height, width = pixels.shape[:2]
    return {
        "name": Path(picture.name).name,
        "size": [width, height],
        "image": image_url(shrink(pixels, _LONGEST)),
        "blocks": [{**block.to_json(), **_loop_json(block.reading)} for block in picture.blocks],
    }


def _loop_json(reading: Reading) -> dict[str, Any]:
    """Return what the player shows of the loop; its last step found nothing more."""
    steps, found = reading.steps, reading.steps[:-1]
    memories = [reading.view(step.memory) for step in steps]
    recording = Recording(memories, [reading.view(step.delta) for step in steps])
    canvas = np.ascontiguousarray(reading.view(reading.canvas))
    return {
        "size": [canvas.shape[1], canvas.shape[0]],
        "image": image_url(canvas),
        "maps": png_url(map_sheet(recording)),
        "stops": [float(step.stop) for step in steps],
        "outputs": [step.text.strip() for step in found],
        "confidences": [round(step.confidence, 3) for step in found],
        "ended": _ended(reading),
    }


def _ended(reading: Reading) -> str:
    """Return why the loop ended, as in `benchmark.evaluation.inductive_loop.Trace`."""
    last = reading.steps[-1]
    if last.stop:
        return "stop"
    return "stalled" if np.abs(last.after - last.memory).max() < 1e-3 else "limit"
