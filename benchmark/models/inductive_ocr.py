"""Inductive OCR: our line finder, with PP-OCRv6 to read what it finds.

It separates the contributions of localisation and recognition: the baseline `ocr` has the same
recogniser with an off-the-shelf detector.
"""

from typing import ClassVar

import cv2
import numpy as np
from torch import Tensor

from benchmark.baselines.recogniser import Recogniser
from benchmark.data.batches import Batch
from benchmark.data.letterbox import letterbox
from benchmark.evaluation.metrics import Prediction
from benchmark.models.contract import Model
from benchmark.models.line_reader import LineReader
from benchmark.models.step import Step
from benchmark.models.strips import Band, band_quads
from benchmark.reading.multi_scale import read_views
from benchmark.tasks.task import Kind
from ivl_shards import UserError
from ivl_shards.format.schema import Array

INDUCTIVE_OCR = "inductive-ocr"
"""Its name on the command line."""
DESCRIPTION = "the line finder of a trained inductive reader, with PP-OCRv6 to read lines"
# Minimal height in pixels of a line that is cut out, and the margin around it over its height.
_MIN_ROWS, _MARGIN = 48, 0.08
# Maximal width in pixels: the recogniser would squeeze wider ones.
_MAX_WIDTH = 3200


class InductiveOcr(Model):
    """A trained line finder with PP-OCRv6 as its recogniser."""

    kind: ClassVar[Kind] = "reading"

    def __init__(self, finder: LineReader) -> None:
        super().__init__()
        self.finder, self.recogniser = finder, Recogniser()

    def loss(self, batch: Batch) -> Tensor:
        """Refuse: the finder is trained as a part of the model `inductive`."""
        raise UserError("inductive-ocr cannot be trained: its finder is that of inductive")

    def predict(self, images: Tensor) -> list[Prediction]:
        """Read images of the size of the finder's canvas."""
        pictures = (images * 255).round().byte().permute(0, 2, 3, 1).cpu().numpy()  # N, H, W, C
        return [self._read(picture) for picture in pictures]

    def _read(self, picture: Array) -> Prediction:
        (reading,) = read_views(self, picture, [letterbox(picture, picture.shape[:2])])
        return [line.text for line in reading.lines]

    def encode(self, images: Tensor) -> Tensor:
        """Return the features that all steps of the finder share."""
        return self.finder.encode(images)

    def find(self, encoded: Tensor, memory: Tensor) -> Step:
        """Find the next line."""
        return self.finder.find(encoded, memory)

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Return the memory after a step."""
        return self.finder.update(memory, delta)

    def read_lines(self, picture: Array, band: Band) -> list[tuple[str, float]]:
        """Read the lines in bands of a picture (H, W, 3), each with its confidence."""
        return self.recogniser.read([cut_line(picture, quad) for quad in _quads(band)])


def _quads(band: Band) -> Array:
    quads: Array = band_quads(band).numpy()
    return quads


def cut_line(picture: Array, quad: Array) -> Array:
    """Cut a line out of a picture (H, W, 3) and rectify it, with a thin margin.

    The corners of the quad, (4, 2), go clockwise from the upper left.
    """
    height = float(np.linalg.norm(quad[[3, 2]] - quad[[0, 1]], axis=1).mean())
    length = float(np.linalg.norm(quad[[1, 2]] - quad[[0, 3]], axis=1).mean())
    if height < 1 or length < 1:
        return np.zeros((0, 0, 3), np.uint8)
    along = (quad[1] + quad[2] - quad[0] - quad[3]) / (2 * length)  # unit vector along the line
    across = (quad[2] + quad[3] - quad[0] - quad[1]) / (2 * height)
    margin = _MARGIN * height
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    corners = quad + margin * (signs[:, :1] * along + signs[:, 1:] * across)
    rows = max(_MIN_ROWS, round(height * (1 + 2 * _MARGIN)))
    columns = max(1, min(_MAX_WIDTH, round(rows * (length + 2 * margin) / (height + 2 * margin))))
    target = np.array([[0, 0], [columns, 0], [columns, rows], [0, rows]])
    # Pixel centres are at + 0.5 here and at integers in OpenCV.
    matrix = cv2.getPerspectiveTransform(
        (corners - 0.5).astype(np.float32), (target - 0.5).astype(np.float32)
    )
    cut = cv2.warpPerspective(
        picture, matrix, (columns, rows), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(cut)
