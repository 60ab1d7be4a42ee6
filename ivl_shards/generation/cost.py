"""Cost: what a long run takes, measured on its first shard, and whether the disk can hold it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ivl_shards.errors import UserError
from ivl_shards.generation.shard import Job
from ivl_shards.generation.stores import store_of
from ivl_shards.remote import Location

# Of the free disk, a run may plan to use this much: other programs write as well.
_USABLE = 0.98


@dataclass(frozen=True)
class Cost:
    """What is left to do after the first shard."""

    samples: int
    bytes: int
    free: int | None
    """Free bytes on the disk; None for a remote dataset."""
    seconds: float | None
    """None: on a cluster, whose number of workers may change."""

    def __str__(self) -> str:
        """Return the cost as one line.

        >>> str(Cost(4_995_000, 150_000_000_000, 300_000_000_000, 18_000.0))
        '4,995,000 samples to go: about 5.0 hours and 150.0 GB; the disk has 300.0 GB free'
        """
        hours = ""
        if self.seconds is not None:
            long = self.seconds >= 5400
            unit = "hours" if long else "minutes"
            hours = f"{self.seconds / (3600 if long else 60):.1f} {unit} and "
        disk = "" if self.free is None else f"; the disk has {_size(self.free)} free"
        return f"{self.samples:,} samples to go: about {hours}{_size(self.bytes)}{disk}"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


@dataclass(frozen=True)
class CostCheck:
    """Measures the first shard of a run, announces the cost of the rest, and stops if it is more
    than the disk can hold."""

    out: Location
    samples: int
    """Samples to generate in this run."""
    workers: int | None
    """Processes that work at the same time; None: unknown, as on a cluster."""
    force: bool
    """Continue even if the disk seems too small."""
    announce: Callable[[Cost], None]

    def watch(self, results: Iterator[Job]) -> Iterator[Job]:
        """Yield the finished jobs; check after the first one."""
        begun, first = time.monotonic(), True
        for job in results:
            if first:
                self._check(job, time.monotonic() - begun)
                first = False
            yield job

    def _check(self, job: Job, seconds: float) -> None:
        left = self.samples - job.samples
        store = store_of(self.out)
        if left <= 0 or not store.exists(job.path):
            return
        size = int(store.size(job.path) / job.samples * left)
        free = store.free(self.out)
        # When the first of several workers is done, the others nearly are.
        rounds = None if self.workers is None else left / (job.samples * self.workers)
        cost = Cost(left, size, free, None if rounds is None else rounds * seconds)
        if free is not None and size > _USABLE * free and not self.force:
            raise UserError(
                f"{self.out}: {cost}: finished shards are kept; give a place on a larger disk, or "
                "--force to continue all the same"
            )
        self.announce(cost)
