"""Index: the one path of a large dataset, HDF5 virtual datasets over its shards."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py

from ivl_shards.disk import sealed_file
from ivl_shards.schema import DIGEST, ENCODED, Field, Schema
from ivl_shards.writer import write_attributes


def write_index(
    path: Path,
    work: Path,
    schema: Schema,
    attributes: Mapping[str, Any],
    shards: Sequence[tuple[str, int]],
) -> None:
    """Write the index over shards, each with its number of samples.

    Their names are relative to the index, so that both can be moved. Until it is complete, the
    index is in the folder `work`.
    """
    names, lengths = zip(*shards, strict=True)
    # Virtual datasets need HDF5 1.10, and so do attributes of more than 64 kB.
    with sealed_file(path, work, libver=("v110", "v110")) as (file, _):
        write_attributes(file, schema, attributes, sum(lengths))
        file.attrs["content_sha256"] = content_checksum([path.parent / name for name in names])
        file.attrs["shards"] = json.dumps([{"file": n, "samples": k} for n, k in shards])
        for field in schema:
            layout = _virtual_layout(field, names, lengths)
            dataset = file.create_virtual_dataset(field.name, layout)
            dataset.attrs.update(field.attributes())


def _virtual_layout(field: Field, names: Sequence[str], lengths: Sequence[int]) -> Any:
    encoded = field.storage == ENCODED
    dtype = h5py.vlen_dtype("u1") if encoded else field.dtype
    shape = () if encoded else field.shape
    layout = h5py.VirtualLayout((sum(lengths), *shape), dtype)
    start = 0
    for name, length in zip(names, lengths, strict=True):
        source = h5py.VirtualSource(name, field.name, (length, *shape), dtype)
        layout[start : start + length] = source
        start += length
    return layout


def content_checksum(paths: Sequence[Path]) -> str:
    """SHA-256 over the digests of all samples in order: the same for any number of files."""
    hashed = hashlib.sha256()
    for path in paths:
        with h5py.File(path, "r") as file:
            hashed.update(file[DIGEST][:].tobytes())
    return hashed.hexdigest()
