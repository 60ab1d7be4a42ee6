"""Publication: who gives a dataset to others, where and when, which no file can know."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ivl_shards.errors import Damage, UserError
from ivl_shards.format.metadata import Metadata
from ivl_shards.format.reader import Dataset


@dataclass(frozen=True)
class Publication:
    """Empty texts for what is not known yet."""

    creator: str = ""
    url: str = ""
    date: str = ""
    """As 2026-11-30."""


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


# SPDX names are one word; anything longer is a licence in words of its own.
_SPDX = re.compile(r"[A-Za-z0-9.+-]+")


def licence_head(licence: str) -> dict[str, str]:
    """For the head of a Hugging Face card.

    >>> licence_head("CC0-1.0")
    {'license': 'cc0-1.0'}
    >>> licence_head("for research only")
    {'license': 'other', 'license_name': 'for research only'}
    """
    if _SPDX.fullmatch(licence):
        return {"license": licence.lower()}
    return {"license": "other", "license_name": licence}


def licence_address(licence: str) -> str:
    """For Croissant: an address where SPDX has one, or else the words.

    >>> licence_address("CC0-1.0")
    'https://spdx.org/licenses/CC0-1.0.html'
    """
    return f"https://spdx.org/licenses/{licence}.html" if _SPDX.fullmatch(licence) else licence


PAPER = """\
@inproceedings{Gupta18,
  author = {Gupta, Ankush and Vedaldi, Andrea and Zisserman, Andrew},
  title = {Inductive Visual Localisation: Factorised Training for Superior Generalisation},
  booktitle = {British Machine Vision Conference (BMVC)},
  year = {2018}
}"""

_TOOLKIT = """\
@software{ivl,
  title = {{IVL}: datasets and a benchmark for inductive visual localisation}
}"""


def citations(metadata: Metadata) -> str:
    """BibTeX of the paper, the toolkit, and those whose work is in the dataset."""
    return "\n\n".join([PAPER, _TOOLKIT, *(o.cite for o in metadata.origins if o.cite)])
