"""Shard: the unit of work. One pure function makes one, here or on a cluster."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ivl_shards.errors import UserError
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import MEMORY
from ivl_shards.format.structure import read_attributes
from ivl_shards.format.writer import shard_writer
from ivl_shards.generation.generator import Generator
from ivl_shards.generation.recipe import Recipe


@dataclass(frozen=True)
class Job:
    """The rows [start, stop) of a dataset, and the file they go to."""

    generator: Generator
    recipe: Recipe
    start: int
    stop: int
    path: Path
    source: Any = None

    @property
    def samples(self) -> int:
        """How many rows these are."""
        return self.stop - self.start

    @property
    def attributes(self) -> dict[str, Any]:
        """What tells whether a file is the one that this job makes."""
        return {**self.generator.attributes(self.recipe), "first_sample": self.start}

    @property
    def all_attributes(self) -> dict[str, Any]:
        """What the file says about itself."""
        return {**self.attributes, **self.generator.metadata_attributes(self.recipe, self.source)}


def make_shard(job: Job, before: Callable[[], None] = lambda: None) -> Job:
    """Make the job's samples and write its file. The same job gives the same content anywhere.
    `before` is called before each sample, and may end the work."""
    schema = job.generator.stored_schema(job.recipe)
    with (
        _one_thread(),
        shard_writer(job.path, schema, job.samples, job.all_attributes) as writer,
    ):
        make_sample = job.generator.start(job.recipe, job.source)
        for row in range(job.start, job.stop):
            before()
            sample = make_sample(row)
            writer.append(with_dense_memory(sample) if job.recipe.dense_memory else sample)
    return job


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep OpenCV to one thread: on small images its threads cost more than they bring, and
    workers would take each other's cores. Where memory runs out, OpenCV has its own error."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    except cv2.error as error:
        if error.code == cv2.Error.StsNoMem:
            raise MemoryError(error.err) from None
        raise
    finally:
        cv2.setNumThreads(before)


def with_dense_memory(sample: Sample) -> Sample:
    """The sample with all its memories as one more field."""
    return Sample({**sample, MEMORY: sample.dense_memory()}, sample.sequence)


def is_done(job: Job) -> bool:
    """Whether the job's file is there, whole, and just what the job would make."""
    try:
        found = read_attributes(job.path)
    except UserError:
        return False
    return has(found, {**job.attributes, "samples": job.samples})


def has(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the attributes of a file, which may be anything, are those that are wanted."""
    return all(np.array_equal(found.get(name, ""), value) for name, value in wanted.items())
