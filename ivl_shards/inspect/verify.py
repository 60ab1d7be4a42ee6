"""Verify: check every byte and every sample of a dataset."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.columns import decode
from ivl_shards.format.reader import Dataset, DatasetFiles, open_dataset, unpad
from ivl_shards.format.sample import Sample, digest
from ivl_shards.format.schema import DEFLATE, DIGEST, MEMORY, PLAIN, Array, Schema, check_classes
from ivl_shards.format.seal import check_bytes
from ivl_shards.format.structure import check_values

# The dense memory is float16, computed from values that were not rounded.
_TOLERANCE = 2e-3


def problems(path: Path) -> Iterator[str]:
    """Yield one line for each problem of a dataset; none if it is sound.

    Checksums come first, because HDF5 cannot be trusted with a changed file.
    """
    try:
        check_bytes(path)
        files = DatasetFiles(path)
    except Damage as damage:
        yield str(damage)
        return
    broken = list(_shard_problems(files))
    yield from broken or _content_problems(open_dataset(path))


def _shard_problems(files: DatasetFiles) -> Iterator[str]:
    for k, (path, _) in enumerate(files.shards):
        try:
            if path.exists() and path != files.path:
                check_bytes(path)
            files.shard(k)  # raises if it is missing or belongs to another dataset
        except Damage as damage:
            yield str(damage)


def _content_problems(dataset: Dataset) -> Iterator[str]:
    """Yield problems of samples in files with valid checksums: mistakes of the generator."""
    hashed = hashlib.sha256()
    for i in range(len(dataset)):
        try:
            stored = dataset.stored(i)
            hashed.update(stored[DIGEST].tobytes())
            line = _sample_problem(dataset.schema, stored)
        except Damage as damage:
            line = str(damage).removeprefix(f"{dataset.path}: ")
        if line:
            yield f"{dataset.path}: sample {i:,}: {line}"
    stated = dataset.attributes["content_sha256"]
    if hashed.hexdigest() != stated:
        yield f"{dataset.path}: the content does not match its SHA-256 {stated}"


def _sample_problem(schema: Schema, stored: dict[str, Array]) -> str:
    fields = unpad(schema, stored)
    for field in schema:
        padded = field.storage in (PLAIN, DEFLATE)
        if padded and _padding_used(stored[field.name], field.extent(stored)):
            return f"{field.name} has values in its padding"
    if digest(fields) != stored[DIGEST].tobytes():
        return "its values do not match their digest"
    fields["image"] = decode(schema["image"], fields["image"])
    check_values(schema, fields)
    for field in schema:
        if field.classes:
            check_classes(field.name, fields[field.name], field.classes)
    sample = Sample(fields, schema.sequence)
    return _memory_problem(sample) if schema.memory == "steps" else _peak_problem(sample)


def _padding_used(value: Array, extent: tuple[slice, ...]) -> bool:
    return bool(extent) and np.count_nonzero(value) != np.count_nonzero(value[extent])


def _memory_problem(sample: Sample) -> str:
    if int(sample["steps"].max(initial=0)) > sample.length:
        return f"its step map has values above its {sample.length} steps"
    return _dense_problem(sample)


def _peak_problem(sample: Sample) -> str:
    height, width = sample.image.shape[:2]
    inside = (sample["centres"] >= 0) & (sample["centres"] <= (width, height))
    return _dense_problem(sample) if inside.all() else "a centre lies outside the image"


def _dense_problem(sample: Sample) -> str:
    if MEMORY not in sample:
        return ""
    height, width = sample.image.shape[:2]
    for t in sample.times:
        stored = sample[MEMORY][t, :height, :width].astype(np.float32)
        if not np.allclose(stored, sample.memory(t), atol=_TOLERANCE):
            return "its dense memory does not match its labels"
    return ""
