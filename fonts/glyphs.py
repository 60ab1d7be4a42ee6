"""Glyphs: characters as pixels, to see what a face really draws."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFont

Mask = NDArray[np.uint8]

_SIZE = 40
# A noncharacter: no font may map it, so FreeType draws the box for what is missing.
_MISSING = "\U0010ffff"


class Glyphs:
    """A face at one size, ready to draw single characters.

    Raises OSError if FreeType refuses the file.
    """

    def __init__(self, source: Path | bytes, index: int = 0, size: int = _SIZE) -> None:
        file = BytesIO(source) if isinstance(source, bytes) else source
        self.font = ImageFont.truetype(
            file, size, index=index, layout_engine=ImageFont.Layout.BASIC
        )
        self._box = self._draw(_MISSING)

    def ink(self, character: str) -> Mask | None:
        """The character's pixels; None if it comes out blank or as the box for the missing."""
        mask = self._draw(character)
        if mask is None or (self._box is not None and np.array_equal(mask, self._box)):
            return None
        return mask

    def drawn(self, characters: Iterable[str]) -> frozenset[str]:
        """Those of the characters that come out with ink of their own."""
        return frozenset(c for c in characters if self.ink(c) is not None)

    def _draw(self, character: str) -> Mask | None:
        try:
            core = self.font.getmask(character, mode="L")
        except (OSError, ValueError, MemoryError):  # a damaged glyph, or one of absurd size
            return None
        mask = np.frombuffer(bytes(core), np.uint8).reshape(core.size[::-1])
        rows, columns = np.flatnonzero(mask.max(1, initial=0)), np.flatnonzero(mask.max(0, initial=0))
        if not len(rows):
            return None
        return mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def normalised(mask: Mask, side: int) -> NDArray[np.bool_]:
    """Ink stretched to a square, to compare shapes whatever their size."""
    square = Image.fromarray(mask).resize((side, side), Image.Resampling.BOX)
    return np.asarray(square) >= 96  # (side, side)
