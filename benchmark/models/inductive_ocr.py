"""Inductive OCR: our line finder, with PP-OCRv6 to read what it finds.

It tells apart what localisation and recognition contribute: the off-the-shelf detector of the
baseline `ocr` uses the same recogniser.
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
from benchmark.reading.pages import read_views
from benchmark.tasks.task import Kind
from ivl_shards import UserError
from ivl_shards.format.schema import Array

INDUCTIVE_OCR = "inductive-ocr"
"""Its name on the command line."""
DESCRIPTION = "the line finder of a trained inductive reader, with PP-OCRv6 to read lines"
# Rows that a line is cut out with, and the space around it over its height.
_ROWS, _MARGIN = 48, 0.08
# No line is cut out wider than this, in pixels: the recogniser would squeeze it.
_WIDEST = 3200


class InductiveOcr(Model):
    """Find lines one after the other with a trained line reader; read them with PP-OCRv6."""

    kind: ClassVar[Kind] = "reading"

    def __init__(self, finder: LineReader) -> None:
        super().__init__()
        self.finder, self.recogniser = finder, Recogniser()

    def loss(self, batch: Batch) -> Tensor:
        """Refuse: the finder is trained as a part of the model `inductive`."""
        raise UserError("inductive-ocr is not trained itself: its finder is that of inductive")

    def predict(self, images: Tensor) -> list[Prediction]:
        """Read images that are as large as the finder's canvas."""
        pictures = (images * 255).round().byte().permute(0, 2, 3, 1).cpu().numpy()  # N, H, W, C
        return [self._read(picture) for picture in pictures]

    def _read(self, picture: Array) -> Prediction:
        (reading,) = read_views(self, picture, [letterbox(picture, picture.shape[:2])])
        return [line.text for line in reading.lines]

    def encode(self, images: Tensor) -> Tensor:
        """Return what all steps of the finder share."""
        return self.finder.encode(images)

    def find(self, encoded: Tensor, memory: Tensor) -> Step:
        """Find the next line."""
        return self.finder.find(encoded, memory)

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Return the memory with the line that was found."""
        return self.finder.update(memory, delta)

    def read_lines(self, picture: Array, band: Band) -> list[tuple[str, float]]:
        """Read the lines in bands of a picture (H, W, 3), each with its confidence."""
        return self.recogniser.read([cut_line(picture, quad) for quad in _quads(band)])


def _quads(band: Band) -> Array:
    quads: Array = band_quads(band).numpy()
    return quads


def cut_line(picture: Array, quad: Array) -> Array:
    """Cut a line out of a picture (H, W, 3) and lay it straight, with a thin margin.

    The corners of the quad, (4, 2), go clockwise from the upper left.
    """
    height = float(np.linalg.norm(quad[[3, 2]] - quad[[0, 1]], axis=1).mean())
    length = float(np.linalg.norm(quad[[1, 2]] - quad[[0, 3]], axis=1).mean())
    if height < 1 or length < 1:
        return np.zeros((0, 0, 3), np.uint8)
    along = (quad[1] + quad[2] - quad[0] - quad[3]) / (2 * length)  # one pixel along the line
    across = (quad[2] + quad[3] - quad[0] - quad[1]) / (2 * height)
    out = _MARGIN * height
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    corners = quad + out * (signs[:, :1] * along + signs[:, 1:] * across)
    rows = max(_ROWS, round(height * (1 + 2 * _MARGIN)))
    columns = max(1, min(_WIDEST, round(rows * (length + 2 * out) / (height + 2 * out))))
    target = np.array([[0, 0], [columns, 0], [columns, rows], [0, rows]])
    # Pixel centres lie at + 0.5 for us and at whole numbers for OpenCV.
    matrix = cv2.getPerspectiveTransform(
        (corners - 0.5).astype(np.float32), (target - 0.5).astype(np.float32)
    )
    cut = cv2.warpPerspective(
        picture, matrix, (columns, rows), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(cut)
