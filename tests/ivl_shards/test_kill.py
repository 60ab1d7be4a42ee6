"""Killed at any moment and run again, a run ends in the same content."""

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from commands import hear_ctrl_c, tool
from fuzzing import cases
from ivl_shards import generate, open_dataset
from ivl_shards.errors import Stopped, UserError
from ivl_shards.generation.layout import shard_folder
from ivl_shards.inspect.verify import problems
from ivl_shards.interrupt import interrupt_held
from shapes_gen import COLOURED, ColouredRecipe

pytestmark = pytest.mark.slow

RECIPE = ColouredRecipe(counts=(3, 4, 5), total=6000, split="train")
COMMAND = ["shapes-gen", "coloured", "--counts", "3-5", "--total", "6000", "--split", "train"]


def expected(tmp_path: Path) -> str:
    generate(COLOURED, RECIPE, tmp_path / "expected.h5", workers=1)
    return str(open_dataset(tmp_path / "expected.h5").attributes["content_sha256"])


def start(out: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [tool(COMMAND[0]), *COMMAND[1:], *options, str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def nothing_half_written(out: Path) -> None:
    """Whatever can be opened under a final name is whole."""
    for path in [out, *shard_folder(out).glob("*.h5")]:
        if path.exists():
            try:
                open_dataset(path)
            except UserError as error:
                assert "missing" not in str(error), error
                raise
            assert list(problems(path)) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("options", [(), ("--shard-size", "500")], ids=["one file", "shards"])
def test_killed_at_random_moments(tmp_path: Path, options: tuple[str, ...]) -> None:
    content = expected(tmp_path)
    out = tmp_path / "out.h5"
    cut_short = 0
    for case in cases(4, 10):  # for each layout
        rng = np.random.default_rng(case)
        process = start(out, "--workers", "2", *options)
        time.sleep(0.5 + 1.2 * rng.random())  # start-up takes half a second
        process.send_signal(signal.SIGKILL)
        cut_short += process.wait() == -signal.SIGKILL
        nothing_half_written(out)
        if out.exists():
            out.unlink()
            for path in shard_folder(out).glob("*.h5"):
                path.unlink()
    assert cut_short >= 2
    assert start(out, *options).wait() == 0
    assert open_dataset(out).attributes["content_sha256"] == content
    assert list(problems(out)) == []
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"expected.h5", "out.h5", *([shard_folder(out).name] if options else [])}
    assert not list(tmp_path.rglob("*.tmp"))


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def test_workers_do_not_outlive_a_killed_run(tmp_path: Path) -> None:
    process = start(tmp_path / "out.h5", "--workers", "2", "--shard-size", "1000")
    deadline = time.monotonic() + 30
    while len(workers := children(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)  # two workers and multiprocessing's resource tracker
    process.kill()
    process.wait()
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in workers)


class Broken(ProcessPoolExecutor):
    """A pool whose workers have died before it was given all its jobs."""

    def submit(self, *arguments: object, **options: object) -> NoReturn:
        raise BrokenProcessPool


def test_a_worker_killed_before_all_jobs_are_given_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ivl_shards.generation.engine.ProcessPoolExecutor", Broken)
    with pytest.raises(Stopped, match="worker process died"):
        generate(COLOURED, RECIPE, tmp_path / "out.h5", workers=2)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_a_killed_worker_ends_the_run_with_one_line(tmp_path: Path) -> None:
    command = [tool(COMMAND[0]), *COMMAND[1:], "--workers", "2", "--quiet", "out.h5"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while len(workers := children(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(workers[-1], signal.SIGKILL)
    message = process.communicate()[1]
    assert process.returncode == 1
    assert message.count("\n") == 1
    assert "worker process died" in message
    content = expected(tmp_path)
    assert start(tmp_path / "out.h5").wait() == 0
    assert open_dataset(tmp_path / "out.h5").attributes["content_sha256"] == content


def test_ctrl_c_ends_cleanly_and_keeps_what_is_done(tmp_path: Path) -> None:
    command = [tool(COMMAND[0]), *COMMAND[1:], "--workers", "2", "--shard-size", "200", "out.h5"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )
    folder = tmp_path / "out.h5.shards"
    deadline = time.monotonic() + 30
    while len(list(folder.glob("*.h5"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    message = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert "run the same command again to continue" in message
    assert "Traceback" not in message
    done = len(list(folder.glob("*.h5")))
    assert done >= 3
    assert not list(folder.glob("*.tmp"))
    made = generate(COLOURED, RECIPE, tmp_path / "out.h5", shard_size=200)
    assert made.rendered <= made.samples - 200 * done


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """Presses it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_waits_for_a_good_moment(ctrl_c: Callable[[], None]) -> None:
    with interrupt_held() as interrupt:
        interrupt.check()
        ctrl_c()  # raises nothing, whatever is being done here
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()
        with pytest.raises(KeyboardInterrupt):  # the second does not wait
            ctrl_c()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_in_a_callback_is_neither_lost_nor_a_traceback(
    tmp_path: Path, ctrl_c: Callable[[], None], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    presses: list[weakref.ref[Gone]] = []

    def report(samples: int) -> None:
        # Python prints what a callback of a weak reference raises, and goes on.
        if samples and not presses:
            presses.append(weakref.ref(Gone(), lambda _: ctrl_c()))

    with pytest.raises(KeyboardInterrupt):
        generate(
            COLOURED, RECIPE, tmp_path / "out.h5", workers=workers, shard_size=200, report=report
        )
    assert presses and not ignored
    done = len(list((tmp_path / "out.h5.shards").glob("*.h5")))
    assert 1 <= done < RECIPE.total // 200


class Gone:
    """Something that is taken apart at once."""
