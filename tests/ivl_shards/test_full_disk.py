"""A full disk: one line, finished shards kept, and a later run goes on."""

import shutil
import subprocess
from pathlib import Path

import pytest

from commands import tool

SHARDS = 30 * 12  # samples; each shard of 30 takes about 100 kB
COMMAND = f"coloured --counts 5 --total {SHARDS} --shard-size 30 --workers {{workers}} disk/out.h5"


def on_small_disk(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script beside a disk of 500 kB, which is gone afterwards."""
    (folder / "disk").mkdir(exist_ok=True)
    mounted = f"mount -t tmpfs -o size=500k none disk && {script}"
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def small_disk(tmp_path: Path):
    if not shutil.which("unshare") or on_small_disk(tmp_path, "true").returncode != 0:
        pytest.skip("needs the right to mount a tmpfs in a namespace of its own")
    return lambda script: on_small_disk(tmp_path, script)


@pytest.mark.parametrize("workers", [1, 2])
def test_it_says_so_keeps_what_is_done_and_goes_on(small_disk, workers: int) -> None:
    make = f"{tool('shapes-gen')} {COMMAND.format(workers=workers)}"
    ran = small_disk(
        f"{make} --quiet --force; echo code $?; ls disk/out.h5.shards; ls disk;"
        f"mount -o remount,size=8m disk; {make}; echo code $?;"
        f"{tool('ivl-shards')} verify disk/out.h5; echo code $?"
    )
    lines = ran.stderr.splitlines()
    assert "disk is full" in lines[0]
    assert "out.h5.shards/out-" in lines[0]
    codes = [line for line in ran.stdout.splitlines() if line.startswith("code")]
    assert codes == ["code 1", "code 0", "code 0"], ran.stdout + ran.stderr
    kept = [line for line in ran.stdout.splitlines() if line.startswith("out-")]
    assert 2 <= len(kept) < 12
    assert all(name.endswith(".h5") for name in kept), "something half-written was left"
    assert any("existed already" in line for line in lines[1:]), ran.stderr
    assert not any("Traceback" in line for line in lines)


def test_a_run_that_will_not_fit_stops_after_its_first_shards(small_disk) -> None:
    make = f"{tool('shapes-gen')} {COMMAND.format(workers=1)} --quiet"
    ran = small_disk(
        f"{make}; echo code $?; ls disk/out.h5.shards;"
        f"mount -o remount,size=8m disk; {make}; echo code $?"
    )
    assert ran.stderr.count("\n") == 1
    assert "330 samples to go" in ran.stderr and "--force" in ran.stderr
    codes = [line for line in ran.stdout.splitlines() if line.startswith("code")]
    assert codes == ["code 2", "code 0"], ran.stdout + ran.stderr
    assert any(line.endswith(".h5") for line in ran.stdout.splitlines()), "finished work is kept"


def test_one_file_too(small_disk) -> None:
    make = f"{tool('shapes-gen')} coloured --counts 10 --total 900 --workers 1 --quiet disk/out.h5"
    ran = small_disk(
        f"{make}; echo code $?; ls -R disk; mount -o remount,size=20m disk; {make}; echo code $?;"
        f"{tool('ivl-shards')} verify disk/out.h5; echo code $?"
    )
    assert ran.stderr.count("\n") == 1
    assert "disk is full" in ran.stderr
    codes = [line for line in ran.stdout.splitlines() if line.startswith("code")]
    assert codes == ["code 1", "code 0", "code 0"], ran.stdout + ran.stderr
    assert ".tmp" not in ran.stdout


@pytest.mark.parametrize("format_", ["parquet", "files"])
def test_an_export_leaves_nothing(small_disk, format_: str) -> None:
    make = f"{tool('shapes-gen')} coloured --counts 5 --total 900 --workers 1 --quiet data.h5"
    export = f"{tool('ivl-shards')} export data.h5 --format {format_} --quiet disk/out"
    ran = small_disk(f"{make}; {export}; echo code $?; ls -A disk")
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert "disk is full" in ran.stderr
    assert "nothing was written" in ran.stderr
    assert ran.stdout == "code 1\n"
