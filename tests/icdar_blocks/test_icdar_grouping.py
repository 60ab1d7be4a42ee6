"""Grouping words into lines and blocks: what holds for any layout, and a naive reference."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from icdar_blocks import LITERAL, PUBLISHED, Block, Line, Rule, Word, group
from icdar_blocks.grouping import ordered_block
from icdar_blocks.rule import choose
from ivl_shards import UserError

RULES = st.sampled_from([PUBLISHED, LITERAL, Rule(horizontal="centres", of="smaller")])


@st.composite
def words(draw) -> Word:
    x, y = draw(st.integers(0, 400)), draw(st.integers(0, 200))
    width, height = draw(st.integers(1, 120)), draw(st.integers(3, 40))
    return Word(x, y, x + width, y + height, draw(st.sampled_from(["a", "the", "24", "word"])))


LAYOUTS = st.lists(words(), max_size=12)


def moved(word: Word, scale: int, dx: int, dy: int) -> Word:
    x0, y0, x1, y1 = (scale * value for value in word.box)
    return Word(x0 + dx, y0 + dy, x1 + dx, y1 + dy, word.text)


def moved_blocks(blocks: list[Block], *how: int) -> list[list[list[Word]]]:
    return [[[moved(word, *how) for word in line] for line in block] for block in blocks]


def plain(blocks: list[Block]) -> list[list[list[Word]]]:
    return [[list(line) for line in block] for block in blocks]


@given(LAYOUTS, RULES, st.randoms(use_true_random=False))
def test_the_order_of_the_words_does_not_matter(layout, rule, rng: random.Random) -> None:
    shuffled = rng.sample(layout, len(layout))
    assert group(shuffled, rule) == group(layout, rule)


@given(LAYOUTS, RULES, st.integers(1, 50), st.integers(-5000, 5000), st.integers(-5000, 5000))
def test_moving_and_scaling_a_scene_changes_nothing(layout, rule, scale, dx, dy) -> None:
    there = group([moved(word, scale, dx, dy) for word in layout], rule)
    assert plain(there) == moved_blocks(group(layout, rule), scale, dx, dy)


@given(LAYOUTS, RULES)
def test_every_word_is_in_one_line_and_every_line_in_one_block(layout, rule) -> None:
    blocks = group(layout, rule)
    assert Counter(word for block in blocks for word in block.words) == Counter(layout)
    assert all(block and all(line for line in block) for block in blocks)


@given(LAYOUTS, LAYOUTS, RULES, st.booleans())
def test_what_is_far_apart_is_never_joined(left, right, rule, beside) -> None:
    # A layout is at most 520 × 240. Lines reach 3 heights sideways; a box of several merged
    # lines grows by its own height, 240 at most.
    far = [moved(word, 1, 1000 if beside else 0, 0 if beside else 1000) for word in right]
    together = group(left + far, rule)
    apart = group(left, rule) + group(far, rule)
    assert Counter(together) == Counter(apart)


@given(words(), words())
def test_two_words_are_joined_only_side_by_side_or_one_above_the_other(a, b) -> None:
    gap_x = max(a.x0 - b.x1, b.x0 - a.x1, 0)
    gap_y = max(a.y0 - b.y1, b.y0 - a.y1, 0)
    blocks = group([a, b])
    if gap_x > 3 * min(a.height, b.height) or gap_y >= a.height + b.height:
        assert len(blocks) == 2


# --- a naive reference -------------------------------------------------------------------


def closure(items, linked) -> list[frozenset]:
    """Merge any two groups with linked members until no two are left."""
    groups = [frozenset([item]) for item in items]
    while True:
        pair = next(
            (
                (a, b)
                for a in groups
                for b in groups
                if a != b and any(linked(i, j) for i in a for j in b)
            ),
            None,
        )
        if pair is None:
            return groups
        groups = [g for g in groups if g not in pair] + [pair[0] | pair[1]]


def naive_lines(layout: list[Word], rule: Rule) -> list[frozenset[int]]:
    def height_of(word: Word) -> Fraction:
        parts = {"tops": word.y0, "centres": Fraction(word.y0 + word.y1, 2), "bottoms": word.y1}
        return Fraction(parts[rule.vertical])

    def linked(i: int, j: int) -> bool:
        a, b = layout[i], layout[j]
        least = min(a.y1 - a.y0, b.y1 - b.y0)
        if rule.horizontal == "edges":
            apart = Fraction(max(a.x0 - b.x1, b.x0 - a.x1))
        else:
            apart = abs(Fraction(a.x0 + a.x1 - b.x0 - b.x1, 2))
        return abs(height_of(a) - height_of(b)) <= Fraction(least, 2) and apart <= 3 * least

    return closure(range(len(layout)), linked)


def naive_blocks(layout: list[Word], rule: Rule) -> set[frozenset[frozenset[int]]]:
    groups = [frozenset([line]) for line in naive_lines(layout, rule)]

    def box(lines) -> tuple[int, int, int, int]:
        inside = [layout[i] for line in lines for i in line]
        return (
            min(w.x0 for w in inside),
            min(w.y0 for w in inside),
            max(w.x1 for w in inside),
            max(w.y1 for w in inside),
        )

    def linked(a, b) -> bool:
        (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = box(a), box(b)
        rim_a, rim_b = (
            (Fraction(rule.growth) - 1) * (ay1 - ay0) / 2,
            ((Fraction(rule.growth) - 1) * (by1 - by0) / 2),
        )
        wide = min(ax1, bx1) - max(ax0, bx0)
        high = min(ay1 + rim_a, by1 + rim_b) - max(ay0 - rim_a, by0 - rim_b)
        shared = max(wide, 0) * max(high, 0)
        times = Fraction(rule.growth) if rule.area == "grown" else Fraction(1)
        areas = [(ax1 - ax0) * (ay1 - ay0) * times, (bx1 - bx0) * (by1 - by0) * times]
        return 3 * shared >= (max(areas) if rule.of == "larger" else min(areas))

    while True:
        # One round: who is linked is decided before anything is merged.
        links = {(a, b): linked(a, b) for a in groups for b in groups}
        merged = closure(groups, lambda a, b, links=links: links[a, b])
        joined = [frozenset().union(*parts) for parts in merged]
        if len(joined) == len(groups) or not rule.repeated:
            return set(joined)
        groups = joined


def random_layout(rng: random.Random) -> list[Word]:
    """Distinct words, half of them on a common grid as text is."""
    layout = set()
    for _ in range(rng.randint(1, 9)):
        height = rng.choice([10, 10, 12, 20, 30])
        x, y = rng.randint(0, 200), rng.choice([rng.randint(0, 120), 14 * rng.randint(0, 8)])
        layout.add((x, y, x + rng.randint(5, 80), y + height))
    return [Word(*box, str(k)) for k, box in enumerate(sorted(layout))]


def test_a_naive_reference_agrees_on_a_thousand_layouts() -> None:
    rng = random.Random(7)
    seen = Counter()
    for k in range(1000):
        rule = Rule(
            vertical=rng.choice(["tops", "centres", "bottoms"]),
            horizontal=rng.choice(["edges", "centres"]),
            growth=rng.choice([2.0, 3.0]),
            area=rng.choice(["original", "grown"]),
            of=rng.choice(["larger", "smaller"]),
            repeated=rng.random() < 0.5,
        )
        rule = rule if k % 2 else rng.choice([PUBLISHED, LITERAL])
        layout = random_layout(rng)
        found = group(layout, rule)
        partition = {
            frozenset(frozenset(int(word.text) for word in line) for line in block)
            for block in found
        }
        assert partition == naive_blocks(layout, rule), (rule, layout)
        seen.update(len(block) for block in found)
    assert all(seen[lines] > 20 for lines in (1, 2, 3))  # the layouts do make blocks


# --- reading order -----------------------------------------------------------------------


def slanted(lengths: list[int], slope: float, rng: random.Random) -> list[Line]:
    """Lines of so many words each, numbered as they read, in a block that slants."""
    lines, k = [], 0
    for row, many in enumerate(lengths):
        x, line = 300.0, []
        for _ in range(many):
            width = rng.randint(20, 70)
            y = 300 + 34 * row + slope * (x + width / 2)
            line.append(Word(x, y, x + width, y + 20, str(k)))
            x, k = x + width + 8, k + 1
        lines.append(Line(line))
    return lines


@given(
    st.randoms(use_true_random=False),
    st.floats(-0.3, 0.3),
    st.lists(st.integers(2, 9), min_size=2, max_size=6),
)
@example(random.Random(1), 0.25, [9, 2])  # by height alone the second line comes first
@example(random.Random(1), -0.25, [2, 9])
def test_a_slightly_slanted_block_reads_line_by_line(rng: random.Random, slope, lengths) -> None:
    lines = slanted(lengths, slope, rng)
    shuffled = [Line(rng.sample(line, len(line))) for line in rng.sample(lines, len(lines))]
    assert list(ordered_block(shuffled)) == lines


def test_two_columns_of_one_block_read_left_before_right() -> None:
    head = Word(0, 0, 400, 20, "head")
    left, right = Word(0, 24, 90, 44, "left"), Word(300, 23, 400, 43, "right")
    rule = choose(PUBLISHED, ["share=0.1"])
    assert [[line.text for line in block] for block in group([right, left, head], rule)] == [
        ["head", "left", "right"]
    ]


# --- the function as others use it -------------------------------------------------------


def test_plain_tuples_will_do() -> None:
    blocks = group([(0, 0, 50, 20), (60, 0, 90, 20)])
    assert [[word.box for word in line] for line in blocks[0]] == [
        [(0, 0, 50, 20), (60, 0, 90, 20)]
    ]
    assert group([]) == []


@pytest.mark.parametrize("box", [(0, 0, 0, 5), (5, 0, 1, 5), (0, 0, float("nan"), 5)])
def test_an_empty_box_is_refused(box) -> None:
    with pytest.raises(UserError, match="empty or not finite"):
        group([box])


def test_many_words_are_grouped_in_good_time() -> None:
    page = [(60 * x, 30 * y, 60 * x + 50, 30 * y + 20) for x in range(40) for y in range(50)]
    (block,) = group(page)
    assert len(block) == 50 and all(len(line) == 40 for line in block)


@pytest.mark.parametrize(
    "choice", ["tops", "vertical=up", "growth=x", "growth=0.5", "share=0", "rise=nan", "repeated=1"]
)
def test_a_choice_that_makes_no_sense_is_refused(choice: str) -> None:
    with pytest.raises(UserError):
        choose(PUBLISHED, [choice])
