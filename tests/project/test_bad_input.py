"""What a user can get wrong: one line, exit code 2, nothing touched."""

import hashlib
from pathlib import Path

import pytest

import shapes_gen
from commands import assert_one_line


def state(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in folder.rglob("*")
        if p.is_file()
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["coloured", "--counts", "5-3", "--n", "1"], ["5-3", "backwards"]),
        (["coloured", "--counts", "many", "--n", "1"], ["many", "3-10"]),
        (["coloured", "--counts", "3,3", "--n", "1"], ["twice"]),
        (["coloured", "--n", "0"], ["--n 0"]),
        (["coloured", "--n", "-1"], ["--n -1"]),
        (["coloured", "--n", "x"], ["--n", "x"]),
        (["coloured", "--total", "0"], ["--total 0"]),
        (["coloured"], ["--n", "--total"]),
        (["coloured", "--n", "1", "--total", "2"], ["either"]),
        (["coloured", "--n", "1", "--size", "4"], ["size 4", "at least 30"]),
        (["coloured", "--n", "1", "--counts", "200"], ["200 shapes do not fit", "at most"]),
        (["coloured", "--n", "1", "--radius", "9", "5"], ["--radius 9.0 5.0"]),
        (["coloured", "--n", "1", "--contrast", "700"], ["contrast 700"]),
        (["coloured", "--n", "1", "--seed", "-1"], ["seed -1"]),
        (["coloured", "--n", "1", "--split", "a/b"], ["split 'a/b'"]),
        (["coloured", "--n", "1", "--workers", "0"], ["0 workers"]),
        (["coloured", "--n", "1", "--shard-size", "0"], ["0 samples per shard"]),
        (["coloured", "--n", "1", "--dask", "tcp://127.0.0.1:1"], ["no Dask scheduler"]),
        (["coloured", "--n", "1", "--colour", "red"], ["--colour"]),
        (["toy", "--n", "1", "--lines", "0"], ["--lines 0"]),
        (["toy", "--n", "1", "--per-line", "0"], ["--per-line 0"]),
        (["squares"], ["squares"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_wrong_option(run, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    assert_one_line(run("shapes-gen", *arguments, "out.h5"), 2, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(run, tmp_path: Path) -> None:
    (tmp_path / "folder.h5").mkdir()
    for out, word in (
        ("nowhere/out.h5", "no such folder"),
        ("/proc/out.h5", "/proc"),
        ("out.txt", ".h5"),
        ("folder.h5", "is a folder"),
    ):
        assert_one_line(run("shapes-gen", "toy", "--n", "1", out), 2, word)
    assert [p.name for p in tmp_path.rglob("*")] == ["folder.h5"]


@pytest.mark.parametrize("shards", [[], ["--shard-size", 7]], ids=["one file", "shards"])
def test_a_dataset_of_another_recipe_is_kept(run, tmp_path: Path, shards) -> None:
    assert run("shapes-gen", "toy", "--n", 2, *shards, "out.h5").returncode == 0
    before = state(tmp_path)
    for other in (["--seed", 1], ["--split", "train"], ["--lines", 3], ["--per-line", 4]):
        result = run("shapes-gen", "toy", "--n", 2, *other, *shards, "out.h5")
        assert_one_line(result, 2, "another dataset", "--overwrite")
    assert_one_line(run("shapes-gen", "coloured", "--n", 2, "out.h5"), 2, "another dataset")
    assert state(tmp_path) == before
    again = run("shapes-gen", "toy", "--n", 2, "out.h5")
    assert again.returncode == 0
    assert "already complete" in again.stdout
    assert state(tmp_path) == before
    replaced = run("shapes-gen", "toy", "--n", 2, "--seed", 1, "--overwrite", *shards, "out.h5")
    assert replaced.returncode == 0, replaced.stderr
    assert run("ivl-shards", "verify", "out.h5").returncode == 0
    assert len(state(tmp_path)) == len(before), "something of the old one was left"
    assert state(tmp_path) != before


def test_a_file_of_another_kind_is_never_replaced(run, tmp_path: Path) -> None:
    (tmp_path / "out.h5").write_text("my thesis")
    for options in ([], ["--overwrite"]):
        result = run("shapes-gen", "toy", "--n", 1, *options, "out.h5")
        assert_one_line(result, 2, "in the way")
    assert (tmp_path / "out.h5").read_text() == "my thesis"


def test_shards_of_another_dataset_are_kept(run, tmp_path: Path) -> None:
    assert run("shapes-gen", "toy", "--n", 2, "--shard-size", 7, "out.h5").returncode == 0
    (tmp_path / "out.h5").unlink()
    before = state(tmp_path)
    result = run("shapes-gen", "toy", "--n", 2, "--seed", 5, "out.h5")
    assert_one_line(result, 2, "another dataset", "--overwrite")
    assert state(tmp_path) == before


def test_a_second_run_keeps_out_of_the_way(run, tmp_path: Path) -> None:
    def report(samples: int) -> None:
        if samples:  # in the middle of a run
            second = run("shapes-gen", "toy", "--n", 2, "--lines", 1, "out.h5")
            assert_one_line(second, 2, "another run")

    recipe = shapes_gen.ToyRecipe((1,), 2)
    shapes_gen.generate(recipe, tmp_path / "out.h5", workers=1, report=report)
    assert [path.name for path in tmp_path.iterdir()] == ["out.h5"]


@pytest.mark.parametrize(
    ("out", "word"),
    [("sheet.txt", ".png"), ("no/sheet.png", "no such folder"), ("/proc/a.html", "/proc/a.html")],
)
def test_a_preview_that_cannot_be_written(make, run, out: str, word: str) -> None:
    from shapes_gen import ToyRecipe

    make(ToyRecipe((1,), 2))
    assert_one_line(run("ivl-shards", "preview", "data.h5", "--out", out), 2, word)
