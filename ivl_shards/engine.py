"""Engine: a recipe into a dataset, on the cores of one machine or on a Dask cluster."""

import contextlib
import fcntl
import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ivl_shards.disk import TEMPORARY, explained, sync_folder
from ivl_shards.errors import Damage, Foreign, Stopped, UserError
from ivl_shards.generator import Generator
from ivl_shards.index import stored_shards, write_index
from ivl_shards.interrupt import Interrupt, interrupt_held
from ivl_shards.layout import Layout, check_target, plan_layout
from ivl_shards.recipe import Recipe, require
from ivl_shards.shard import Job, is_done, make_shard, read_attributes
from ivl_shards.writer import shard_writer

Report = Callable[[int], None]

_HEAR = 0.1  # seconds after which Ctrl-C is heard while workers work


@dataclass(frozen=True)
class Made:
    """What a call of `generate` did."""

    path: Path
    samples: int
    """In the dataset."""
    rendered: int
    """Of these, made now; the others were there already."""


def generate(
    generator: Generator,
    recipe: Recipe,
    out: Path | str,
    *,
    source: Any = None,
    workers: int | None = None,
    dask: str | None = None,
    shard_size: int | None = None,
    overwrite: bool = False,
    report: Report = lambda samples: None,
) -> Made:
    """Make the dataset that a recipe describes, or go on making it.

    Parameters
    ----------
    source
        Where outside data lies, for generators that need any; it is handed to each worker.
    workers
        Processes; all cores by default. With 1 everything happens in this process.
    dask
        Address of a Dask scheduler whose workers share this file system.
    shard_size
        Samples a file; by default one file up to 20,000 samples, shards of 5,000 beyond.
    overwrite
        Replace a dataset of another recipe.
    report
        Is told how many samples have been added, each time some have.
    """
    out = Path(out).absolute()
    workers = available_cores() if workers is None else workers
    require(workers >= 1, f"{workers} workers: ask for at least 1")
    check_target(out)
    layout = plan_layout(out, recipe.total, shard_size)
    existing = _compare(generator, recipe, layout, overwrite)
    if existing is not None:
        layout = existing
        if layout.one_file or all(is_done(job) for job in _jobs(generator, recipe, layout)):
            report(recipe.total)
            return Made(out, recipe.total, 0)
    with _work_folder(layout.folder):
        if existing is None:  # only with `overwrite` is there anything to take away
            out.unlink(missing_ok=True)
        _drop_strays(generator, recipe, layout, overwrite)
        jobs = _jobs(generator, recipe, layout, source)
        todo = [job for job in jobs if not is_done(job)]
        for job in todo:
            job.path.unlink(missing_ok=True)
        rendered = sum(job.samples for job in todo)
        report(recipe.total - rendered)
        with _executor(workers if len(todo) > 1 else 1, dask) as executor:
            _finish(layout, jobs, _results(executor, todo), report)
    return Made(out, recipe.total, rendered)


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _jobs(generator: Generator, recipe: Recipe, layout: Layout, source: Any = None) -> list[Job]:
    return [
        Job(generator, recipe, start, stop, path, source)
        for (start, stop), path in zip(layout.ranges, layout.shards, strict=True)
    ]


# --- what is there already ---------------------------------------------------------------


def _same(found: dict[str, Any], generator: Generator, recipe: Recipe) -> bool:
    wanted = generator.attributes(recipe)
    return all(found.get(name) == value for name, value in wanted.items())


def _compare(
    generator: Generator, recipe: Recipe, layout: Layout, overwrite: bool
) -> Layout | None:
    """The layout of the dataset that is there, if it is of this recipe; None if none is there."""
    out = layout.out
    if not out.exists():
        return None
    try:
        found = read_attributes(out)
    except Damage as damage:
        if overwrite and not isinstance(damage, Foreign):
            return None
        raise UserError(f"{damage}; it is in the way: move or remove it") from None
    if not _same(found, generator, recipe):
        if overwrite:
            return None
        raise UserError(
            f"{out}: holds another dataset ({found['generator']} {found['generator_version']}, "
            f"split {found['split']}, seed {found['seed']}, {found['samples']:,} samples): "
            "choose another name, or --overwrite it"
        )
    if "shards" not in found:
        return plan_layout(out, recipe.total, recipe.total)
    return plan_layout(out, recipe.total, stored_shards(found)[0][1])


def _drop_strays(generator: Generator, recipe: Recipe, layout: Layout, overwrite: bool) -> None:
    """Remove what an earlier run left and this one has no use for."""
    _drop_temporary(layout.folder)
    wanted = set(layout.shards)
    for path in sorted(layout.folder.glob("*.h5")):
        if _is_ours(path, generator, recipe) or overwrite:
            if path not in wanted:
                path.unlink()
        else:
            raise UserError(
                f"{path}: a shard of another dataset is in the way: choose another name for "
                f"{layout.out.name}, or --overwrite it"
            )


def _is_ours(path: Path, generator: Generator, recipe: Recipe) -> bool:
    try:
        return _same(read_attributes(path), generator, recipe)
    except Foreign as error:
        raise UserError(f"{error}; it is in the way: move or remove it") from None
    except Damage:
        return True  # half of something of ours


def _drop_temporary(folder: Path) -> None:
    for path in folder.glob(f"*{TEMPORARY}"):
        path.unlink(missing_ok=True)


# --- running -----------------------------------------------------------------------------


@contextlib.contextmanager
def _work_folder(folder: Path) -> Iterator[None]:
    """The folder for shards, held by one run at a time."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be made: {error.strerror}") from None
    fd = os.open(folder, os.O_RDONLY)
    try:
        _lock(fd, folder)
        try:
            yield
        finally:
            _drop_temporary(folder)
            with contextlib.suppress(OSError):
                folder.rmdir()  # succeeds only where nothing was kept
    finally:
        os.close(fd)


def _lock(fd: int, folder: Path) -> None:
    """Keep a second run out. The lock goes with the process: a kill leaves nothing behind."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(f"{folder}: another run is writing there: wait for it") from None
    except OSError:
        return  # a file system without locks; runs side by side are then the user's care


@contextlib.contextmanager
def _executor(workers: int, dask: str | None) -> Iterator[Executor | None]:
    """Where jobs run: None for this process."""
    if dask is not None:
        with _dask_executor(dask) as executor:
            yield executor
    elif workers == 1:
        yield None
    else:
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, spawn, initializer=_start_worker)
        try:
            yield pool
        except KeyboardInterrupt:
            for child in multiprocessing.active_children():
                child.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _dask_executor(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise UserError("--dask needs more packages: pip install 'ivl[dask]'") from None
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{address}: no Dask scheduler answers there: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=60)
        except TimeoutError:
            raise UserError(f"{address}: no worker has joined this Dask scheduler") from None
        # Not pure: a job's result is the file that it writes, which may be gone the next time.
        try:
            yield client.get_executor(pure=False)
        except KilledWorker as error:
            raise Stopped(
                f"Dask workers died over and over ({error}): finished shards are kept; run the "
                "same command again to go on"
            ) from None


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent does, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.WARNING)  # the parent has said it already
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _results(executor: Executor | None, jobs: list[Job]) -> Iterator[Job]:
    """Jobs as they get done."""
    with interrupt_held() as interrupt:
        if executor is None:
            for job in jobs:
                yield make_shard(job, interrupt.check)
        else:
            yield from _results_of(executor, jobs, interrupt)
        interrupt.check()


def _results_of(executor: Executor, jobs: list[Job], interrupt: Interrupt) -> Iterator[Job]:
    futures: list[Future[Job]] = []
    try:
        # A pool may break while jobs are still being handed to it.
        for job in jobs:
            futures.append(executor.submit(make_shard, job))
        left = set(futures)
        while left:
            done, left = wait(left, _HEAR, FIRST_COMPLETED)
            interrupt.check()
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        raise Stopped(
            "a worker process died (out of memory?): finished shards are kept; run the same "
            "command again to go on, perhaps with fewer --workers"
        ) from None
    finally:
        # A pool of processes cancels what is left itself, at its end. Cancelled before that, with
        # its processes ended by Ctrl-C, it fails in its own thread (before Python 3.12).
        if not isinstance(executor, ProcessPoolExecutor):
            for future in futures:
                future.cancel()


def _finish(layout: Layout, jobs: list[Job], results: Iterator[Job], report: Report) -> None:
    """Wait for the jobs, put the dataset together, and give it its name."""
    done = _counted(results, report)
    new = layout.folder / layout.out.name
    if not layout.one_file:
        for _ in done:
            pass
        first = jobs[0]
        schema = first.generator.stored_schema(first.recipe)
        shards = [(f"{layout.folder.name}/{job.path.name}", job.samples) for job in jobs]
        write_index(new, layout.out.parent, schema, first.all_attributes, shards)
    elif len(jobs) > 1:
        _merge(new, jobs, done)
    else:
        for _ in done:
            pass
        new = jobs[0].path
    try:
        new.rename(layout.out)
        sync_folder(layout.out.parent)
    except OSError as error:
        raise explained(layout.out, error) from None
    if layout.one_file:
        for job in jobs:
            job.path.unlink(missing_ok=True)


def _counted(results: Iterator[Job], report: Report) -> Iterator[Job]:
    for job in results:
        if not job.path.exists():
            raise UserError(
                f"{job.path}: was made by a worker but is not here: the workers of a cluster "
                "must see the same folder under the same path"
            )
        report(job.samples)
        yield job


def _merge(new: Path, jobs: list[Job], done: Iterator[Job]) -> None:
    """Append parts to the one file, in order, while later ones are still being made."""
    first = jobs[0]
    schema = first.generator.stored_schema(first.recipe)
    with shard_writer(new, schema, jobs[-1].stop, first.all_attributes) as writer:
        waiting = deque(jobs)
        for _ in done:
            while waiting and waiting[0].path.exists():
                writer.append_shard(waiting.popleft().path)
        for job in waiting:
            writer.append_shard(job.path)
