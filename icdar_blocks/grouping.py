"""Grouping: words into lines, lines into blocks, and both into reading order.

All comparisons are of ratios, so the scale of a picture does not matter, and groups are connected
components, so the order of the words does not either. Positions are exact fractions: a picture
moved or scaled by whole numbers keeps its order even where two lines tie.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from icdar_blocks.rule import PUBLISHED, Rule
from icdar_blocks.words import Block, Line, Word, around
from ivl_shards import UserError
from ivl_shards.format.schema import Array

AnyWord = Word | Sequence[object]
# Rise over run, about 20°. Beyond, the slope is more likely a line of two words of different
# height than a slant; ICDAR's boxes are upright anyway.
_STEEPEST = Fraction(36, 100)


def group(words: Iterable[AnyWord], rule: Rule = PUBLISHED) -> list[Block]:
    """Group words into blocks of lines, all in reading order.

    Words are `Word`s or plain tuples (x0, y0, x1, y1) or (x0, y0, x1, y1, text).

    >>> blocks = group([(60, 0, 90, 20, "gap"), (0, 1, 50, 21, "Mind"), (0, 30, 80, 50, "please"),
    ...                 (500, 0, 560, 20, "Exit")])
    >>> [[line.text for line in block] for block in blocks]
    [['Mind gap', 'please'], ['Exit']]
    """
    lines = words_to_lines([_checked(word) for word in words], rule)
    return ordered_blocks(ordered_block(block) for block in lines_to_blocks(lines, rule))


def words_to_lines(words: Sequence[Word], rule: Rule = PUBLISHED) -> list[Line]:
    """Link words that lie beside each other; a line is a connected group of words."""
    boxes = _array(word.box for word in words)
    parts = _components(len(words), _word_links(boxes, rule))
    return [Line(words[i] for i in part) for part in parts]


def lines_to_blocks(lines: Sequence[Line], rule: Rule = PUBLISHED) -> list[Block]:
    """Grow the boxes of the lines in height and merge those that overlap enough."""
    parts = [[i] for i in range(len(lines))]
    while True:
        boxes = _array(around(lines[i].box for i in part) for part in parts)
        merged = _components(len(parts), _box_links(boxes, rule))
        settled = len(merged) == len(parts) or not rule.repeated
        parts = [[i for k in join for i in parts[k]] for join in merged]
        if settled:
            return [Block(lines[i] for i in part) for part in parts]


Links = Iterator[tuple[int, Array]]
"""A number, and the higher numbers that it is linked with."""


def _word_links(boxes: Array, rule: Rule) -> Links:
    x0, y0, x1, y1 = boxes.T
    height = y1 - y0
    # Twice the centre, so that whole numbers stay whole.
    place = {"tops": 2 * y0, "centres": y0 + y1, "bottoms": 2 * y1}[rule.vertical]
    for i in range(len(boxes) - 1):
        rest = slice(i + 1, None)
        least = np.minimum(height[i], height[rest])
        if rule.horizontal == "edges":
            apart = np.maximum(x0[rest] - x1[i], x0[i] - x1[rest])
        else:
            apart = np.abs(x0[rest] + x1[rest] - x0[i] - x1[i]) / 2
        near = np.abs(place[rest] - place[i]) <= 2 * rule.rise * least
        yield i, i + 1 + np.flatnonzero(near & (apart <= rule.reach * least))


def _box_links(boxes: Array, rule: Rule) -> Links:
    x0, y0, x1, y1 = boxes.T
    rim = (y1 - y0) * (rule.growth - 1) / 2  # added above and below
    top, bottom = y0 - rim, y1 + rim
    area = (x1 - x0) * ((y1 - y0) if rule.area == "original" else (bottom - top))
    pick = np.maximum if rule.of == "larger" else np.minimum
    for i in range(len(boxes) - 1):
        rest = slice(i + 1, None)
        width = np.minimum(x1[i], x1[rest]) - np.maximum(x0[i], x0[rest])
        height = np.minimum(bottom[i], bottom[rest]) - np.maximum(top[i], top[rest])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        enough = shared >= rule.share * pick(area[i], area[rest])
        yield i, i + 1 + np.flatnonzero(enough)


def _components(many: int, links: Links) -> list[list[int]]:
    """Return the numbers 0 … many - 1 in connected components."""
    label = np.arange(many)
    for i, others in links:
        # As arrays: boxes that all lie on each other have millions of links.
        merged = np.unique(label[others])
        merged = merged[merged != label[i]]
        if len(merged):
            label[np.isin(label, merged)] = label[i]
    parts: dict[int, list[int]] = defaultdict(list)
    for i, of in enumerate(label.tolist()):
        parts[of].append(i)
    return list(parts.values())


def _array(boxes: Iterable[Sequence[float]]) -> Array:
    return np.array(list(boxes), np.float64).reshape(-1, 4)


def _checked(given: AnyWord) -> Word:
    word = given if isinstance(given, Word) else Word(*given)  # type: ignore[arg-type]
    # Written so that a NaN fails too.
    if not (-np.inf < word.x0 < word.x1 < np.inf and -np.inf < word.y0 < word.y1 < np.inf):
        raise UserError(f"word '{word.text}': its box {word.box} is empty or not finite")
    return word


def ordered_block(lines: Iterable[Line]) -> Block:
    """Return the lines of a block, and the words of each, in reading order."""
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
    """Sort the blocks of a scene by their upper edge, then from the left."""
    return sorted(blocks, key=lambda block: (block.box[1], block.box[0], block))


def _across(word: Word) -> tuple[Fraction, Word]:
    return Fraction(word.x0) + Fraction(word.x1), word


def _middle(word: Word) -> tuple[Fraction, Fraction]:
    x = (Fraction(word.x0) + Fraction(word.x1)) / 2
    return x, (Fraction(word.y0) + Fraction(word.y1)) / 2


def _slope(lines: list[Line]) -> Fraction:
    """Return the slope common to all lines: least squares over the middles of their words."""
    along = square = Fraction(0)
    for line in lines:
        middles = [_middle(word) for word in line]
        mean_x = sum((x for x, _ in middles), Fraction(0)) / len(middles)
        along += sum((y * (x - mean_x) for x, y in middles), Fraction(0))
        square += sum(((x - mean_x) ** 2 for x, _ in middles), Fraction(0))
    slope = along / square if square else Fraction(0)
    return max(-_STEEPEST, min(_STEEPEST, slope))


def _level(line: Line, slope: Fraction) -> Fraction:
    """Return the height of the line's middle if the block had no slant."""
    middles = [_middle(word) for word in line]
    return sum((y - slope * x for x, y in middles), Fraction(0)) / len(middles)


def _beside(lines: list[Line], levels: dict[int, Fraction], a: int, b: int) -> bool:
    """Tell whether two lines stand at one height, one clear of the other."""
    (ax0, _, ax1, _), (bx0, _, bx1, _) = lines[a].box, lines[b].box
    least = min(word.height for k in (a, b) for word in lines[k])
    return (ax1 <= bx0 or bx1 <= ax0) and 2 * abs(levels[a] - levels[b]) <= Fraction(least)
