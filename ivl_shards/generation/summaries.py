"""Summaries of remote shards: what the index will store about a shard, in a small file beside it.

A worker uploads the summary just before the shard, so the index is written without reading the
shards again, by whichever run completes the dataset. That run removes the summaries.
"""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ivl_shards.format.index import ShardSummary

SUFFIX = ".summary"
"""Ending of the name of a summary, after that of its shard."""
_PLACE = "place "


def write_summary(path: Path, summary: ShardSummary) -> None:
    """Write a summary to a file, as arrays."""
    arrays: dict[str, Any] = {
        "length": summary.length,
        "sha256": summary.sha256,
        "digests": np.frombuffer(summary.digests, np.uint8),
        **{_PLACE + name: place for name, place in summary.places.items()},
    }
    with path.open("wb") as file:
        np.savez(file, **arrays)


def read_summary(data: bytes) -> ShardSummary | None:
    """Return the summary in a file; None if it is damaged."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            places = {
                name.removeprefix(_PLACE): int(arrays[name])
                if arrays[name].ndim == 0
                else arrays[name]
                for name in arrays.files
                if name.startswith(_PLACE)
            }
            digests = arrays["digests"].tobytes()
            return ShardSummary(int(arrays["length"]), str(arrays["sha256"]), digests, places)
    except (KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile):
        return None
