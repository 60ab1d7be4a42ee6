"""Layout: the files of a dataset, and the samples in each of them."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ivl_shards.errors import UserError
from ivl_shards.generation.recipe import require

# Most samples in a single file; the paper's training sets fit.
ONE_FILE = 20_000
# Samples per shard of a larger dataset: few enough to lose little when a run is killed.
SHARD = 5_000
# A single file is generated in parts of this many samples by all workers, then merged.
PART = 500


_LISTED = re.compile(r"[^/\\]+/(?P<prefix>[^/\\]+)-0+-of-\d{5,}\.h5")


@dataclass(frozen=True)
class Layout:
    """The files of the dataset `out`."""

    out: Path
    total: int
    shard_size: int
    one_file: bool
    folder: Path
    """Folder of the shards, beside the index, or of the parts of a single file."""
    prefix: str
    """Prefix of the names of the shards."""

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Rows [start, stop) of each shard."""
        starts = range(0, self.total, self.shard_size)
        return [(start, min(start + self.shard_size, self.total)) for start in starts]

    @property
    def shards(self) -> list[Path]:
        """The file of each range."""
        many = len(self.ranges)
        return [self.folder / f"{self.prefix}-{k:05d}-of-{many:05d}.h5" for k in range(many)]

    @property
    def listed(self) -> list[tuple[str, int]]:
        """Entries of the index: names relative to it, and numbers of samples."""
        return [
            (f"{self.folder.name}/{path.name}", stop - start)
            for path, (start, stop) in zip(self.shards, self.ranges, strict=True)
        ]

    def is_group(self, path: Path) -> bool:
        """Return whether a file is a group of its shards, which the index of many shards has."""
        return path.suffix == ".group" and path.name.startswith(f"{self.prefix}-")

    def has_sizes_of(self, other: "Layout") -> bool:
        """Return whether the files hold as many samples each as those of another layout."""
        if self.one_file or other.one_file:
            return self.one_file == other.one_file
        return self.ranges == other.ranges


def shard_folder(out: Path) -> Path:
    """Return the folder for the shards of a dataset."""
    return out.with_name(f"{out.name}.shards")


def plan_layout(
    out: Path, total: int, shard_size: int | None, attributes: Mapping[str, Any]
) -> Layout:
    """Choose the layout of a dataset.

    The names of the shards contain a fingerprint of the attributes that determine their content,
    so that a dataset and its replacement can exist side by side.
    """
    if shard_size is not None:
        require(shard_size >= 1, f"{shard_size} samples per shard: must be at least 1")
    one_file = total <= (shard_size or ONE_FILE)
    size = PART if one_file else shard_size or SHARD
    key = json.dumps([dict(attributes), size], sort_keys=True)
    fingerprint = hashlib.sha256(key.encode()).hexdigest()[:8]
    return Layout(out, total, size, one_file, shard_folder(out), f"{out.stem}-{fingerprint}")


def stored_layout(out: Path, total: int, listed: list[tuple[str, int]]) -> Layout | None:
    """Return the layout of an existing index; None if its shards lie in another folder.

    Older versions put the shards of `a.h5` and of `a.hdf5` into one folder,
    `a.shards/a-00000-of-00003.h5` and so on.
    """
    name, size = listed[0] if listed else ("", 0)
    match = _LISTED.fullmatch(name)
    if match is None or not 1 <= size <= total <= size * len(listed):
        return None
    for folder in (shard_folder(out), out.with_suffix(".shards")):
        layout = Layout(out, total, size, False, folder, match["prefix"])
        if layout.listed == listed:
            return layout
    return None


def shards_in(folder: Path, out: Path) -> list[Path]:
    """Return the files in a folder with names of shards, or groups of shards, of `out`."""
    named = re.compile(re.escape(out.stem) + r"-[0-9a-f]{8}-\d{5,}-of-\d{5,}\.(h5|group)")
    return sorted(path for path in folder.glob("*") if named.fullmatch(path.name))


def check_target(out: Path) -> None:
    """Raise unless a dataset can be written to a path."""
    require(out.suffix in (".h5", ".hdf5"), f"{out}: the name of a dataset must end in .h5")
    require(out.parent.is_dir(), f"{out.parent}: no such folder: make it first")
    require(not out.is_dir(), f"{out}: is a folder: give the name of a file")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise UserError(f"{out.parent}: not writable: choose another folder")
