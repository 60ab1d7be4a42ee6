"""The fuzzers' own tools notice what they are there to notice."""

import os
import signal
import time
from pathlib import Path

import h5py
import pytest

from fuzzing import untouched, watched


def test_an_exit_code_and_what_was_printed() -> None:
    def end() -> None:
        print("said")
        raise SystemExit(2)

    outcome = watched(end)
    assert (outcome.code, outcome.stdout) == (2, "said\n")
    outcome.check()


def test_a_traceback_a_hang_and_a_crash() -> None:
    def crash() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    assert "ZeroDivisionError" in watched(lambda: 1 / 0).stderr
    for bad in (watched(lambda: time.sleep(60), 0.2), watched(crash)):
        with pytest.raises(AssertionError, match="hung or crashed"):
            bad.check()


def test_memory_files_and_modules(tmp_path: Path) -> None:
    (tmp_path / "read").write_text("")
    (tmp_path / "imported_by_a_fuzzer.py").write_text("")

    def misbehave() -> None:
        import sys

        bytearray(b"x" * (300 << 20))
        (tmp_path / "read").read_text()
        sys.path.insert(0, str(tmp_path))
        __import__("imported_by_a_fuzzer")

    outcome = watched(misbehave)
    assert outcome.megabytes > 300
    assert str(tmp_path / "read") in outcome.opened
    assert "imported_by_a_fuzzer" in outcome.imported


def test_a_file_that_a_library_opens(tmp_path: Path) -> None:
    """HDF5 opens files below Python, where no audit hook sees it."""
    with h5py.File(tmp_path / "secret.h5", "w"):
        pass
    with pytest.raises(AssertionError, match="was opened"), untouched(tmp_path / "secret.h5"):
        h5py.File(tmp_path / "secret.h5").close()
    with untouched(tmp_path / "secret.h5"):
        (tmp_path / "other").write_text("")
