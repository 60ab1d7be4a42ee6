"""Recogniser: read pictures of single lines with PP-OCRv6, without its detector.

The weights are those of the package `rapidocr`, which the extra `ocr` installs. They are run with
onnxruntime directly, because RapidOCR itself reads one line per call.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ivl_shards import UserError
from ivl_shards.format.schema import Array

INSTALL = "pip install 'ivl[ocr]'"
"""Command that installs the extra."""
_WEIGHTS = Path("models") / "PP-OCRv6_rec_small.onnx"
# Size of the network's input, in pixels. PP-OCR pads shorter lines to 320; lines longer than 3,200
# are squeezed, so that a very thin picture does not need gigabytes of memory.
_HEIGHT, _MIN_WIDTH, _MAX_WIDTH = 48, 320, 3200
_BATCH_SIZE = 8


class Recogniser:
    """The recogniser of PP-OCRv6, for rectified pictures of single lines of text.

    The text of a picture does not depend on the other pictures of the batch.
    """

    def __init__(self) -> None:
        weights = require_extra("the recogniser PP-OCRv6") / _WEIGHTS
        if not weights.is_file():
            raise UserError(f"rapidocr has no {_WEIGHTS.name}: {INSTALL} --upgrade")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # One thread, so that results do not depend on the number of cores.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            str(weights), options, providers=["CPUExecutionProvider"]
        )
        known = self._session.get_modelmeta().custom_metadata_map["character"].splitlines()
        # The network's symbols: the blank first, then the characters, then the space.
        self._symbols = np.array(["", *known, " "])
        self._input = self._session.get_inputs()[0].name

    def read(self, pictures: Sequence[Array]) -> list[tuple[str, float]]:
        """Return the text of each picture and its confidence, the mean over its characters.

        Parameters
        ----------
        pictures
            (H, W, 3) RGB, uint8; each one line of text, upright, with a thin margin. The text of
            an empty picture is empty.
        """
        texts = [("", 0.0)] * len(pictures)
        for rows, width in _batches(pictures):
            batch = np.stack([_prepare(pictures[row], width) for row in rows])
            (frames,) = self._session.run(None, {self._input: batch})  # N, T, symbols
            for row, probabilities in zip(rows, frames, strict=True):
                texts[row] = self._decode(probabilities)
        return texts

    def _decode(self, probabilities: Array) -> tuple[str, float]:
        """Decode the frames of one line, (T, symbols), greedily."""
        best = probabilities.argmax(axis=1)
        kept = (best != 0) & np.append(True, best[1:] != best[:-1])
        if not kept.any():
            return "", 0.0
        return "".join(self._symbols[best[kept]]), float(probabilities.max(axis=1)[kept].mean())


def require_extra(what: str) -> Path:
    """Return the folder of the package rapidocr; raise if it is not installed."""
    found = find_spec("rapidocr")
    if found is None or found.origin is None or find_spec("onnxruntime") is None:
        raise UserError(f"{what} needs the extra ocr: {INSTALL}")
    return Path(found.origin).parent


def _batches(pictures: Sequence[Array]) -> Iterator[tuple[list[int], int]]:
    """Group pictures by padded width; yield their indices and that width.

    PP-OCR itself pads all lines of a batch to the longest, which makes the text of a line depend on
    the others.
    """
    by_width: dict[int, list[int]] = defaultdict(list)
    for row, picture in enumerate(pictures):
        if picture.size:
            by_width[max(_MIN_WIDTH, _line_width(picture))].append(row)
    for width, rows in sorted(by_width.items()):
        for start in range(0, len(rows), _BATCH_SIZE):
            yield rows[start : start + _BATCH_SIZE], width


def _line_width(picture: Array) -> int:
    """Return the width of a picture at the network's height."""
    height, width = picture.shape[:2]
    return min(math.ceil(_HEIGHT * float(width) / float(height)), _MAX_WIDTH)


def _prepare(picture: Array, width: int) -> Array:
    """Scale a picture to the network's height and pad it on the right: (3, 48, width), -1 to 1."""
    bgr = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2BGR)  # as PP-OCR expects
    scaled = cv2.resize(bgr, (_line_width(picture), _HEIGHT))
    padded = np.zeros((3, _HEIGHT, width), np.float32)
    padded[:, :, : scaled.shape[1]] = scaled.transpose(2, 0, 1) / 127.5 - 1
    return padded
