"""Engine: write a dataset, on the cores of one machine or on a Dask cluster."""

import contextlib
import multiprocessing
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ivl_shards.disk import explained, sync_folder
from ivl_shards.errors import Damage, Foreign, Stopped, UserError
from ivl_shards.format.index import write_index
from ivl_shards.format.structure import stored_shards
from ivl_shards.format.writer import ShardWriter, shard_writer
from ivl_shards.generation.content import Content, Generated
from ivl_shards.generation.cost import Cost, CostCheck
from ivl_shards.generation.dask_cluster import Runner, connect_cluster
from ivl_shards.generation.generator import Generator
from ivl_shards.generation.layout import (
    Layout,
    plan_layout,
    shard_folder,
    shards_among,
    stored_layout,
)
from ivl_shards.generation.recipe import Recipe, require
from ivl_shards.generation.shard import Job, has, is_done, make_shard
from ivl_shards.generation.stores import store_of
from ivl_shards.interrupt import Interrupt, interrupt_held
from ivl_shards.processes import MOST_WORKERS, available_cores, start_worker
from ivl_shards.remote import Location, as_location

Report = Callable[[int], None]

_POLL = 0.1  # seconds between checks for Ctrl-C while workers are busy


@dataclass(frozen=True)
class Made:
    """Result of a call of `generate`."""

    path: Location
    samples: int
    """Number of samples in the dataset."""
    rendered: int
    """How many of them this call generated; the others existed already."""


class WriteOptions(TypedDict, total=False):
    """How a dataset is written; none of these changes its content."""

    workers: int | None
    """Number of processes; all cores by default. With 1 everything runs in this process."""
    dask: str | None
    """Address of a Dask scheduler. Its workers share this file system, unless `out` is remote."""
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
    out: Location | str,
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
    out: Location | str,
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
    out = as_location(out)
    out = out.absolute() if isinstance(out, Path) else out
    store = store_of(out)
    workers = available_cores() if workers is None else workers
    require(workers >= 1, f"{workers} workers: ask for at least 1")
    store.check_target(out)
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
        if existing.one_file or not _unfinished(_jobs(content, existing), existing):
            _tidy(content, existing, overwrite)
            report(total)
            return Made(out, total, 0)
        if existing.folder == layout.folder:  # missing shards are added to the existing ones
            layout = existing
    with store.work_folder(layout.folder) as work:
        _refuse_others(content, layout, overwrite)
        jobs = _jobs(content, layout)
        todo = _unfinished(jobs, layout)
        rendered = sum(job.samples for job in todo)
        report(total - rendered)
        with _runner(workers if len(todo) > 1 else 1, dask, content) as runner:
            check = CostCheck(out, rendered, workers if dask is None else None, force, announce)
            _finish(layout, work, jobs, check.watch(_results(runner, todo)), report)
        _drop_strays(content, layout, overwrite)
    return Made(out, total, rendered)


def _jobs(content: Content, layout: Layout) -> list[Job]:
    return [
        Job(content.part(start, stop), start, stop, path)
        for (start, stop), path in zip(layout.ranges, layout.shards, strict=True)
    ]


def _unfinished(jobs: list[Job], layout: Layout) -> list[Job]:
    """Return the jobs whose file does not exist yet or is not complete."""
    present = set(store_of(layout.folder).files(layout.folder))
    return [job for job in jobs if job.path not in present or not is_done(job)]


# --- existing files ----------------------------------------------------------------------


def _existing(content: Content, out: Location, overwrite: bool) -> Layout | None:
    """Return the layout of an existing dataset of this content; None to start from scratch."""
    store = store_of(out)
    if not store.exists(out):
        return None
    try:
        found = store.attributes(out)
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


def _is_ours(path: Location, content: Content) -> bool:
    try:
        return has(store_of(path).attributes(path), content.attributes)
    except Foreign as error:
        raise UserError(f"{error}; it is in the way: move or remove it") from None
    except Damage:
        return True  # an unfinished file of ours


def _refuse_others(content: Content, layout: Layout, overwrite: bool) -> None:
    """Raise if files of other programs are in the way, or shards of another unfinished dataset."""
    store = store_of(layout.out)
    for path in shards_among(store.files(layout.folder), layout.out):
        if not (_is_ours(path, content) or overwrite or store.exists(layout.out)):
            raise UserError(
                f"{path}: a shard of another dataset is in the way: choose another name for "
                f"{layout.out.name}, or --overwrite it"
            )


def _drop_strays(content: Content, layout: Layout, overwrite: bool) -> None:
    """Remove what a complete dataset does not need: its parts and shards of another size.

    With `overwrite`, also the shards of the dataset that it replaced.
    """
    store = store_of(layout.out)
    store.drop_leftovers(layout.folder)
    for path in _strays(layout):
        if _is_ours(path, content) or overwrite:
            store.remove(path)


def _strays(layout: Layout) -> list[Location]:
    found = shards_among(store_of(layout.out).files(shard_folder(layout.out)), layout.out)
    if layout.one_file:
        return found
    wanted = set(layout.shards)
    return [path for path in found if path not in wanted and not layout.is_group(path)]


def _tidy(content: Content, layout: Layout, overwrite: bool) -> None:
    """Remove what is left of a run that was killed just after it completed the dataset."""
    if _strays(layout):
        folder = shard_folder(layout.out)
        with contextlib.suppress(UserError), store_of(folder).work_folder(folder):
            _drop_strays(content, layout, overwrite)


# --- running -----------------------------------------------------------------------------


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


def _finish(
    layout: Layout, work: Path, jobs: list[Job], results: Iterator[Job], report: Report
) -> None:
    """Wait for the jobs, then create the dataset under its final name in one step."""
    done = _counted(results, report)
    store, attributes, schema = store_of(layout.out), jobs[0].all_attributes, jobs[0].content.schema
    if layout.one_file and len(jobs) > 1:
        with (
            store.new_file(layout.out) as out,
            shard_writer(out, schema, layout.total, attributes, work) as writer,
        ):
            _merge(writer, jobs, done)
        return
    for _ in done:
        pass
    with store.new_file(layout.out) as out:
        if layout.one_file:
            with store.local_copy(jobs[0].path) as part:
                _rename(part, out)
        else:
            (out.parent / layout.folder.name).mkdir(exist_ok=True)  # for groups of shards
            index = layout.out.parent
            write_index(
                out,
                work,
                schema,
                attributes,
                layout.listed,
                lambda name: store.summary(index / name, schema),
            )


def _rename(path: Path, out: Path) -> None:
    try:
        path.replace(out)
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
            _append(writer, waiting.popleft())
    for job in waiting:
        _append(writer, job)


def _append(writer: ShardWriter, job: Job) -> None:
    with store_of(job.path).local_copy(job.path) as path:
        writer.append_shard(path)
