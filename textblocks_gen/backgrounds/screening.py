"""Screening: find photographs that contain text themselves.

Text in a background has no label, so a reader that finds it is punished for being right. The
detector is RapidOCR's (PP-OCR), which the extra `ocr` installs. Verdicts are kept in the user's
cache by the sha256 of a photograph: each is looked at once.
"""

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import cv2
import numpy as np
from PIL import ImageOps

from fonts.places import recall, remember
from ivl_shards.photograph import open_photograph

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF")
"""Formats of photographs that are opened, by Pillow's names."""
# Raise it when the rule below changes.
_VERSION = 1
# What counts as text: so many letters or digits, read with so much confidence. Of single letters
# most are branches, windows and beaks.
_LEAST_CHARACTERS = 2
_LEAST_CONFIDENCE = 0.8
# Photographs are looked at no larger than this, in pixels of the longer side.
_LARGEST = 1280

_SETTINGS = {
    "Global.log_level": "error",
    # Shorter side in pixels to which images are enlarged; its own is 736, which takes longer.
    "Det.limit_side_len": 512,
    # One thread: others may be at work on this machine.
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


def has_ocr() -> bool:
    """Tell whether the extra `ocr` is installed."""
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


def text_in(content: bytes) -> str:
    """Return the text that can be read in a photograph; '' if there is none."""
    with open_photograph(content, FORMATS, lambda width, height: (_LARGEST, _LARGEST)) as file:
        image = ImageOps.exif_transpose(file).convert("RGB")
    image.thumbnail((_LARGEST, _LARGEST))
    found = _reader()(cv2.cvtColor(np.asarray(image), cv2.COLOR_RGB2BGR), use_cls=False)
    pairs = zip(found.txts or (), found.scores or (), strict=True)
    return " ".join(text for text, confidence in pairs if _is_text(text, confidence))


def _is_text(text: str, confidence: float) -> bool:
    letters = sum(character.isalnum() for character in text)
    return letters >= _LEAST_CHARACTERS and confidence >= _LEAST_CONFIDENCE


@cache
def _reader() -> Any:
    from rapidocr import RapidOCR  # takes a second, and is often not needed

    return RapidOCR(params=_SETTINGS)


@dataclass
class Verdicts:
    """The text found in photographs, by their sha256; '' for none."""

    known: dict[str, str] = field(default_factory=dict)
    new: int = 0
    """Number of verdicts that are not yet in the cache."""

    @staticmethod
    def load() -> "Verdicts":
        """Return the verdicts in the user's cache; a damaged cache counts as empty."""
        try:
            found = json.loads(recall(_cache_name()) or b"{}")
        except ValueError:
            found = {}
        if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
            found = {}
        return Verdicts(found)

    def text(self, sha256: str, content: bytes) -> str:
        """Return the text in a photograph, and remember it."""
        if sha256 not in self.known:
            self.known[sha256] = text_in(content)[:80]
            self.new += 1
        return self.known[sha256]

    def save(self) -> None:
        """Put new verdicts into the user's cache."""
        if self.new:
            remember(_cache_name(), json.dumps(self.known, sort_keys=True).encode())
            self.new = 0


def _cache_name() -> str:
    return f"text-in-photographs-{_VERSION}-{version('rapidocr')}.json"
