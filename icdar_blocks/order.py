"""Order: lines top to bottom, words left to right, also where a block slants a little.

Positions are exact fractions: a picture moved or scaled by whole numbers keeps its order even
where two lines tie.
"""

from collections.abc import Iterable
from fractions import Fraction

from icdar_blocks.words import Block, Line, Word

# Rise over run, about 20°. Beyond, the slope is more likely a line of two words of different
# height than a slant; ICDAR's boxes are upright anyway.
_STEEPEST = Fraction(36, 100)


def ordered_block(lines: Iterable[Line]) -> Block:
    """The lines of a block, and the words of each, in reading order."""
    read = sorted(Line(sorted(line, key=_across)) for line in lines)
    slope = _slope(read)
    levels = {k: _level(line, slope) for k, line in enumerate(read)}
    rows: list[list[int]] = []
    for k in sorted(levels, key=lambda k: (levels[k], k)):
        # Lines beside each other, as in two columns, are one row and read left to right.
        if rows and _beside(read, levels, rows[-1][0], k):
            rows[-1].append(k)
        else:
            rows.append([k])
    return Block(read[k] for row in rows for k in sorted(row, key=lambda k: read[k].box))


def ordered_blocks(blocks: Iterable[Block]) -> list[Block]:
    """The blocks of a scene by their upper edge, then from the left."""
    return sorted(blocks, key=lambda block: (block.box[1], block.box[0], block))


def _across(word: Word) -> tuple[Fraction, Word]:
    return Fraction(word.x0) + Fraction(word.x1), word


def _middle(word: Word) -> tuple[Fraction, Fraction]:
    x = (Fraction(word.x0) + Fraction(word.x1)) / 2
    return x, (Fraction(word.y0) + Fraction(word.y1)) / 2


def _slope(lines: list[Line]) -> Fraction:
    """Slope common to all lines: least squares over the middles of their words."""
    along = square = Fraction(0)
    for line in lines:
        middles = [_middle(word) for word in line]
        mean_x = sum((x for x, _ in middles), Fraction(0)) / len(middles)
        along += sum((y * (x - mean_x) for x, y in middles), Fraction(0))
        square += sum(((x - mean_x) ** 2 for x, _ in middles), Fraction(0))
    slope = along / square if square else Fraction(0)
    return max(-_STEEPEST, min(_STEEPEST, slope))


def _level(line: Line, slope: Fraction) -> Fraction:
    """Height of the line's middle, had the block no slant."""
    middles = [_middle(word) for word in line]
    return sum((y - slope * x for x, y in middles), Fraction(0)) / len(middles)


def _beside(lines: list[Line], levels: dict[int, Fraction], a: int, b: int) -> bool:
    """Whether two lines stand at one height, one clear of the other."""
    (ax0, _, ax1, _), (bx0, _, bx1, _) = lines[a].box, lines[b].box
    least = min(word.height for k in (a, b) for word in lines[k])
    return (ax1 <= bx0 or bx1 <= ax0) and 2 * abs(levels[a] - levels[b]) <= Fraction(least)
