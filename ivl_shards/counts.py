"""Counts: how many lines or objects a sample has, and which sample of the set has how many."""

import re

from ivl_shards.errors import UserError

_PART = re.compile(r"(\d+)(?:-(\d+))?")
# Far above any real dataset; keeps a slip such as 1-99999999999 from filling the memory.
_LARGEST = 10_000


def parse_counts(text: str) -> tuple[int, ...]:
    """Read a list of ranges.

    >>> parse_counts("1-4,7")
    (1, 2, 3, 4, 7)
    """
    counts: list[int] = []
    for part in text.replace(" ", "").split(","):
        match = _PART.fullmatch(part)
        if not match:
            raise UserError(f"'{text}' is not a list of counts: write 3-10 or 1-10,15,20")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UserError(f"'{part}' runs backwards: write {last}-{first}")
        if last > _LARGEST:
            raise UserError(f"'{part}' is too large: counts go up to {_LARGEST}")
        counts += range(first, last + 1)
    if len(set(counts)) < len(counts):
        raise UserError(f"'{text}' names a count twice")
    return tuple(counts)


def format_counts(counts: tuple[int, ...]) -> str:
    """Write counts the way `parse_counts` reads them.

    >>> format_counts((1, 2, 3, 4, 7))
    '1-4,7'
    """
    runs: list[list[int]] = []
    for count in counts:
        if runs and count == runs[-1][-1] + 1:
            runs[-1].append(count)
        else:
            runs.append([count])
    return ",".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs)


def place(counts: tuple[int, ...], row: int) -> tuple[int, int]:
    """Count of the sample in a row of the dataset, and its index among those of that count.

    Counts take turns, so that every shard and every prefix of a dataset is balanced, and a
    longer dataset begins with the samples of a shorter one.

    >>> [place((3, 4, 5), row) for row in range(4)]
    [(3, 0), (4, 0), (5, 0), (3, 1)]
    """
    index, turn = divmod(row, len(counts))
    return counts[turn], index
