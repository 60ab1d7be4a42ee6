"""Plain files: an image, maps and a JSON file of labels for each sample."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ivl_shards.format.pictures import picture_bytes, picture_ending, png
from ivl_shards.format.reader import Dataset
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import DIGEST, MEMORY, Array, plain

Files = dict[str, bytes]
"""Contents of files by ending, for example `steps.png`."""


def write_files(dataset: Dataset, folder: Path) -> Iterator[int]:
    """Write the files of each sample: 000000.png, 000000.steps.png, 000000.json …"""
    for i in range(len(dataset)):
        for ending, data in sample_files(dataset, i).items():
            (folder / f"{i:06d}.{ending}").write_bytes(data)
        yield i + 1


def sample_files(dataset: Dataset, i: int) -> Files:
    """Return a sample as files: the image, maps as PNG or .npy, and all labels as JSON."""
    sample = Sample(dataset.unpadded(i), dataset.schema.sequence)
    files: Files = {}
    files[picture_ending(dataset.schema)] = picture_bytes(dataset.schema, sample)
    if "steps" in sample:
        files["steps.png"] = png(sample["steps"])
    if MEMORY in sample:
        files["memory.npy"] = _npy(sample.dense_memory())
    files["json"] = json.dumps(_labels(dataset, sample), ensure_ascii=False).encode()
    return files


def _labels(dataset: Dataset, sample: Sample) -> dict[str, Any]:
    labels: dict[str, Any] = {}
    for field in dataset.schema:
        if field.name in ("image", "steps", MEMORY):
            continue
        value = sample[field.name]
        labels[field.name] = value.tobytes().hex() if field.name == DIGEST else plain(value)
    return labels


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()
