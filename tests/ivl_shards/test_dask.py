"""The same content from a Dask cluster, also when a worker is lost."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest

from cases import CASES, Case
from commands import HELPERS, assert_one_line, tool
from fuzzing import cases
from ivl_shards import generate, open_dataset
from ivl_shards.errors import Stopped, UserError
from ivl_shards.generation.content import Generated
from ivl_shards.generation.dask_cluster import connect_cluster
from ivl_shards.generation.layout import shard_folder
from ivl_shards.generation.shard import Job
from ivl_shards.inspect.verify import problems
from ivl_shards.interrupt import Interrupt
from photos import PHOTOS, PhotoRecipe
from shapes_gen import COLOURED, ColouredRecipe

pytestmark = pytest.mark.slow
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as running:
        yield running


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("shard_size", [None, 97], ids=["one file", "shards"])
def test_the_content_is_the_same(cluster, case: Case, shard_size, tmp_path: Path) -> None:
    out = tmp_path / "data.h5"
    recipe, source = case.prepare(tmp_path)
    generate(
        case.generator,
        recipe,
        out,
        source=source,
        dask=cluster.scheduler_address,
        shard_size=shard_size,
    )
    assert open_dataset(out).attributes["content_sha256"] == case.content
    assert list(problems(out)) == []


def test_a_worker_killed_half_way(cluster, tmp_path: Path) -> None:
    recipe = ColouredRecipe(counts=(5,), total=12_000)
    with distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
    out = tmp_path / "data.h5"
    killed = []

    def kill_one() -> None:
        while len(list(tmp_path.glob("data.h5.shards/*.h5"))) < 4:
            time.sleep(0.005)
        os.kill(pids[0], signal.SIGKILL)
        killed.append(len(list(tmp_path.glob("data.h5.shards/*.h5"))))

    killer = threading.Thread(target=kill_one)
    killer.start()
    generate(COLOURED, recipe, out, dask=cluster.scheduler_address, shard_size=500)
    killer.join()
    assert 4 <= killed[0] < 24
    generate(COLOURED, recipe, tmp_path / "alone.h5")
    contents = [
        open_dataset(path).attributes["content_sha256"] for path in (out, tmp_path / "alone.h5")
    ]
    assert contents[0] == contents[1]
    assert list(problems(out)) == []


@pytest.mark.parametrize("name", ["toy", "text"])
def test_a_worker_with_two_threads(name: str, tmp_path: Path) -> None:
    recipe, source = CASES[name].prepare(tmp_path)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=":0", silence_logs=50
    ) as running:
        generate(
            CASES[name].generator,
            recipe,
            tmp_path / "data.h5",
            source=source,
            dask=running.scheduler_address,
            shard_size=50,
        )
    assert open_dataset(tmp_path / "data.h5").attributes["content_sha256"] == CASES[name].content


def test_the_command_line_takes_the_address(cluster, run) -> None:
    result = run("shapes-gen", "toy", "--n", 3, "--dask", cluster.scheduler_address, "out.h5")
    assert result.returncode == 0, result.stderr
    assert run("ivl-shards", "verify", "out.h5").returncode == 0


# --- workers that would make something else ----------------------------------------------


@contextmanager
def program(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program in the background."""
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + command[0], *command[1:], "--no-dashboard"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def scheduler() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = str(HELPERS)
    with program(
        "dask_scheduler", "--host", "127.0.0.1", "--port", str(port), PYTHONPATH=path
    ) as p:
        yield f"tcp://127.0.0.1:{port}", p


def worker(address: str, path: Path = HELPERS):
    options = ("--no-nanny", "--nthreads", "1")
    return program("dask_worker", address, *options, PYTHONPATH=str(path))


def test_a_worker_with_another_version_of_the_generator(tmp_path: Path) -> None:
    other, here = tmp_path / "other", tmp_path / "here"
    other.mkdir()
    here.mkdir()
    code = (HELPERS / "photos.py").read_text()
    changed = code.replace(f'Generator("photos", "{PHOTOS.version}"', 'Generator("photos", "77"')
    assert changed != code
    (other / "photos.py").write_text(changed)
    with scheduler() as (address, _), worker(address, other):
        with pytest.raises(UserError, match="worker tcp://.*photos 77 instead of") as refused:
            generate(PHOTOS, PhotoRecipe((1,), 4), here / "out.h5", dask=address)
        assert "\n" not in str(refused.value)
    assert list(here.iterdir()) == []


def test_a_worker_with_another_package(cluster, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(cv2, "__version__", "0.1")
    with pytest.raises(UserError, match="worker tcp://.*opencv .* of 0.1"):
        generate(
            COLOURED,
            ColouredRecipe((3,), 30),
            tmp_path / "out.h5",
            shard_size=10,
            dask=cluster.scheduler_address,
        )
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_joins_later_with_another_package(
    cluster, tmp_path: Path, monkeypatch
) -> None:
    """The workers that were there at the start had the right packages; each job checks again."""
    content = Generated(COLOURED, ColouredRecipe((3,), 30))
    job = Job(content, 0, 10, tmp_path / "shard.h5")
    with connect_cluster(cluster.scheduler_address, content) as run_jobs:
        monkeypatch.setattr(cv2, "__version__", "0.1")
        with pytest.raises(Stopped, match="worker tcp://.*opencv .* of 0.1"):
            list(run_jobs([job], Interrupt()))
    assert list(tmp_path.iterdir()) == []


# --- what goes away ----------------------------------------------------------------------

RECIPE = ColouredRecipe(counts=(3, 4, 5), total=1500)
COMMAND = ["coloured", "--counts", "3-5", "--total", "1500", "--quiet"]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("alone") / "out.h5"
    generate(COLOURED, RECIPE, out, workers=1)
    return str(open_dataset(out).attributes["content_sha256"])


def nothing_half_written(out: Path) -> None:
    for path in [out, *shard_folder(out).glob("*.h5")]:
        if path.exists():
            assert list(problems(path)) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("size", ["100", "5000"], ids=["shards", "one file"])
def test_a_killed_client_that_is_run_again_at_once(
    cluster, content: str, tmp_path: Path, size: str
) -> None:
    command = [tool("shapes-gen"), *COMMAND, "--dask", cluster.scheduler_address]
    for case in cases(2, 10):  # for each layout
        out = tmp_path / f"{case}.h5"
        process = subprocess.Popen([*command, "--shard-size", size, str(out)])
        rng = np.random.default_rng(case)
        while process.poll() is None and not any(shard_folder(out).glob("*-of-*")):
            time.sleep(0.005)  # until workers are at work
        time.sleep(rng.random())
        process.kill()
        process.wait()
        again = subprocess.run(
            [*command, "--shard-size", size, str(out)], capture_output=True, text=True
        )
        assert (again.returncode, again.stderr) == (0, "")
        assert open_dataset(out).attributes["content_sha256"] == content
        nothing_half_written(out)


@pytest.mark.fuzz
def test_a_killed_scheduler(run, content: str, tmp_path: Path) -> None:
    out = tmp_path / "out.h5"
    for case in cases(1, 5):
        rng = np.random.default_rng(case)
        with scheduler() as (address, process), worker(address):
            killer = threading.Thread(target=kill_when, args=(process.pid, out, rng.integers(1, 9)))
            killer.start()
            stopped = run("shapes-gen", *COMMAND, "--shard-size", 50, "--dask", address, "out.h5")
            killer.join()
        assert_one_line(stopped, 1, address, "scheduler is lost", "run the same command again")
        nothing_half_written(out)
        kept = len(list(shard_folder(out).glob("*.h5")))
        assert kept >= 1
        made = generate(COLOURED, RECIPE, out, workers=1, shard_size=50)
        assert made.rendered <= 1500 - 50 * kept
        assert open_dataset(out).attributes["content_sha256"] == content
        out.unlink()
        for path in shard_folder(out).iterdir():
            path.unlink()


@pytest.mark.fuzz
def test_all_workers_gone(content: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("ivl_shards.generation.dask_cluster.WORKER_TIMEOUT", 3)
    for case in cases(1, 5):
        out = tmp_path / f"{case}.h5"
        with scheduler() as (address, _), worker(address) as process:
            killer = threading.Thread(target=kill_when, args=(process.pid, out, case + 1))
            with distributed.Client(address) as client:
                client.wait_for_workers(1, timeout=60)
            killer.start()
            with pytest.raises(Stopped, match="no Dask worker is left"):
                generate(COLOURED, RECIPE, out, dask=address, shard_size=50)
            killer.join()
        nothing_half_written(out)
        assert not list(tmp_path.rglob("*.tmp")), "what the dead worker left is of no use"
        assert generate(COLOURED, RECIPE, out, workers=1, shard_size=50).rendered < 1500
        assert open_dataset(out).attributes["content_sha256"] == content


def kill_when(pid: int, out: Path, shards: int) -> None:
    """Kill a process once that many shards are there."""
    while len(list(shard_folder(out).glob("*.h5"))) < shards:
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
