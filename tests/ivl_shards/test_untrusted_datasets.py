"""A dataset of somebody else: it reads no other files, runs nothing, and says what is wrong."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import shapes_gen
from commands import assert_one_line, complaints_of, tool
from crafted import KINDS, craft, reseal
from fuzzing import untouched
from given import make_given
from ivl_shards import Damage, UserError, open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the user's that is none of a dataset's business."""
    (tmp_path / "secret").mkdir()
    path = tmp_path / "secret" / "secret.h5"
    with h5py.File(path, "w") as file:
        file["image"] = np.frombuffer(b"password".ljust(300_000), np.uint8).reshape(-1, 100)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        "image in external storage",
        "coloured image external-link",
        "coloured image external-link-up",
        "coloured image virtual",
        "coloured image virtual-up",
        "coloured image virtual-unlimited",
        "index image virtual",
        "index image virtual-up",
        "shards up",
    ],
)
def test_a_dataset_reads_no_other_files(run, tmp_path: Path, secret: Path, kind: str) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "data.h5"
    if KINDS[kind].base == "index":
        shapes_gen.generate(ColouredRecipe((1, 2), 12), path, workers=1, shard_size=6)
    else:
        make_given("coloured", path.parent)
    craft(path, KINDS[kind], secret)
    with untouched(secret):
        with pytest.raises(Damage):
            open_dataset(path)[0]
        for command in (
            ("info",),
            ("card",),
            ("preview", "--out", "page.html"),
            ("export", "--format", "files", "--quiet"),
            ("take", "--n", "1", "--quiet", "--out", "taken.h5"),
            ("export", "--format", "parquet", "--quiet"),
        ):
            arguments = [*command, path, *(["out"] if command[0] == "export" else [])]
            assert_one_line(run("ivl-shards", *arguments), 2, str(path))
        assert_one_line(run("ivl-shards", "verify", path), 1, str(path))


def test_a_file_may_say_more_than_this_version_knows(run, tmp_path: Path, secret: Path) -> None:
    make_given("coloured", tmp_path)
    path = tmp_path / "data.h5"
    for kind in (
        "newer origins",
        "newer responsible use",
        "newer attribute",
        "newer versions",
    ):
        craft(path, KINDS[kind], secret)
    for command in ("info", "verify", "card"):
        result = run("ivl-shards", command, path)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("value", [-1, 7])
def test_a_count_beyond_its_room(tmp_path: Path, run, value: int) -> None:
    make_given("coloured", tmp_path)
    path = tmp_path / "data.h5"
    with h5py.File(path, "r+") as file:
        file["object_count"][2] = value
    reseal(path)
    with pytest.raises(Damage, match=f"sample 2: object_count is {value}"):
        open_dataset(path)[2]
    assert f"sample 2: object_count is {value}" in run("ivl-shards", "verify", path).stderr


def test_texts_do_not_leave_their_place_on_a_page(run, tmp_path: Path, browser) -> None:
    hostile = "<!--<script></script><img src=x onerror=alert(1)> & `|` [a](javascript:1)"
    make_given("photos", tmp_path)
    path = tmp_path / "data.h5"
    with h5py.File(path, "r+") as file:
        file.attrs["task"] = file.attrs["title"] = file.attrs["description"] = hostile
        file["camera"].attrs["meaning"] = hostile
        file["text"][:] = b"<!--<script>"
    reseal(path)
    assert run("ivl-shards", "card", path).returncode == 0
    card = (tmp_path / "data.card.md").read_text("utf-8")
    # The head is YAML, and "field: value" of JSON needs no escapes.
    assert "<" not in card.split("---", 2)[2]
    assert run("ivl-shards", "preview", path, "--out", "page.html").returncode == 0
    page = browser.new_page()
    complaints = complaints_of(page)
    page.goto(f"file://{tmp_path}/page.html")
    page.wait_for_selector("#view[data-shown]")
    assert hostile in page.inner_text("h1")
    assert "<!--<script>" in page.inner_text("#says")
    assert complaints == []


def test_a_terminal_is_not_steered_by_a_file(run, tmp_path: Path) -> None:
    make_given("coloured", tmp_path)
    with h5py.File(tmp_path / "data.h5", "r+") as file:
        file.attrs["split"] = "\x1b]0;mine\x07test"
    reseal(tmp_path / "data.h5")
    result = run("ivl-shards", "info", tmp_path / "data.h5")
    assert "\x1b" not in result.stdout
    assert "mine" in result.stdout


def test_a_killed_export_leaves_nothing_for_ever(run, tmp_path: Path) -> None:
    shapes_gen.generate(ToyRecipe((1, 2), total=4000), tmp_path / "data.h5", workers=1)
    foreign = tmp_path / "mine.tmp"
    foreign.mkdir()
    arguments = ["export", "--quiet", "--format", "files", "data.h5", "out"]
    running = subprocess.Popen([tool("ivl-shards"), *arguments], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("out.*.tmp/*.png")) and time.monotonic() < deadline:
        time.sleep(0.01)
    running.kill()
    running.wait()
    assert len(list(tmp_path.glob("out.*.tmp"))) == 1
    time.sleep(0.5)  # its process notices that its parent is gone
    assert run("ivl-shards", *arguments).returncode == 0
    assert not list(tmp_path.glob("out.*.tmp"))
    assert foreign.is_dir()


def limited(name: str, *arguments: object, limit: int, most: int, cwd: Path):
    """Run a command under a limit of the system, as `ulimit` sets it."""
    return subprocess.run(
        [tool(name), *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(limit, (most, most)),
    )


def test_limits_of_the_system_end_in_one_line(run, tmp_path: Path) -> None:
    make_given("toy", tmp_path)
    for command in (
        ("card", "--quiet", "data.h5"),
        ("preview", "data.h5", "--out", "sheet.png"),
        ("preview", "data.h5", "--out", "page.html"),
        ("export", "--quiet", "--format", "files", "data.h5", "out"),
    ):
        result = limited(
            "ivl-shards", *command, limit=resource.RLIMIT_FSIZE, most=500, cwd=tmp_path
        )
        assert_one_line(result, 1, "larger than the limit on file sizes")
    shapes_gen.generate(ColouredRecipe((1, 2), 60), tmp_path / "many.h5", workers=1, shard_size=1)
    result = limited(
        "ivl-shards", "verify", "many.h5", limit=resource.RLIMIT_NOFILE, most=16, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    none = limited(
        "ivl-shards", "verify", "many.h5", limit=resource.RLIMIT_NOFILE, most=7, cwd=tmp_path
    )
    assert none.returncode in (1, 2)
    assert none.stderr.count("\n") == 1
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"data.h5", "many.h5", "many.h5.shards"}


def test_ctrl_c_and_exit_codes_pass_through_the_guard(tmp_path: Path) -> None:
    shapes_gen.generate(ToyRecipe((1, 2), total=4000), tmp_path / "data.h5", workers=1)
    running = subprocess.Popen(
        [tool("ivl-shards"), "export", "--quiet", "--format", "files", "data.h5", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not list(tmp_path.glob("out.*.tmp/*.png")):
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.strip().startswith("ivl-shards: stopped")
    assert [path.name for path in tmp_path.iterdir()] == ["data.h5"]


def test_a_shard_folder_of_another_dataset_is_not_opened(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        shapes_gen.generate(
            ColouredRecipe((1, 2), 12, seed=seed), tmp_path / f"{name}.h5", workers=1, shard_size=6
        )
    with h5py.File(tmp_path / "a.h5", "r") as file:
        listed = json.loads(file.attrs["shards"])
    other = sorted((tmp_path / "b.h5.shards").glob("*.h5"))[0]
    shutil.copy(other, tmp_path / listed[0]["file"])
    with pytest.raises(UserError, match="belongs to another dataset"):
        open_dataset(tmp_path / "a.h5")[0]
