"""Verify: whether a dataset is what it says it is, down to the last byte."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ivl_shards.columns import decode
from ivl_shards.errors import Damage
from ivl_shards.reader import Dataset, Source, open_dataset, unpad
from ivl_shards.sample import Sample, digest
from ivl_shards.schema import DEFLATE, DIGEST, MEMORY, PLAIN, Array, Schema
from ivl_shards.seal import check_bytes

# The dense memory is float16 and was computed from unrounded values.
_TOLERANCE = 2e-3


def problems(path: Path) -> Iterator[str]:
    """Everything that is wrong with a dataset, a line each; nothing if it is sound.

    Bytes come first: HDF5 is not to be trusted with a file that was changed.
    """
    try:
        check_bytes(path)
        source = Source(path)
    except Damage as damage:
        yield str(damage)
        return
    broken = list(_shard_problems(source))
    yield from broken or _content_problems(open_dataset(path))


def _shard_problems(source: Source) -> Iterator[str]:
    for k, (path, _) in enumerate(source.shards):
        try:
            if path.exists() and path != source.path:
                check_bytes(path)
            source.shard(k)  # is it there, and of this dataset?
        except Damage as damage:
            yield str(damage)


def _content_problems(dataset: Dataset) -> Iterator[str]:
    """What is wrong with the samples of a file whose bytes are sound: a fault of its maker."""
    hashed = hashlib.sha256()
    for i in range(len(dataset)):
        stored = dataset.stored(i)
        hashed.update(stored[DIGEST].tobytes())
        if line := _sample_problem(dataset.schema, stored):
            yield f"{dataset.path}: sample {i:,}: {line}"
    stated = dataset.attributes["content_sha256"]
    if hashed.hexdigest() != stated:
        yield f"{dataset.path}: the content does not match its SHA-256 {stated}"


def _sample_problem(schema: Schema, stored: dict[str, Array]) -> str:
    for field in schema:
        length = int(stored[field.counted_by]) if field.counted_by else 0
        if field.counted_by and not 0 <= length <= field.shape[0]:
            return f"{field.counted_by} is {length}, but {field.name} has room for {field.shape[0]}"
        if field.storage in (PLAIN, DEFLATE) and _padding_used(
            stored[field.name], field.extent(stored)
        ):
            return f"{field.name} has values in its padding"
    fields = unpad(schema, stored)
    if digest(fields) != stored[DIGEST].tobytes():
        return "its values do not match their digest"
    fields["image"] = decode(schema["image"], fields["image"])
    sample = Sample(fields, schema.sequence)
    return _memory_problem(sample) if schema.memory == "steps" else _peak_problem(sample)


def _padding_used(value: Array, extent: tuple[slice, ...]) -> bool:
    return bool(extent) and np.count_nonzero(value) != np.count_nonzero(value[extent])


def _memory_problem(sample: Sample) -> str:
    if int(sample["steps"].max(initial=0)) > sample.length:
        return f"its step map goes beyond its {sample.length} steps"
    if sample["steps"].shape != sample.image.shape[:2]:
        return "step map and image differ in size"
    return _dense_problem(sample)


def _peak_problem(sample: Sample) -> str:
    height, width = sample.image.shape[:2]
    inside = (sample["centres"] >= 0) & (sample["centres"] <= (width, height))
    if not inside.all():
        return "a centre lies outside the image"
    if float(sample["sigma"]) <= 0:
        return "sigma is not positive"
    return _dense_problem(sample)


def _dense_problem(sample: Sample) -> str:
    if MEMORY not in sample:
        return ""
    stored = sample[MEMORY][: sample.length + 1].astype(np.float32)
    height, width = sample.image.shape[:2]
    wanted = sample.dense_memory().astype(np.float32)
    same = np.allclose(stored[:, :height, :width], wanted, atol=_TOLERANCE)
    return "" if same else "its dense memory is not that of its labels"
