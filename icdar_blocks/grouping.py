"""Grouping: words into lines, lines into blocks.

Two small pure functions. All comparisons are of ratios, so the scale of a picture does not
matter, and groups are connected components, so the order of the words does not either.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from icdar_blocks.order import ordered_block, ordered_blocks
from icdar_blocks.rule import PUBLISHED, Rule
from icdar_blocks.words import Block, Line, Word, around
from ivl_shards import UserError
from ivl_shards.format.schema import Array

AnyWord = Word | Sequence[object]


def group(words: Iterable[AnyWord], rule: Rule = PUBLISHED) -> list[Block]:
    """Blocks of lines of words, all in reading order.

    Words are `Word`s or plain tuples (x0, y0, x1, y1) or (x0, y0, x1, y1, text).

    >>> blocks = group([(60, 0, 90, 20, "gap"), (0, 1, 50, 21, "Mind"), (0, 30, 80, 50, "please"),
    ...                 (500, 0, 560, 20, "Exit")])
    >>> [[line.text for line in block] for block in blocks]
    [['Mind gap', 'please'], ['Exit']]
    """
    lines = words_to_lines([_checked(word) for word in words], rule)
    return ordered_blocks(ordered_block(block) for block in lines_to_blocks(lines, rule))


def words_to_lines(words: Sequence[Word], rule: Rule = PUBLISHED) -> list[Line]:
    """Link words that lie beside each other; a line is all that hangs together."""
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
    """Numbers 0 … many - 1 in groups that hang together."""
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
