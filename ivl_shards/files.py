"""Files: those that a dataset consists of, each with its size and checksum."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ivl_shards.errors import Damage, UserError
from ivl_shards.reader import Dataset


@dataclass(frozen=True)
class File:
    """One file as others see it who download it."""

    name: str
    """Relative to the folder of the dataset's one path, with slashes."""
    bytes: int
    sha256: str
    """Of the whole file, unlike that in its seal."""
    first: int
    """Row of the dataset that its row 0 is."""
    samples: int


def list_files(dataset: Dataset) -> Iterator[File]:
    """The one path, then the shards if it is an index; all bytes are read for the checksums."""
    if dataset.shards != [dataset.path]:
        yield _file(dataset.path, dataset.path, 0, len(dataset))
    first = 0
    for path, samples in zip(dataset.shards, dataset.shard_sizes, strict=True):
        yield _file(dataset.path, path, first, samples)
        first += samples


def _file(whole: Path, path: Path, first: int, samples: int) -> File:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise Damage(f"{path}: shard is missing: put it back, or make the dataset again") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    name = path.relative_to(whole.parent).as_posix()
    return File(name, path.stat().st_size, digest, first, samples)
