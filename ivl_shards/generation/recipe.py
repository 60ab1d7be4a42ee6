"""Recipe: everything that decides what is in a dataset."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from ivl_shards.errors import UserError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Recipe:
    """The knobs that all generators share; each generator's own recipe adds its own.

    How a dataset is made (workers, shard size, where) is not in it, because it does not
    change the content.
    """

    counts: tuple[int, ...]
    """Lines or objects of a sample; they take turns."""
    total: int
    """Samples in the dataset."""
    seed: int = 0
    split: str = "test"
    """Goes into the random key: train and test of one seed share no sample."""
    dense_memory: bool = False
    """Also store every memory m_0 … m_T as an array."""

    def __post_init__(self) -> None:
        require(bool(self.counts), "no counts: give at least one")
        require(min(self.counts) >= 0, f"count {min(self.counts)} is negative")
        require(self.total >= 1, f"{self.total} samples: ask for at least 1")
        require(
            0 <= self.seed <= _LARGEST_SEED,
            f"seed {self.seed} is not between 0 and {_LARGEST_SEED}",
        )
        require(
            _NAME.fullmatch(self.split) is not None,
            f"split '{self.split}' is not a plain name such as train, val or test",
        )

    def place(self, row: int) -> tuple[int, int]:
        """Count, and index among the samples of that count, of the sample in a row."""
        return place(self.counts, row)

    def to_json(self) -> str:
        """The recipe as it stands in a shard: sorted, so that equal recipes are equal text."""
        return json.dumps(asdict(self), sort_keys=True)


def require(condition: bool, complaint: str) -> None:
    """Raise the complaint as a `UserError` unless the condition holds."""
    if not condition:
        raise UserError(complaint)


def from_json(text: str) -> dict[str, Any]:
    """A stored recipe as plain values; it may be of a generator that is not installed."""
    values: dict[str, Any] = json.loads(text)
    return values


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
