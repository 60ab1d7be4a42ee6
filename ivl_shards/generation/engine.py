"""Engine: write a dataset, on the cores of one machine or on a Dask cluster."""

import contextlib
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ivl_shards.disk import drop_temporary, explained, remove_lock, sync_folder, try_lock
from ivl_shards.errors import Damage, Foreign, Stopped, UserError
from ivl_shards.format.index import write_index
from ivl_shards.format.structure import read_attributes, stored_shards
from ivl_shards.format.writer import ShardWriter, shard_writer
from ivl_shards.generation.content import Content, Generated
from ivl_shards.generation.cost import Cost, CostCheck
from ivl_shards.generation.dask_cluster import Runner, connect_cluster
from ivl_shards.generation.generator import Generator
from ivl_shards.generation.layout import (
    Layout,
    check_target,
    plan_layout,
    shard_folder,
    shards_in,
    stored_layout,
)
from ivl_shards.generation.recipe import Recipe, require
from ivl_shards.generation.shard import Job, has, is_done, make_shard
from ivl_shards.interrupt import Interrupt, interrupt_held
from ivl_shards.processes import MOST_WORKERS, available_cores, start_worker

Report = Callable[[int], None]

_POLL = 0.1  # seconds between checks for Ctrl-C while workers are busy
_LOCK = "run.lock"


@dataclass(frozen=True)
class Made:
    """Result of a call of `generate`."""

    path: Path
    samples: int
    """Number of samples in the dataset."""
    rendered: int
    """How many of them this call generated; the others existed already."""


class WriteOptions(TypedDict, total=False):
    """How a dataset is written; none of these changes its content."""

    workers: int | None
    """Number of processes; all cores by default. With 1 everything runs in this process."""
    dask: str | None
    """Address of a Dask scheduler whose workers share this file system."""
    shard_size: int | None
    """Samples per file; by default one file up to 20,000 samples, shards of 5,000 beyond."""
    overwrite: bool
    """Replace another dataset when the new one is complete."""
    force: bool
    """Continue even if the disk seems too small."""
    report: Report
    """Function that is called with the number of samples added since its last call."""
    announce: Callable[[Cost], None]
    """Function that is called once with the cost of what is left, measured on the first shard."""


def generate(
    generator: Generator,
    recipe: Recipe,
    out: Path | str,
    *,
    source: Any = None,
    **options: Unpack[WriteOptions],
) -> Made:
    """Generate the dataset that a recipe describes, or continue an earlier run.

    Parameters
    ----------
    source
        Location of external data, for generators that need any; it is passed to each worker.
    options
        How to write it: `workers`, `dask`, `shard_size`, `overwrite`, `force`, `report` and
        `announce`, see `WriteOptions`.
    """
    return write_dataset(Generated(generator, recipe, source), out, **options)


def write_dataset(
    content: Content,
    out: Path | str,
    *,
    workers: int | None = None,
    dask: str | None = None,
    shard_size: int | None = None,
    overwrite: bool = False,
    force: bool = False,
    report: Report = lambda samples: None,
    announce: Callable[[Cost], None] = lambda cost: None,
    exact_layout: bool = False,
) -> Made:
    """Write a dataset, or continue an earlier run; for the options see `WriteOptions`.

    An existing dataset of the same content is complete, in however many files, unless
    `exact_layout` asks for files of this very size.
    """
    out = Path(out).absolute()
    workers = available_cores() if workers is None else workers
    require(workers >= 1, f"{workers} workers: ask for at least 1")
    check_target(out)
    total = content.total
    layout = plan_layout(out, total, shard_size, content.attributes)
    existing = _existing(content, out, overwrite)
    if existing is not None and exact_layout and not existing.has_sizes_of(layout):
        require(
            overwrite,
            f"{out}: holds this dataset in files of another size: choose another name, or "
            "--overwrite it",
        )
        existing = None
    if existing is not None:
        if existing.one_file or all(is_done(job) for job in _jobs(content, existing)):
            _tidy(content, existing, overwrite)
            report(total)
            return Made(out, total, 0)
        if existing.folder == layout.folder:  # missing shards are added to the existing ones
            layout = existing
    with _work_folder(layout.folder):
        _refuse_others(content, layout, overwrite)
        jobs = _jobs(content, layout)
        todo = [job for job in jobs if not is_done(job)]
        rendered = sum(job.samples for job in todo)
        report(total - rendered)
        with _runner(workers if len(todo) > 1 else 1, dask, content) as runner:
            check = CostCheck(out, rendered, workers if dask is None else None, force, announce)
            _finish(layout, jobs, check.watch(_results(runner, todo)), report)
        _drop_strays(content, layout, overwrite)
    return Made(out, total, rendered)


def _jobs(content: Content, layout: Layout) -> list[Job]:
    return [
        Job(content.part(start, stop), start, stop, path)
        for (start, stop), path in zip(layout.ranges, layout.shards, strict=True)
    ]


# --- existing files ----------------------------------------------------------------------


def _existing(content: Content, out: Path, overwrite: bool) -> Layout | None:
    """Return the layout of an existing dataset of this content; None to start from scratch."""
    if not out.exists():
        return None
    try:
        found = read_attributes(out)
        same = has(found, {**content.attributes, "samples": content.total})
        if same and "shards" in found:
            return stored_layout(out, content.total, stored_shards(found))
    except Damage as damage:
        if overwrite and not isinstance(damage, Foreign):
            return None
        raise UserError(f"{damage}; it is in the way: move or remove it") from None
    if same:
        return plan_layout(out, content.total, content.total, content.attributes)
    if overwrite:
        return None
    raise UserError(
        f"{out}: holds another dataset ({found.get('generator')} "
        f"{found.get('generator_version')}, split {found.get('split')}, seed {found.get('seed')}, "
        f"{found.get('samples')} samples): choose another name, or --overwrite it"
    )


def _is_ours(path: Path, content: Content) -> bool:
    try:
        return has(read_attributes(path), content.attributes)
    except Foreign as error:
        raise UserError(f"{error}; it is in the way: move or remove it") from None
    except Damage:
        return True  # an unfinished file of ours


def _refuse_others(content: Content, layout: Layout, overwrite: bool) -> None:
    """Raise if files of other programs are in the way, or shards of another unfinished dataset."""
    for path in shards_in(layout.folder, layout.out):
        if not (_is_ours(path, content) or overwrite or layout.out.exists()):
            raise UserError(
                f"{path}: a shard of another dataset is in the way: choose another name for "
                f"{layout.out.name}, or --overwrite it"
            )


def _drop_strays(content: Content, layout: Layout, overwrite: bool) -> None:
    """Remove what a complete dataset does not need: its parts and shards of another size.

    With `overwrite`, also the shards of the dataset that it replaced.
    """
    drop_temporary(layout.folder, in_use=True)
    for path in _strays(layout):
        if _is_ours(path, content) or overwrite:
            with contextlib.suppress(OSError):
                path.unlink()


def _strays(layout: Layout) -> list[Path]:
    found = shards_in(shard_folder(layout.out), layout.out)
    if layout.one_file:
        return found
    wanted = set(layout.shards)
    return [path for path in found if path not in wanted and not layout.is_group(path)]


def _tidy(content: Content, layout: Layout, overwrite: bool) -> None:
    """Remove what is left of a run that was killed just after it completed the dataset."""
    if _strays(layout):
        with contextlib.suppress(UserError), _work_folder(shard_folder(layout.out)):
            _drop_strays(content, layout, overwrite)


# --- running -----------------------------------------------------------------------------


@contextlib.contextmanager
def _work_folder(folder: Path) -> Iterator[None]:
    """Create the folder for shards, and lock it for the duration of the run."""
    lock = folder / _LOCK
    fd = _hold(lock)
    try:
        drop_temporary(folder)
        yield
    finally:
        drop_temporary(folder)
        remove_lock(lock, fd)
        with contextlib.suppress(OSError):
            folder.rmdir()  # only if it is empty


def _hold(lock: Path) -> int:
    """Lock a file to keep other runs out; return its descriptor. A kill releases the lock."""
    while True:
        try:
            lock.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise explained(lock.parent, error) from None
        try:
            fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            continue  # a run that has just ended removed the folder
        except OSError as error:
            raise explained(lock, error) from None
        # On a file system without locks, the user must not start two runs at once.
        if not try_lock(fd):
            os.close(fd)
            raise UserError(f"{lock.parent}: another run is writing there: wait for it")
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)  # a run that has just ended removed it


@contextlib.contextmanager
def _runner(workers: int, dask: str | None, content: Content) -> Iterator[Runner]:
    """Yield the function that runs jobs: here, in a pool of processes, or on a cluster."""
    if dask is not None:
        with connect_cluster(dask, content) as runner:
            yield runner
    elif workers == 1:
        yield _run_here
    else:
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(workers, MOST_WORKERS), spawn, initializer=start_worker)
        try:
            with _failed_threads() as failed:
                yield partial(_run_in_pool, pool, failed)
        except (KeyboardInterrupt, MemoryError):
            for child in multiprocessing.active_children():
                child.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _failed_threads() -> Iterator[list[str]]:
    """Collect errors of threads: if a pool cannot start its own for lack of memory, it hangs."""
    failed: list[str] = []
    before = threading.excepthook
    threading.excepthook = lambda arguments: failed.append(str(arguments.exc_value))
    try:
        yield failed
    finally:
        threading.excepthook = before


def _results(runner: Runner, jobs: list[Job]) -> Iterator[Job]:
    """Yield jobs as they finish."""
    with interrupt_held() as interrupt:
        yield from runner(jobs, interrupt)
        interrupt.check()


def _run_here(jobs: list[Job], interrupt: Interrupt) -> Iterator[Job]:
    for job in jobs:
        yield make_shard(job, interrupt.check)


def _run_in_pool(
    pool: ProcessPoolExecutor, failed: list[str], jobs: list[Job], interrupt: Interrupt
) -> Iterator[Job]:
    # Remaining jobs are not cancelled here but by the pool's shutdown: cancelled earlier, with its
    # processes ended by Ctrl-C, the pool fails in its own thread (before Python 3.12).
    try:
        # A pool may break while jobs are still being submitted.
        left = {pool.submit(make_shard, job) for job in jobs}
        while left:
            done, left = wait(left, _POLL, FIRST_COMPLETED)
            interrupt.check()
            if failed:
                raise MemoryError(failed[0])
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        raise Stopped(
            "a worker process died (out of memory?): finished shards are kept; run the same "
            "command again to continue, perhaps with fewer --workers"
        ) from None


def _finish(layout: Layout, jobs: list[Job], results: Iterator[Job], report: Report) -> None:
    """Wait for the jobs, then create the dataset under its final name in one step."""
    done = _counted(results, report)
    out, first = layout.out, jobs[0]
    schema = first.content.schema
    if not layout.one_file:
        for _ in done:
            pass
        write_index(out, layout.folder, schema, first.all_attributes, layout.listed)
    elif len(jobs) > 1:
        with shard_writer(out, schema, layout.total, first.all_attributes, layout.folder) as writer:
            _merge(writer, jobs, done)
    else:
        for _ in done:
            pass
        try:
            first.path.replace(out)
            sync_folder(out.parent)
        except OSError as error:
            raise explained(out, error) from None


def _counted(results: Iterator[Job], report: Report) -> Iterator[Job]:
    for job in results:
        if not is_done(job):
            raise UserError(
                f"{job.path}: was written by a worker but is not visible here: all workers of a "
                "cluster must see the same folder under the same path"
            )
        report(job.samples)
        yield job


def _merge(writer: ShardWriter, jobs: list[Job], results: Iterator[Job]) -> None:
    """Append parts to the single file, in order, while later ones are still being generated."""
    waiting = deque(jobs)
    done = {job.path for job in jobs if is_done(job)}
    for job in results:
        done.add(job.path)
        while waiting and waiting[0].path in done:
            writer.append_shard(waiting.popleft().path)
    for job in waiting:
        writer.append_shard(job.path)
