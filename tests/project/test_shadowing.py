"""Folders of a user that are named like our packages do not hide them from our commands."""

from pathlib import Path

import pytest

from commands import tool

OURS = ("benchmark", "fonts", "ivl_shards", "shapes_gen", "textblocks_gen")


@pytest.fixture
def shadows(tmp_path: Path) -> Path:
    """A folder with folders of the same names, which say so when they are imported."""
    for name in OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('imported {name}')")
    return tmp_path


def test_generators_and_their_workers(shadows: Path, run) -> None:
    """Workers are started anew and import everything again."""
    options = ("--workers", 2, "--shard-size", 4, "--quiet")
    for command in (("shapes-gen", "toy"), ("textblocks-gen",)):
        out = f"{command[0]}.h5"
        done = run(*command, "--lines", "1-2", "--n", 4, *options, out, PYTHONPATH="")
        assert done.returncode == 0, done.stderr
        done = run("ivl-shards", "verify", out, PYTHONPATH="")
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_torchrun(shadows: Path, run) -> None:
    for split in ("train", "test"):
        more = ("--split", split, f"{split}.h5")
        made = run("shapes-gen", "toy", "--lines", 2, "--total", 8, *more, PYTHONPATH="")
        assert made.returncode == 0, made.stderr
    start = ("--nproc-per-node", 2, "--standalone", "--no-python", tool("ivl-bench"))
    data = ("--train", "train.h5", "--test", "test.h5", "--threads", 1)
    tiny = ("--set", "steps=2", "--set", "batch_size=2", "--out", "runs")
    done = run("torchrun", *start, "run", "--model", "inductive", *data, *tiny, PYTHONPATH="")
    assert done.returncode == 0, done.stderr
    assert list((shadows / "runs").rglob("result.json"))
