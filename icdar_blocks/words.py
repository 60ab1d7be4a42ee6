"""Words, lines of words and blocks of lines."""

from collections.abc import Iterable
from dataclasses import dataclass

Box = tuple[float, float, float, float]
"""(x0, y0, x1, y1) in pixels, x to the right, y down."""


@dataclass(frozen=True, order=True, slots=True)
class Word:
    """One word: its box and what it says."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str = ""

    @property
    def box(self) -> Box:
        """(x0, y0, x1, y1)."""
        return self.x0, self.y0, self.x1, self.y1

    @property
    def height(self) -> float:
        """Height of the box in pixels."""
        return self.y1 - self.y0


class Line(tuple[Word, ...]):
    """The words of one line, left to right.

    >>> line = Line([Word(0, 2, 30, 12, "Mind"), Word(35, 0, 50, 12, "the")])
    >>> line.text, line.box
    ('Mind the', (0, 0, 50, 12))
    """

    @property
    def box(self) -> Box:
        """The smallest box around all words."""
        return around(word.box for word in self)

    @property
    def text(self) -> str:
        """The words with a space between them."""
        return " ".join(word.text for word in self)


class Block(tuple[Line, ...]):
    """The lines of one block, top to bottom."""

    @property
    def box(self) -> Box:
        """The smallest box around all lines."""
        return around(line.box for line in self)

    @property
    def words(self) -> list[Word]:
        """All words in reading order."""
        return [word for line in self for word in line]


def around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around some boxes."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)
