"""Table: blocks and words by number of lines, beside the paper's."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from icdar_blocks.rule import Rule
from icdar_blocks.words import Block

MOST = 5
"""The most lines in the paper's table; longer blocks are shown as 6+."""
PAPER_BLOCKS = {1: 169, 2: 79, 3: 29, 4: 6, 5: 3}
PAPER_WORDS = {1: 270, 2: 267, 3: 136, 4: 34, 5: 40}
_COLUMNS = range(1, MOST + 2)


@dataclass(frozen=True)
class Table:
    """How many blocks have how many lines, and how many words these hold."""

    blocks: dict[int, int]
    words: dict[int, int]

    @property
    def distance(self) -> tuple[int, int]:
        """Sum of differences from the paper over 1 to 5 lines, in blocks and in words."""
        return _distance(self.blocks, PAPER_BLOCKS), _distance(self.words, PAPER_WORDS)


def counted_lines(block: Block, rule: Rule) -> list[int]:
    """Return the number of counted words of each line that has any."""
    words = [sum(map(rule.counts, line)) for line in block]
    return [many for many in words if many]


def make_table(blocks: Iterable[Block], rule: Rule) -> Table:
    """Count the blocks; those without a word that counts are no blocks of the table."""
    many_blocks: Counter[int] = Counter()
    many_words: Counter[int] = Counter()
    for block in blocks:
        if counted := counted_lines(block, rule):
            column = min(len(counted), MOST + 1)
            many_blocks[column] += 1
            many_words[column] += sum(counted)
    return Table(dict(many_blocks), dict(many_words))


def format_table(table: Table) -> str:
    """Return the table as it is printed, the paper's numbers below ours."""
    heads = [str(column) for column in range(1, MOST + 1)] + [f"{MOST + 1}+"]
    rows = [
        ("lines", heads),
        ("blocks", _cells(table.blocks)),
        ("  paper", _cells(PAPER_BLOCKS)),
        ("words", _cells(table.words)),
        ("  paper", _cells(PAPER_WORDS)),
    ]
    return "\n".join(f"{name:<9}" + "".join(f"{cell:>6}" for cell in cells) for name, cells in rows)


def _cells(numbers: dict[int, int]) -> list[str]:
    return [f"{numbers[column]}" if numbers.get(column) else "–" for column in _COLUMNS]


def _distance(ours: dict[int, int], paper: dict[int, int]) -> int:
    return sum(abs(ours.get(column, 0) - paper[column]) for column in paper)
