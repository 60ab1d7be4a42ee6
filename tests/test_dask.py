"""The same content from a Dask cluster, also when a worker is lost."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from cases import CASES, Case
from ivl_shards import generate, open_dataset
from ivl_shards.verify import problems
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
        case.generator, recipe, out, source=source, dask=cluster.scheduler_address,
        shard_size=shard_size,
    )  # fmt: skip
    assert open_dataset(out).attributes["content_sha256"] == case.content
    assert list(problems(out)) == []


def test_a_worker_killed_half_way(cluster, tmp_path: Path) -> None:
    recipe = ColouredRecipe(counts=(5,), total=12_000)
    with distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
    out = tmp_path / "data.h5"
    killed = []

    def kill_one() -> None:
        while len(list(tmp_path.glob("data.shards/*.h5"))) < 4:
            time.sleep(0.005)
        os.kill(pids[0], signal.SIGKILL)
        killed.append(len(list(tmp_path.glob("data.shards/*.h5"))))

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
        generate(CASES[name].generator, recipe, tmp_path / "data.h5", source=source,
                 dask=running.scheduler_address, shard_size=50)  # fmt: skip
    assert open_dataset(tmp_path / "data.h5").attributes["content_sha256"] == CASES[name].content


def test_the_command_line_takes_the_address(cluster, run) -> None:
    result = run("shapes-gen", "toy", "--n", 3, "--dask", cluster.scheduler_address, "out.h5")
    assert result.returncode == 0, result.stderr
    assert run("ivl-shards", "verify", "out.h5").returncode == 0
