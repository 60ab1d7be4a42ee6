"""Layout: which files a dataset consists of, and which samples each of them holds."""

import os
from dataclasses import dataclass
from pathlib import Path

from ivl_shards.errors import UserError
from ivl_shards.recipe import require

# Up to here a dataset is one file; the paper's training sets fit.
ONE_FILE = 20_000
# Beyond, shards: small enough to lose little when killed, large enough not to be too many.
SHARD = 5_000
# One file is made in parts, by all workers, and put together at the end.
PART = 500


@dataclass(frozen=True)
class Layout:
    """The files of the dataset `out`."""

    out: Path
    total: int
    shard_size: int
    one_file: bool

    @property
    def folder(self) -> Path:
        """Where the shards lie, beside the index, and the parts of one file while it is made."""
        return shard_folder(self.out)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Rows [start, stop) of each shard."""
        starts = range(0, self.total, self.shard_size)
        return [(start, min(start + self.shard_size, self.total)) for start in starts]

    @property
    def shards(self) -> list[Path]:
        """The file of each range."""
        many = len(self.ranges)
        names = (f"{self.out.stem}-{k:05d}-of-{many:05d}.h5" for k in range(many))
        return [self.folder / name for name in names]


def shard_folder(out: Path) -> Path:
    """The folder that belongs to a dataset's path."""
    return out.with_suffix(".shards")


def plan_layout(out: Path, total: int, shard_size: int | None = None) -> Layout:
    """How a dataset of that many samples is laid out."""
    if shard_size is not None:
        require(shard_size >= 1, f"{shard_size} samples a shard: ask for at least 1")
    one_file = total <= (shard_size or ONE_FILE)
    return Layout(out, total, PART if one_file else shard_size or SHARD, one_file)


def check_target(out: Path) -> None:
    """Raise unless a dataset can be written there."""
    require(out.suffix in (".h5", ".hdf5"), f"{out}: a dataset's name ends in .h5")
    require(out.parent.is_dir(), f"{out.parent}: no such folder: make it first")
    require(not out.is_dir(), f"{out}: is a folder: give the name of a file")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise UserError(f"{out.parent}: not writable: choose another folder")
