"""Nothing that exists is removed before what replaces it is complete, and nobody else's at all."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from commands import assert_one_line, tool
from fuzzing import cases
from ivl_shards import generate, open_dataset
from ivl_shards.disk import drop_temporary, temporary_name
from ivl_shards.errors import Stopped, UserError
from ivl_shards.format.seal import SEAL_BYTES, check_bytes, sealed_file, write_seal
from ivl_shards.generation.layout import shard_folder
from ivl_shards.inspect.verify import problems
from shapes_gen import COLOURED, ColouredRecipe

OLD, NEW = ColouredRecipe((3,), 24), ColouredRecipe((3,), 24, seed=1)


def make(recipe: ColouredRecipe, out: Path, **options) -> int:
    """The number of samples that were made."""
    return generate(COLOURED, recipe, out, **{"workers": 1, "shard_size": 10, **options}).rendered


def seed_of(out: Path) -> int:
    """The seed of a dataset without a flaw."""
    assert list(problems(out)) == []
    return int(open_dataset(out).attributes["seed"])


def test_two_endings_are_two_datasets(tmp_path: Path) -> None:
    make(OLD, tmp_path / "a.h5")
    make(NEW, tmp_path / "a.hdf5")
    make(NEW, tmp_path / "a.hdf5", overwrite=True)
    assert seed_of(tmp_path / "a.h5") == 0
    assert seed_of(tmp_path / "a.hdf5") == 1


def as_older_versions_did(out: Path) -> Path:
    """Lay a dataset in shards out as before, `a.shards/a-00000-of-00003.h5`; its folder."""
    folder = out.with_suffix(".shards")
    names = []
    folder.mkdir()
    for k, shard in enumerate(open_dataset(out).shards):
        names.append(f"{folder.name}/{out.stem}-{k:05d}-of-00003.h5")
        shard.rename(out.parent / names[-1])
    shutil.rmtree(shard_folder(out))
    with h5py.File(out, "r+") as file:
        text = file.attrs["shards"]
        for k, name in enumerate(names):
            before = text.split('"file": "')[k + 1].split('"')[0]
            text = text.replace(before, name)
        file.attrs["shards"] = text
        del file.attrs["places"]
        lengths = [10, 10, 4]
        for field in list(file):
            data, attributes = file[field], dict(file[field].attrs)
            layout, start = h5py.VirtualLayout(data.shape, data.dtype), 0
            for name, length in zip(names, lengths, strict=True):
                shape = (length, *data.shape[1:])
                source = h5py.VirtualSource(name, field, shape, data.dtype)
                layout[start : start + length] = source
                start += length
            del file[field]
            file.create_virtual_dataset(field, layout).attrs.update(attributes)
    with out.open("r+b", buffering=0) as file:
        assert out.stat().st_size > SEAL_BYTES
        write_seal(file)
    return folder


def test_what_older_versions_made_is_complete_and_stays(tmp_path: Path) -> None:
    out = tmp_path / "a.h5"
    make(OLD, out)
    folder = as_older_versions_did(out)
    assert seed_of(out) == 0
    assert make(OLD, out) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h5", "a.shards"]
    # Where a shard is missing it is made again, beside what is there.
    next(folder.glob("*-00001-*")).unlink()
    assert make(OLD, out) == 24
    assert seed_of(out) == 0
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("old", [10, None], ids=["from shards", "from one file"])
@pytest.mark.parametrize("new", [10, None], ids=["to shards", "to one file"])
def test_the_old_dataset_is_there_until_the_new_one_is(
    tmp_path: Path, old: int | None, new: int | None
) -> None:
    out = tmp_path / "a.h5"
    make(OLD, out, shard_size=old)

    def report(samples: int) -> None:
        assert seed_of(out) == 0

    make(NEW, out, shard_size=new, overwrite=True, report=report)
    assert seed_of(out) == 1
    expected = {out, *open_dataset(out).shards}
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == expected


@pytest.mark.slow
def test_a_new_dataset_that_fails_leaves_the_old_one(run, tmp_path: Path) -> None:
    out = tmp_path / "a.h5"
    make(OLD, out)
    before = sorted(tmp_path.rglob("*"))
    pytest.importorskip("distributed")
    command = ("shapes-gen", "coloured", "--n", 2, "--overwrite", "--dask")
    assert_one_line(run(*command, "tcp://127.0.0.1:1", "a.h5"), 2, "no Dask scheduler")
    assert_one_line(run(*command, "somewhere", "a.h5"), 2, "somewhere", "tcp://host")
    assert sorted(tmp_path.rglob("*")) == before
    assert seed_of(out) == 0


def test_an_overwriting_run_that_stopped_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "a.h5"
    make(OLD, out)
    told = []

    def stop(samples: int) -> None:
        told.append(samples)
        if len(told) == 3:
            raise Stopped("enough")

    with pytest.raises(Stopped):
        make(NEW, out, overwrite=True, report=stop)
    assert seed_of(out) == 0
    assert make(OLD, out) == 0, "what was begun does not make the old one less complete"
    assert make(NEW, out, overwrite=True) == 4
    assert seed_of(out) == 1
    assert len(list(tmp_path.rglob("*.h5"))) == 4


def test_foreign_files_in_the_folder_stay(tmp_path: Path) -> None:
    out = tmp_path / "a.h5"
    folder = shard_folder(out)
    folder.mkdir()
    foreign = [folder / name for name in ("notes.tmp", "a.h5.1234.tmp", "b.h5", "a-00000-of-1.h5")]
    for path in foreign:
        path.write_text("mine")
    dead = temporary_name(folder / "a.h5")
    dead.write_text("half of something")
    make(OLD, out, shard_size=None)
    assert sorted(folder.iterdir()) == sorted(foreign)
    assert all(path.read_text() == "mine" for path in foreign)


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with sealed_file(path) as (first, _):
        first.attrs["writer"] = 1
        with sealed_file(path) as (second, _):
            second.attrs["writer"] = 2
            drop_temporary(tmp_path)  # as the next run does, while both are at work
        check_bytes(path)
    check_bytes(path)
    with h5py.File(path) as file:
        assert file.attrs["writer"] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_foreign_file_under_a_shards_name_is_never_replaced(tmp_path: Path) -> None:
    out = tmp_path / "a.h5"
    make(OLD, out)
    shard = open_dataset(out).shards[1]
    shard.write_text("my thesis")
    for overwrite in (False, True):
        with pytest.raises(UserError, match="in the way"):
            make(OLD, out, overwrite=overwrite)
    assert shard.read_text() == "my thesis"


@pytest.mark.parametrize(
    ("limit", "options", "word"),
    [
        ("-n 16", ["--workers", "8"], "ulimit -n"),
        ("-v 600000", ["--workers", "1"], "ulimit -v"),
        ("-f 100", ["--workers", "1"], "ulimit -f"),
        ("-f 100", ["--workers", "2"], "ulimit -f"),
    ],
)
def test_limits_of_the_machine_end_in_one_line(
    tmp_path: Path, limit: str, options: list[str], word: str
) -> None:
    command = [tool("shapes-gen"), "coloured", "--counts", "3", "--total", "1200", *options]
    shell = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *command, "--quiet", "out.h5"]
    result = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert_one_line(result, 1, word, "run the same command again")
    assert list(tmp_path.iterdir()) == []


def test_memory_that_runs_out_ends_in_one_line(run, tmp_path: Path, monkeypatch) -> None:
    import click

    from ivl_shards.options import run as run_command

    def hungry() -> None:
        np.zeros(1 << 60, np.uint8)

    monkeypatch.setattr("sys.argv", ["hungry"])
    with pytest.raises(SystemExit) as end:
        run_command(click.command()(hungry), "hungry")
    assert end.value.code == 1


@pytest.mark.slow
@pytest.mark.fuzz
def test_killed_while_overwriting(tmp_path: Path) -> None:
    out = tmp_path / "a.h5"
    options = ["--counts", "3", "--total", "1500", "--shard-size", "150", "--workers", "1"]
    command = [tool("shapes-gen"), "coloured", *options, "--overwrite", "--quiet", str(out)]
    make(OLD, out)
    seed = 0
    for case in cases(3, 20):
        rng = np.random.default_rng(case)
        process = subprocess.Popen([*command, "--seed", str(seed + 1)])
        time.sleep(0.5 + 1.5 * rng.random())  # start-up takes half a second
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert seed_of(out) in (seed, seed + 1)
        if rng.random() < 0.5:
            subprocess.run([*command, "--seed", str(seed + 1)], check=True)
            assert seed_of(out) == seed + 1
        seed = seed_of(out)
    subprocess.run([*command, "--seed", "999"], check=True)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {
        out,
        *open_dataset(out).shards,
    }
