"""Datasets are written to an object store: the same bytes as on a disk, resumed like there."""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shapes_gen
from commands import assert_one_line, tool
from ivl_shards import UserError, open_dataset
from ivl_shards.inspect.verify import problems
from shapes_gen import ColouredRecipe

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("s3fs")
pytest.importorskip("moto")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

RECIPE = ColouredRecipe(counts=(3, 4), total=60, size=48)
OPTIONS = ["--counts", "3-4", "--total", "60", "--size", "48"]


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """Start a server that speaks S3 on this machine; yield the environment of its clients."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    client = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in client.items():
            patch.setenv(name, value)
        yield client
    running.stop()


@pytest.fixture
def bucket(server: dict[str, str], request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the address of a new bucket."""
    name = f"bucket-{abs(hash(request.node.name))}"
    fs = s3()
    fs.mkdir(name)
    yield f"s3://{name}"
    fs.rm(name, recursive=True)


def s3() -> Any:
    fs = fsspec.filesystem("s3")
    fs.invalidate_cache()
    return fs


def stored(bucket: str) -> list[str]:
    """Return the names of all objects in a bucket."""
    return [name.partition("/")[2] for name in s3().find(bucket)]


def local_files(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}


def assert_same_as_local(bucket: str, folder: Path, **options: Any) -> None:
    """All bytes in the bucket are those of a local run, and a copy of it is an ordinary dataset."""
    folder.mkdir()
    shapes_gen.generate(RECIPE, folder / "out.h5", workers=1, **options)
    found = {name: s3().cat_file(f"{bucket}/{name}") for name in stored(bucket)}
    assert found == local_files(folder)
    copy = folder / "copy"
    s3().get(f"{bucket}/", str(copy), recursive=True)
    assert list(problems(copy / "out.h5")) == []
    contents = [open_dataset(f / "out.h5").attributes["content_sha256"] for f in (folder, copy)]
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("shard_size", "workers"), [(10, 1), (10, 2), (None, 1)], ids=["shards", "pool", "one file"]
)
def test_the_bytes_are_those_of_a_local_run(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard_size: Any, workers: int
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    made = shapes_gen.generate(RECIPE, f"{bucket}/out.h5", shard_size=shard_size, workers=workers)
    assert made.rendered == 60 and str(made.path) == f"{bucket}/out.h5"
    assert_same_as_local(bucket, tmp_path / "local", shard_size=shard_size)
    assert not list(scratch.glob("ivl-*"))  # local copies are gone
    local, remote = open_dataset(tmp_path / "local" / "out.h5"), open_dataset(f"{bucket}/out.h5")
    assert (remote[37].image == local[37].image).all()
    assert (remote.lengths == local.lengths).all()
    again = shapes_gen.generate(RECIPE, f"{bucket}/out.h5", shard_size=shard_size, workers=1)
    assert again.rendered == 0


def test_a_single_file_of_several_parts(bucket: str, tmp_path: Path) -> None:
    recipe = ColouredRecipe(counts=(3,), total=600, size=48)
    shapes_gen.generate(recipe, f"{bucket}/a/out.h5", workers=1)
    assert stored(bucket) == ["a/out.h5"]
    shapes_gen.generate(recipe, tmp_path / "out.h5", workers=1)
    assert s3().cat_file(f"{bucket}/a/out.h5") == (tmp_path / "out.h5").read_bytes()


def test_only_missing_shards_are_uploaded_again(bucket: str, tmp_path: Path) -> None:
    out = f"{bucket}/out.h5"
    shapes_gen.generate(RECIPE, out, shard_size=10, workers=1)
    shards = [name for name in stored(bucket) if ".shards/" in name]
    s3().rm(f"{bucket}/{shards[2]}")
    # An upload under the final name that is not what the seal says, as no atomic store has it.
    s3().pipe_file(f"{bucket}/{shards[4]}", s3().cat_file(f"{bucket}/{shards[4]}")[:-100])
    before = {name: s3().info(f"{bucket}/{name}")["LastModified"] for name in stored(bucket)}
    time.sleep(1.1)  # the server counts in seconds
    assert shapes_gen.generate(RECIPE, out, shard_size=10, workers=1).rendered == 20
    after = {name: s3().info(f"{bucket}/{name}")["LastModified"] for name in stored(bucket)}
    changed = {name for name in after if before.get(name) != after[name]}
    assert changed == {"out.h5", shards[2], shards[4]}
    assert_same_as_local(bucket, tmp_path / "local", shard_size=10)


@pytest.mark.slow
def test_a_killed_run_goes_on(bucket: str, server, tmp_path: Path) -> None:
    command = [tool("shapes-gen"), "coloured", *OPTIONS, "--shard-size", "10", "--workers", "2"]
    process = subprocess.Popen([*command, f"{bucket}/out.h5"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(stored(bucket)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    time.sleep(0.5)  # for uploads of its workers, which end now
    assert "out.h5" not in stored(bucket)
    done = sum(name.endswith(".h5") for name in stored(bucket))
    made = shapes_gen.generate(RECIPE, f"{bucket}/out.h5", shard_size=10, workers=1)
    assert made.rendered == 60 - 10 * done
    assert_same_as_local(bucket, tmp_path / "local", shard_size=10)


# --- on a cluster ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(server: dict[str, str]):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("shard_size", [10, None], ids=["shards", "one file"])
def test_a_cluster_needs_no_common_disk(
    bucket: str, cluster, tmp_path: Path, shard_size: int | None
) -> None:
    options = {"dask": cluster.scheduler_address, "shard_size": shard_size}
    shapes_gen.generate(RECIPE, f"{bucket}/out.h5", **options)
    assert_same_as_local(bucket, tmp_path / "local", shard_size=shard_size)


@pytest.mark.slow
def test_a_worker_of_the_cluster_killed_half_way(bucket: str, cluster, tmp_path: Path) -> None:
    from distributed import Client

    with Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
    killed = []

    def kill_one() -> None:
        while sum(name.endswith(".h5") for name in stored(bucket)) < 2:
            time.sleep(0.01)
        os.kill(pids[0], signal.SIGKILL)
        killed.append(sum(name.endswith(".h5") for name in stored(bucket)))

    killer = threading.Thread(target=kill_one)
    killer.start()
    options = {"dask": cluster.scheduler_address, "shard_size": 2}
    shapes_gen.generate(RECIPE, f"{bucket}/out.h5", **options)
    killer.join()
    assert 2 <= killed[0] < 30
    assert_same_as_local(bucket, tmp_path / "local", shard_size=2)


# --- uploads that fail -------------------------------------------------------------------


class Faulty(MemoryFileSystem):
    """A file system in memory without atomic uploads, whose next ones fail half-way."""

    protocol = "faulty"
    store: dict[str, Any] = {}
    pseudo_dirs: list[str] = [""]
    failures = 0
    uploads: list[str] = []

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        if Faulty.failures:
            Faulty.failures -= 1
            self.pipe_file(rpath, Path(lpath).read_bytes()[:1000])
            raise ConnectionError("connection reset")
        Faulty.uploads.append(rpath)
        super().put_file(lpath, rpath, **options)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> type[Faulty]:
    fsspec.register_implementation("faulty", Faulty, clobber=True)
    Faulty.store.clear()
    Faulty.uploads.clear()
    Faulty.failures = 0
    monkeypatch.setattr("ivl_shards.remote.RETRIES", (0.01, 0.01, 0.01))
    return Faulty


def test_an_upload_is_tried_again(faulty: type[Faulty], tmp_path: Path) -> None:
    faulty.failures = 3
    shapes_gen.generate(RECIPE, "faulty://place/out.h5", shard_size=10, workers=1)
    shapes_gen.generate(RECIPE, tmp_path / "out.h5", shard_size=10, workers=1)
    found = {name.partition("place/")[2]: file.getvalue() for name, file in faulty.store.items()}
    assert found == local_files(tmp_path)


def test_an_upload_that_fails_keeps_finished_shards(faulty: type[Faulty]) -> None:
    out, done = "faulty://place/out.h5", []

    def report(samples: int) -> None:
        if samples:
            done.append(samples)
            faulty.failures = 1000 if len(done) == 2 else 0

    with pytest.raises(UserError, match="faulty://place/out.h5.shards/.*connection reset"):
        shapes_gen.generate(RECIPE, out, shard_size=10, workers=1, report=report)
    shards = [name for name in faulty.store if name.endswith(".h5")]
    assert len(shards) == 2  # the rest has temporary names
    faulty.failures = 0
    faulty.uploads.clear()
    assert shapes_gen.generate(RECIPE, out, shard_size=10, workers=1).rendered == 40
    assert len(faulty.uploads) == 2 * 4 + 1  # four shards and their summaries, then the index
    assert sorted(name.rpartition(".")[2] for name in faulty.store) == ["h5"] * 7


# --- one line for what a user can cause --------------------------------------------------


def test_another_dataset_in_the_way(bucket: str) -> None:
    other = ColouredRecipe(counts=(5,), total=20, size=48)
    shapes_gen.generate(other, f"{bucket}/out.h5", shard_size=10, workers=1)
    before = stored(bucket)
    with pytest.raises(UserError, match="out.h5: holds another dataset .*--overwrite"):
        shapes_gen.generate(RECIPE, f"{bucket}/out.h5", shard_size=10, workers=1)
    assert stored(bucket) == before
    options = {"shard_size": 10, "workers": 1, "overwrite": True}
    assert shapes_gen.generate(RECIPE, f"{bucket}/out.h5", **options).rendered == 60
    assert len(stored(bucket)) == 7  # those of the other dataset are gone


def test_files_of_other_programs_are_never_replaced(bucket: str) -> None:
    s3().pipe_file(f"{bucket}/out.h5", b"something else")
    with pytest.raises(UserError, match="out.h5: not an HDF5 file .*in the way"):
        shapes_gen.generate(RECIPE, f"{bucket}/out.h5", workers=1, overwrite=True)
    assert s3().cat_file(f"{bucket}/out.h5") == b"something else"


@pytest.mark.slow
def test_the_command_line(bucket: str, run) -> None:
    made = run("shapes-gen", "coloured", *OPTIONS, "--shard-size", 30, f"{bucket}/out.h5")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(f"{bucket}/out.h5: 60 samples of 3-4 objects, 60 made in")
    assert len(stored(bucket)) == 3
    shown = run("ivl-shards", "info", f"{bucket}/out.h5")
    assert shown.returncode == 0 and "60 samples" in shown.stdout, shown.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "environment", "words"),
    [
        ("s3://no-such-bucket/out.h5", {}, ["s3://no-such-bucket: no such bucket"]),
        (
            "s3://any/out.h5",
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": "/nonexistent"},
            ["s3://any", "credentials"],
        ),
        (
            "s3://any/out.h5",
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            ["s3://any: not reachable"],
        ),
        ("nothing://any/out.h5", {}, ["nothing://: fsspec knows no such protocol"]),
        ("s3://any/out.txt", {}, ["must end in .h5"]),
    ],
    ids=["bucket", "credentials", "server", "protocol", "name"],
)
def test_mistakes_end_in_one_line(server, run, address: str, environment, words) -> None:
    result = run("shapes-gen", "coloured", *OPTIONS, "--quiet", address, **environment)
    assert_one_line(result, 2, *words)


def test_without_fsspec(run, tmp_path: Path) -> None:
    (tmp_path / "fsspec.py").write_text("raise ImportError")
    result = run("shapes-gen", "toy", "--n", 1, "s3://any/out.h5", PYTHONPATH=str(tmp_path))
    assert_one_line(result, 2, "pip install 'ivl[remote]'")
