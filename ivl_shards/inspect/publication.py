"""Publication: who publishes a dataset, where and when; its files, licence and citations."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ivl_shards.errors import UserError
from ivl_shards.format.dataset_files import shard_size
from ivl_shards.format.metadata import Metadata
from ivl_shards.format.reader import Dataset
from ivl_shards.remote import require_local


@dataclass(frozen=True)
class Publication:
    """Who published a dataset, where and when; empty if not known yet."""

    creator: str = ""
    url: str = ""
    date: str = ""
    """For example 2026-11-30."""


Packing = Literal["HDF5", "Parquet"]
"""The format of the published files: our own, or what `export --format parquet` writes."""
HDF5: Packing = "HDF5"
PARQUET: Packing = "Parquet"


@dataclass(frozen=True)
class File:
    """One file of a published dataset."""

    name: str
    """Path relative to the folder of the dataset, with slashes."""
    bytes: int
    sha256: str
    """Checksum of the whole file, unlike that in its seal."""
    first: int
    """Index in the dataset of its first sample."""
    samples: int


def list_files(dataset: Dataset) -> Iterator[File]:
    """Yield the file of the dataset, then its shards; all bytes are read for the checksums."""
    index = require_local(dataset.path)
    if dataset.shards != [index]:
        yield _file(index, index, 0, len(dataset))
    first = 0
    for path, samples in zip(dataset.shards, dataset.shard_sizes, strict=True):
        yield _file(index, require_local(path), first, samples)
        first += samples


def _file(whole: Path, path: Path, first: int, samples: int) -> File:
    size = shard_size(path)  # raises if it is missing, or a pipe that would block
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    name = path.relative_to(whole.parent).as_posix()
    return File(name, size, digest, first, samples)


def split_name(dataset: Dataset) -> str:
    """Return the name of the split in Hugging Face's form: letters, digits and underscores."""
    return re.sub(r"\W+", "_", str(dataset.attributes["split"]), flags=re.ASCII)[:100] or "data"


# SPDX identifiers are one word; anything longer is a custom licence.
_SPDX = re.compile(r"[A-Za-z0-9.+-]+")


def licence_head(licence: str) -> dict[str, str]:
    """Return the licence entries in the header of a Hugging Face card.

    >>> licence_head("CC0-1.0")
    {'license': 'cc0-1.0'}
    >>> licence_head("for research only")
    {'license': 'other', 'license_name': 'for research only'}
    """
    if _SPDX.fullmatch(licence):
        return {"license": licence.lower()}
    return {"license": "other", "license_name": licence}


def licence_address(licence: str) -> str:
    """Return the SPDX address of a licence for Croissant, or the text of a custom licence.

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
    """Return BibTeX entries of the paper, the toolkit, and the origins of the data."""
    return "\n\n".join([PAPER, _TOOLKIT, *(o.cite for o in metadata.origins if o.cite)])
