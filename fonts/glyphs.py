"""Glyphs: characters as pixels, to see what a face really draws."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

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
        """Return the character's pixels; None if it is blank or the box for missing characters."""
        core = self._draw(character)
        if core is None or self._is_box(core):
            return None
        return np.frombuffer(bytes(core), np.uint8).reshape(core.size[::-1])

    def drawn(self, characters: Iterable[str]) -> frozenset[str]:
        """Return those of the characters that come out with ink of their own."""
        cores = ((c, self._draw(c)) for c in characters)
        return frozenset(c for c, core in cores if core is not None and not self._is_box(core))

    def _is_box(self, core: Any) -> bool:
        box = self._box
        return box is not None and core.size == box.size and bytes(core) == bytes(box)

    def _draw(self, character: str) -> Any:
        """Return Pillow's bare image of a character's ink, without margins; None if it has none."""
        try:
            core = self.font.getmask(character, mode="L")
        # A damaged glyph, or one of absurd size.
        except (OSError, ValueError, MemoryError, Image.DecompressionBombError):
            return None
        bounds = core.getbbox()
        return None if bounds is None else core.crop(bounds)


def normalised(mask: Mask, side: int) -> NDArray[np.bool_]:
    """Stretch ink to a square, to compare shapes whatever their size."""
    square = Image.fromarray(mask).resize((side, side), Image.Resampling.BOX)
    return np.asarray(square) >= 96  # (side, side)
