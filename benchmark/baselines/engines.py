"""Engines: programs that find and read text in pictures.

RapidOCR (PyPI, weights in its wheel) wants another OpenCV than ours, which cannot stand beside it,
so it lives in an environment of its own. Tesseract is used where it is installed.
"""

import csv
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmark.baselines.environment import environment
from icdar_blocks import Word
from ivl_shards import UserError

# Everything is named, and nothing resolved: its own list has libraries of desktops.
RAPIDOCR = (
    "rapidocr-onnxruntime==1.4.4", "onnxruntime==1.23.2", "numpy==1.26.4", "pillow==10.4.0",
    "opencv-python-headless==4.10.0.84", "pyclipper==1.4.0", "shapely==2.0.6", "pyyaml==6.0.3",
    "six==1.17.0", "tqdm==4.67.3", "flatbuffers==25.12.19", "packaging==26.2",
    "protobuf==6.33.6", "coloredlogs==15.0.1", "humanfriendly==10.0", "sympy==1.14.0",
    "mpmath==1.3.0",
)  # fmt: skip
SCRIPT = Path(__file__).with_name("rapidocr_read.py")

Found = Callable[[str, list[Word]], None]


def rapidocr(folder: Path, found: Found) -> None:
    """Read all pictures of a folder; `found` is told the words of each as they come."""
    python = environment("rapidocr", RAPIDOCR)
    with subprocess.Popen([python, SCRIPT, folder], stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        for line in reader.stdout:
            picture = json.loads(line)
            pieces = [split_piece(p["quad"], p["text"]) for p in picture["pieces"]]
            found(picture["file"], [word for piece in pieces for word in piece])
    if reader.returncode:
        raise UserError(f"RapidOCR ended with exit code {reader.returncode}")


def tesseract(folder: Path, found: Found) -> None:
    """The same with Tesseract."""
    program = shutil.which("tesseract")
    if program is None:
        raise UserError("tesseract: not installed (Debian: apt-get install tesseract-ocr)")
    for path in sorted(folder.iterdir()):
        # 11: text in any place and order, as in photographs.
        command = [program, str(path), "stdout", "--psm", "11", "tsv"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise UserError(f"tesseract: {' '.join(done.stderr.split()) or 'failed'}")
        found(path.name, parse_tsv(done.stdout))


ENGINES: dict[str, Callable[[Path, Found], None]] = {"ocr": rapidocr, "tesseract": tesseract}
"""By the name that ivl-bench knows them by."""


def split_piece(quad: list[list[float]], text: str) -> list[Word]:
    """The words of a piece of text in upright boxes, each as long as its share of the letters.

    >>> for word in split_piece([[0, 0], [70, 0], [70, 10], [0, 10]], "Mind to"):
    ...     print(word.text, word.box)
    Mind (0.0, 0, 40.0, 10)
    to (50.0, 0, 70.0, 10)
    """
    x0, x1 = min(x for x, _ in quad), max(x for x, _ in quad)
    y0, y1 = min(y for _, y in quad), max(y for _, y in quad)
    words, place, letter = [], 0, (x1 - x0) / max(len(text), 1)
    for part in text.split(" "):
        if part:
            end = place + len(part)
            words.append(Word(x0 + place * letter, y0, x0 + end * letter, y1, part))
        place += len(part) + 1
    return words


def parse_tsv(text: str) -> list[Word]:
    """The words of Tesseract's table, but for those that it gives no chance."""
    words = []
    for row in csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        said = (row["text"] or "").strip()
        if said and float(row["conf"]) > 0:
            x, y, width, height = (int(row[k]) for k in ("left", "top", "width", "height"))
            words.append(Word(x, y, x + max(width, 1), y + max(height, 1), said))
    return words
