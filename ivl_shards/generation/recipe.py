"""Recipe: everything that decides what is in a dataset."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ivl_shards.errors import UserError
from ivl_shards.generation.knobs import changed_options, knobs_of, settle

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LARGEST_SEED = 2**63 - 1
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
# Far above any real dataset; it keeps a slip such as 1-99999999999 from filling the memory.
_LARGEST_COUNT = 10_000


@dataclass(frozen=True)
class Recipe:
    """What all recipes have; the recipe of a generator adds its own knobs (`knobs.py`).

    How a dataset is generated (workers, shard size, folder) is not part of its recipe, because it
    does not change the content.
    """

    defaults_by: ClassVar[str] = ""
    """The field that chooses between defaults of knobs, if there is one, such as `style`."""

    counts: tuple[int, ...]
    """Numbers of lines or objects; the samples cycle through them."""
    total: int
    """Number of samples in the dataset."""
    seed: int = 0
    """Random seed."""
    split: str = "test"
    """Part of the random key: train and test of one seed share no sample."""
    dense_memory: bool = False
    """Whether every memory m_0 … m_T is also stored as an array."""

    def __post_init__(self) -> None:
        require(bool(self.counts), "no counts: give at least one")
        require(min(self.counts) >= 0, f"count {min(self.counts)} is negative")
        require(self.total >= 1, f"--total {self.total}: ask for at least 1 sample")
        require(
            0 <= self.seed <= _LARGEST_SEED,
            f"--seed {self.seed}: must be between 0 and {_LARGEST_SEED}",
        )
        check_split(self.split)
        settle(self)

    def place(self, row: int) -> tuple[int, int]:
        """Return the count of the sample in a row, and its index among those of that count."""
        return place(self.counts, row)

    def to_json(self) -> str:
        """Return the recipe as it is stored: sorted, so that equal recipes are equal text."""
        values = asdict(self)
        for each in knobs_of(self):
            if each.added_later and each.value_in(self) == each.default:
                for name in each.fields:
                    del values[name]
        return json.dumps(values, sort_keys=True)

    def options(self, counts: str = "--counts", **defaults: Any) -> list[str]:
        """Return the command-line options that make this recipe.

        Knobs that are as by default are left out. `counts` is the generator's option for them;
        `defaults` replace declared ones that depend on the rest of the recipe.

        >>> Recipe(counts=(3, 4), total=10, seed=5, dense_memory=True).options("--lines")
        ['--lines', '3-4', '--total', '10', '--split', 'test', '--seed', '5', '--dense-memory']
        """
        return [
            *(counts, format_counts(self.counts), "--total", str(self.total)),
            *("--split", self.split),
            *(("--seed", str(self.seed)) if self.seed else ()),
            *(("--dense-memory",) if self.dense_memory else ()),
            *changed_options(self, **defaults),
        ]


def check_split(name: str, option: str = "--split") -> None:
    """Raise unless a text can be the name of a split."""
    require(
        _NAME.fullmatch(name) is not None,
        f"{option} '{name}': is not a plain name such as train, val or test",
    )


def require(condition: bool, complaint: str) -> None:
    """Raise the complaint as a `UserError` unless the condition holds."""
    if not condition:
        raise UserError(complaint)


def parse_counts(text: str) -> tuple[int, ...]:
    """Parse a list of ranges.

    >>> parse_counts("1-4,7")
    (1, 2, 3, 4, 7)
    """
    counts: list[int] = []
    for part in text.replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise UserError(f"'{text}' is not a list of counts: write 3-10 or 1-10,15,20")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UserError(f"'{part}' runs backwards: write {last}-{first}")
        if last > _LARGEST_COUNT:
            raise UserError(f"'{part}' is too large: counts go up to {_LARGEST_COUNT}")
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
    """Return the count of the sample in a row, and its index among those of that count.

    The samples cycle through the counts, so that every shard and every prefix of a dataset is
    balanced, and a longer dataset begins with the samples of a shorter one.

    >>> [place((3, 4, 5), row) for row in range(4)]
    [(3, 0), (4, 0), (5, 0), (3, 1)]
    """
    index, turn = divmod(row, len(counts))
    return counts[turn], index
