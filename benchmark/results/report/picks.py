"""Picks: the test samples that the report plays."""

from collections import defaultdict
from collections.abc import Sequence

from benchmark.results.result import Result
from ivl_shards.format.schema import Array

# Of the samples that are shown, at most this share are failures, if anything was right.
_FAILURES = 2 / 3


def pick_rows(result: Result, lengths: Array, most: int) -> list[int]:
    """Return rows of the test set, failures first, of as many lengths as possible."""
    wrong = [row for row, *_ in result.wrong]
    right = right_rows(wrong, result.wrong_total, len(lengths))
    failures = max(round(most * _FAILURES), most - len(right))
    picked = spread(wrong, lengths, failures)
    return picked + spread(right, lengths, most - len(picked))


def right_rows(wrong: Sequence[int], wrong_total: int, total: int) -> list[int]:
    """Return the rows that are known to be right.

    A result lists the first wrong rows in order: beyond the last of them nothing is known,
    unless it lists them all.

    >>> right_rows([1, 3], 2, 6), right_rows([1, 3], 9, 6)
    ([0, 2, 4, 5], [0, 2])
    """
    known = total if wrong_total == len(wrong) else wrong[-1]
    return sorted(set(range(known)) - set(wrong))


def spread(rows: Sequence[int], lengths: Array, most: int) -> list[int]:
    """Pick up to `most` rows, one of each length in turn, and return them sorted by length.

    Long ones are picked before short ones.

    >>> import numpy as np
    >>> spread([0, 1, 2, 3], np.array([5, 5, 5, 3]), 2)
    [3, 0]
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        by_length[int(lengths[row])].append(row)
    turns = [
        (turn, -length, row)
        for length, found in by_length.items()
        for turn, row in enumerate(found)
    ]
    return sorted((row for *_, row in sorted(turns)[:most]), key=lambda row: (lengths[row], row))
