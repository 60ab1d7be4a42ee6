"""Whatever happens to a file of a dataset, `verify` says so and names it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

import shapes_gen
from commands import assert_one_line
from ivl_shards import Damage, open_dataset
from ivl_shards.format.seal import SEAL_BYTES, Seal, check_bytes
from ivl_shards.inspect.verify import problems
from shapes_gen import ColouredRecipe, ToyRecipe

FLIPS = 150


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one dataset in one file and one in shards."""
    folder = tmp_path_factory.mktemp("whole")
    shapes_gen.generate(ToyRecipe((1, 2), total=20), folder / "one.h5", workers=1)
    shapes_gen.generate(
        ColouredRecipe((1, 2), total=12), folder / "many.h5", workers=1, shard_size=5
    )
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "data"))


def shard_of(folder: Path, k: int) -> Path:
    return open_dataset(folder / "many.h5").shards[k]


def flips(path: Path, number: int) -> Iterator[int]:
    """Flip one bit of the file, at many places one after the other; the places."""
    sound = path.read_bytes()
    rng = np.random.default_rng(len(sound))
    seal = rng.integers(SEAL_BYTES, size=number // 5)
    for place in [*seal, *rng.integers(SEAL_BYTES, len(sound), size=number)]:
        damaged = bytearray(sound)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        yield int(place)
    path.write_bytes(sound)


@pytest.mark.parametrize(
    ("dataset", "shard"), [("one.h5", None), ("many.h5", None), ("many.h5", 1)]
)
def test_any_flipped_bit_is_found_and_its_file_named(
    folder: Path, dataset: str, shard: int | None
) -> None:
    file = folder / dataset if shard is None else shard_of(folder, shard)
    for place in flips(file, FLIPS):
        found = list(problems(folder / dataset))
        assert len(found) == 1, f"byte {place}: {found}"
        assert file.name in found[0], f"byte {place}: {found}"
    assert list(problems(folder / dataset)) == []


def test_every_single_byte_is_covered(folder: Path) -> None:
    """The bytes alone, for a file small enough to try each."""
    path = shard_of(folder, 2)
    sound = path.read_bytes()
    for place in range(0, len(sound), 7):
        damaged = bytearray(sound)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(Damage):
            check_bytes(path)


def test_verify_from_the_command_line(folder: Path, run) -> None:
    sound = run("ivl-shards", "verify", folder / "many.h5")
    assert sound.returncode == 0
    assert "sound: 12 samples in 4 files" in sound.stdout
    shard = shard_of(folder, 1)
    with h5py.File(shard) as file:
        place = file["image"].id.get_chunk_info(2).byte_offset + 30
    data = bytearray(shard.read_bytes())
    data[place] ^= 1
    shard.write_bytes(data)
    result = run("ivl-shards", "verify", folder / "many.h5")
    assert_one_line(result, 1, str(shard), "SHA-256")


def test_a_missing_shard(folder: Path, run) -> None:
    shard = shard_of(folder, 0)
    shard.unlink()
    assert_one_line(run("ivl-shards", "verify", folder / "many.h5"), 1, str(shard), "missing")
    with pytest.raises(Damage, match="missing"):
        open_dataset(folder / "many.h5")[0]


@pytest.mark.parametrize("kept", [0, 100, 511, 512, 4000, -1])
def test_a_truncated_file(folder: Path, run, kept: int) -> None:
    for name, path in (("one.h5", folder / "one.h5"), ("many.h5", shard_of(folder, 2))):
        path.write_bytes(path.read_bytes()[:kept])
        result = run("ivl-shards", "verify", folder / name)
        assert_one_line(result, 1, str(path))
        assert run("ivl-shards", "info", folder / "one.h5").returncode == 2


def test_a_file_that_is_too_long(folder: Path, run) -> None:
    with (folder / "one.h5").open("ab") as file:
        file.write(b"more")
    assert_one_line(run("ivl-shards", "verify", folder / "one.h5"), 1, "4 bytes too long")


def test_a_shard_of_another_dataset(folder: Path, run) -> None:
    other = folder / "other.h5"
    shapes_gen.generate(ColouredRecipe((1, 2), 5, seed=9), other, workers=1)
    other.rename(shard_of(folder, 1))
    assert_one_line(run("ivl-shards", "verify", folder / "many.h5"), 1, "another dataset")


@pytest.mark.parametrize("command", ["verify", "info"])
def test_a_file_of_another_format(tmp_path: Path, run, command: str) -> None:
    code = 1 if command == "verify" else 2
    (tmp_path / "notes.h5").write_text("dear diary")
    result = run("ivl-shards", command, "notes.h5")
    assert_one_line(result, code, "notes.h5", "not an HDF5 file")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["image"] = np.zeros(3)
    result = run("ivl-shards", command, "other.h5")
    assert_one_line(result, code, "other.h5", "an HDF5 file, but")


def test_a_newer_version(folder: Path, run) -> None:
    data = bytearray((folder / "one.h5").read_bytes())
    data[:SEAL_BYTES] = Seal(2, 0, len(data), "0" * 64).to_bytes()
    (folder / "one.h5").write_bytes(data)
    for command, code in (("verify", 1), ("info", 2)):
        result = run("ivl-shards", command, folder / "one.h5")
        assert_one_line(result, code, "format 2.0", "upgrade")


def test_a_path_that_is_not_there(run) -> None:
    for command in ("verify", "info"):
        assert_one_line(run("ivl-shards", command, "nowhere.h5"), 2, "nowhere.h5", "no such file")


def test_labels_that_contradict_each_other(tmp_path: Path) -> None:
    """Sound bytes, but a generator with a fault: verify looks at the samples too."""
    from dataclasses import replace

    from ivl_shards import Sample, generate
    from shapes_gen import COLOURED

    generate(
        replace(COLOURED, start=_faulty), ColouredRecipe((2,), 3), tmp_path / "bad.h5", workers=1
    )
    assert [line.split(": ", 1)[1] for line in problems(tmp_path / "bad.h5")] == [
        f"sample {i}: a centre lies outside the image" for i in range(3)
    ]
    assert isinstance(open_dataset(tmp_path / "bad.h5")[0], Sample)


def _faulty(recipe: ColouredRecipe, source: None):
    from ivl_shards import Sample
    from shapes_gen import COLOURED

    make = COLOURED.start(recipe, source)
    return lambda row: Sample({**make(row), "centres": make(row)["centres"] + 200}, "object_count")
