"""Shard: the unit of work, written by one pure function, locally or on a cluster."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ivl_shards.errors import UserError
from ivl_shards.format.structure import read_attributes
from ivl_shards.format.writer import shard_writer
from ivl_shards.generation.content import Content


@dataclass(frozen=True)
class Job:
    """The rows [start, stop) of a dataset, and the file to write them to."""

    content: Content
    """What the rows contain; not necessarily all of the dataset."""
    start: int
    stop: int
    path: Path

    @property
    def samples(self) -> int:
        """The number of rows."""
        return self.stop - self.start

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes that identify the file of this job."""
        first = self.content.first_sample + self.start
        return {**self.content.attributes, "first_sample": first}

    @property
    def all_attributes(self) -> dict[str, Any]:
        """All attributes of the file."""
        return {**self.attributes, **self.content.metadata_attributes}


def make_shard(job: Job, before: Callable[[], None] = lambda: None) -> Job:
    """Write the job's samples to its file; the content is the same on every machine.

    `before` is called before each sample, or every few, and may raise to end the work.
    """
    content = job.content
    with (
        _one_thread(),
        shard_writer(job.path, content.schema, job.samples, job.all_attributes) as writer,
    ):
        content.write(writer, job.start, job.stop, before)
    return job


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit OpenCV to one thread, and turn its error for lack of memory into `MemoryError`.

    On small images more threads make it slower, and workers would compete for cores.
    """
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


def is_done(job: Job) -> bool:
    """Return whether the job's file exists, is complete, and is what the job would write."""
    try:
        found = read_attributes(job.path)
    except UserError:
        return False
    return has(found, {**job.attributes, "samples": job.samples})


def has(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether the attributes of a file include those that are wanted."""
    return all(np.array_equal(found.get(name, ""), value) for name, value in wanted.items())
