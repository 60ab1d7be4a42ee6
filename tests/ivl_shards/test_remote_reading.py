"""Datasets are read from a web server: the same samples as on a disk, with few requests."""

import json
import multiprocessing
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from web_server import Traffic, web_server

import shapes_gen
from ivl_shards import Damage, Dataset, UserError, generate, open_dataset
from photos import PHOTOS, PhotoRecipe
from shapes_gen import ColouredRecipe

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

NAMES = ["shapes.h5", "shapes-one.h5", "photos.h5", "photos-one.h5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with datasets of one file and of several shards."""
    made = tmp_path_factory.mktemp("served")
    shapes, photos = ColouredRecipe((3, 4), 600, size=48), PhotoRecipe((1, 2), 100)
    shapes_gen.generate(shapes, made / "shapes.h5", shard_size=100, workers=1)
    shapes_gen.generate(shapes, made / "shapes-one.h5", workers=1)
    generate(PHOTOS, photos, made / "photos.h5", shard_size=25, workers=1)
    generate(PHOTOS, photos, made / "photos-one.h5", workers=1)
    return made


@pytest.fixture
def web(folder: Path) -> Iterator[Traffic]:
    with web_server(folder) as traffic:
        yield traffic


def assert_same_sample(one, other) -> None:
    assert list(one) == list(other)
    for name in one:
        assert one[name].dtype == other[name].dtype
        np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("name", NAMES)
def test_the_samples_are_those_on_the_disk(folder: Path, web: Traffic, name: str) -> None:
    local, remote = open_dataset(folder / name), open_dataset(f"{web.address}/{name}")
    assert len(remote) == len(local) and remote.attributes == local.attributes
    for i in (0, 99, 57, -1):
        assert_same_sample(local[i], remote[i])
    for a, b in zip(local.batches(40, shuffle=1), remote.batches(40, shuffle=1), strict=True):
        for field in a:
            assert all(np.array_equal(x, y) for x, y in zip(a[field], b[field], strict=True))
    for field in local.field_names():
        assert all(
            np.array_equal(x, y)
            for x, y in zip(local.column(field), remote.column(field), strict=True)
        )


def test_a_sample_costs_few_requests(folder: Path, web: Traffic) -> None:
    remote = open_dataset(f"{web.address}/shapes.h5")
    assert len(web.requests) <= 3  # its length, and the index
    web.clear()
    remote[250]
    assert len(web.requests) <= 4 and web.bytes < 60_000
    web.clear()
    remote[250]
    assert web.requests == []
    assert remote[251].length in (3, 4)  # its labels are in memory already
    assert len(web.requests) <= 1


def test_labels_of_all_samples_are_fetched_without_images(folder: Path, web: Traffic) -> None:
    remote = open_dataset(f"{web.address}/shapes.h5")
    web.clear()
    chosen = remote.where(object_count=3)
    assert len(chosen) == 300
    everything = sum(path.stat().st_size for path in folder.glob("shapes.h5.shards/*"))
    assert web.bytes < everything / 3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_read_it_too(folder: Path, web: Traffic, method: str) -> None:
    remote = open_dataset(f"{web.address}/shapes.h5")
    expected = remote[7]
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        found = pool.submit(Dataset.__getitem__, remote, 7).result(timeout=60)
    assert_same_sample(expected, found)


# --- one line for what goes wrong --------------------------------------------------------


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Iterator[tuple[Path, Traffic]]:
    """A copy of the datasets that a test may damage, and its server."""
    shutil.copytree(folder, tmp_path / "copy")
    with web_server(tmp_path / "copy") as traffic:
        yield tmp_path / "copy", traffic


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ivl_shards.remote.RETRIES", (0.01,))


def test_a_dataset_that_does_not_exist(web: Traffic) -> None:
    with pytest.raises(UserError, match=r"/nothing\.h5: no such file$"):
        open_dataset(f"{web.address}/nothing.h5")


def test_a_missing_shard(copy: tuple[Path, Traffic]) -> None:
    path, web = copy
    shards = sorted(path.glob("shapes.h5.shards/*"))
    shards[2].unlink()
    remote = open_dataset(f"{web.address}/shapes.h5")
    remote[0]
    for read in (lambda: remote[250], lambda: remote.column("object_count")):
        with pytest.raises(Damage, match=f"{shards[2].name}: shard is missing"):
            read()


def test_a_shard_of_another_dataset(copy: tuple[Path, Traffic]) -> None:
    path, web = copy
    shards = sorted(path.glob("shapes.h5.shards/*"))
    seal = shards[1].read_bytes()[:512]
    shards[1].write_bytes(seal.replace(b"sha256 ", b"sha256 0") + shards[1].read_bytes()[513:])
    shutil.copy(shards[0], shards[2])  # of another length
    remote = open_dataset(f"{web.address}/shapes.h5")
    with pytest.raises(Damage, match=f"{shards[1].name}: is not the shard that .* lists"):
        remote[150]
    with pytest.raises(Damage, match=f"{shards[2].name}: .* the file has changed"):
        remote[250]


@pytest.mark.parametrize("name", NAMES)
def test_a_server_without_ranges(web: Traffic, name: str) -> None:
    remote = open_dataset(f"{web.address}/{name}")
    web.ranges = False
    with pytest.raises(UserError, match="does not support ranges"):
        remote[60]
    with pytest.raises(UserError, match="does not support ranges"):
        open_dataset(f"{web.address}/shapes-one.h5")


def test_no_server() -> None:
    with pytest.raises(UserError, match=r"^http://127.0.0.1:9/shapes.h5: not reachable: "):
        open_dataset("http://127.0.0.1:9/shapes.h5")


def test_a_truncated_file(copy: tuple[Path, Traffic]) -> None:
    path, web = copy
    data = (path / "shapes-one.h5").read_bytes()
    (path / "shapes-one.h5").write_bytes(data[:-10])
    with pytest.raises(Damage, match="truncated"):
        open_dataset(f"{web.address}/shapes-one.h5")


def test_the_index_lists_names_that_stay_below_it(copy: tuple[Path, Traffic]) -> None:
    """An index cannot make the reader ask other servers."""
    path, web = copy
    listed = json.loads(open_dataset(path / "shapes.h5").attributes["shards"])
    assert all("://" not in entry["file"] for entry in listed)
    remote = open_dataset(f"{web.address}/shapes.h5")
    assert all(str(shard).startswith(web.address) for shard in remote.shards)
