"""Dask cluster: run jobs on the workers of a Dask scheduler, which may join and leave at any time.

Every job carries the versions of the packages that determine the content. A worker with other
versions refuses it before writing anything, even if it joined during the run.
"""

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ivl_shards.errors import Stopped, UserError
from ivl_shards.generation.content import Content
from ivl_shards.generation.shard import Job, make_shard
from ivl_shards.generation.versions import difference
from ivl_shards.interrupt import Interrupt

Runner = Callable[[list[Job], Interrupt], Iterator[Job]]

WORKER_TIMEOUT = 30
"""Seconds without a single worker after which a run ends; restarting a worker takes a few."""

_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?([\w.-]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})")
_CONNECT = 10  # seconds to wait for a scheduler
_ANSWER = 30  # seconds to wait for an answer of a busy scheduler
_POLL = 0.1  # seconds between checks for finished jobs and for Ctrl-C
_COUNT_WORKERS = 2  # seconds between checks of the number of workers
_KEPT = "finished shards are kept; run the same command again to continue"

# Third-party loggers that print pages about a lost connection.
_LOUD = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


@contextlib.contextmanager
def connect_cluster(address: str, content: Content) -> Iterator[Runner]:
    """Connect to a scheduler, check its workers, and yield a function that runs jobs on them."""
    try:
        from distributed import Client
    except ImportError:
        raise UserError("--dask needs more packages: pip install 'ivl[dask]'") from None
    match = _ADDRESS.fullmatch(address)
    if not match or not 0 < int(match[4]) < 1 << 16:
        raise UserError(f"--dask {address}: not an address such as tcp://host:8786")
    with _silence():
        try:
            client = Client(address, timeout=_CONNECT, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:
            raise UserError(f"{address}: no Dask scheduler answers there: {error}") from None
        try:
            _check_workers(client, address, content)
            yield partial(_run, client, address)
        finally:
            # A short timeout: if the scheduler is gone, there is nothing to wait for.
            client.close(timeout=2)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in _LOUD]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


# --- versions ----------------------------------------------------------------------------


def _check_workers(client: Any, address: str, content: Content) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKER_TIMEOUT)
        found = client.run(content.part(0, 0).versions, on_error="return")
    except TimeoutError:
        raise UserError(f"{address}: no worker has joined this Dask scheduler") from None
    except OSError as error:
        raise _lost(address) from error
    ours = content.versions()
    for worker, theirs in sorted(found.items()):
        if isinstance(theirs, OSError):
            continue  # left in the meantime
        if isinstance(theirs, BaseException):
            raise UserError(f"Dask worker {worker}: cannot run this version of ivl: {theirs}")
        if differs := difference(ours, theirs):
            raise UserError(_refusal(worker, differs))


def _refusal(worker: str, differs: str) -> str:
    return f"Dask worker {worker}: has {differs}: give all workers the same packages"


def make_shard_if_same(job: Job, expected: Mapping[str, str]) -> None:
    """Generate a shard on a worker, unless its versions would give other content."""
    from distributed import get_worker

    if differs := difference(expected, job.content.versions()):
        raise Stopped(f"{_refusal(get_worker().address, differs)}; {_KEPT}")
    make_shard(job)


# --- running -----------------------------------------------------------------------------


def _run(client: Any, address: str, jobs: list[Job], interrupt: Interrupt) -> Iterator[Job]:
    expected = jobs[0].content.versions() if jobs else {}
    # Not pure: the result of a job is a file, which may have been removed since.
    left = {client.submit(make_shard_if_same, job, expected, pure=False): job for job in jobs}
    watch = _Watch(client, address)
    while left:
        time.sleep(_POLL)
        interrupt.check()
        # Each status is read once: a finished job turns into a lost one when its worker dies.
        for future, status in [(future, future.status) for future in left]:
            if status in ("pending", "lost"):  # lost with its worker, and run again by another
                continue
            if status == "error":
                raise _explained(future.exception())
            if status != "finished":  # cancelled: unknown to the scheduler
                raise _lost(address)
            yield left.pop(future)
        watch.look()


def _explained(error: Any) -> BaseException:
    """Return the error to raise for a job that failed."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return Stopped(f"Dask workers died repeatedly (out of memory?): {_KEPT}")
    if isinstance(error, ImportError):
        return Stopped(f"a Dask worker does not have this version of ivl ({error}): {_KEPT}")
    assert isinstance(error, BaseException)
    return error


def _lost(address: str) -> Stopped:
    return Stopped(f"{address}: the connection to the Dask scheduler is lost: {_KEPT}")


class _Watch:
    """Periodic check that the scheduler is reachable and has workers."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._looked = self._seen = time.monotonic()

    def look(self) -> None:
        """Raise if the scheduler is gone, or no worker was seen for `WORKER_TIMEOUT` seconds."""
        if self._client.status != "running":
            raise _lost(self._address)
        now = time.monotonic()
        if now - self._looked < _COUNT_WORKERS:
            return
        self._looked = now
        try:
            workers = self._client.nthreads(callback_timeout=_ANSWER)
        except (OSError, TimeoutError):
            raise _lost(self._address) from None
        if workers:
            self._seen = now
        elif now - self._seen > WORKER_TIMEOUT:
            raise Stopped(f"{self._address}: no Dask worker is left: {_KEPT}")
