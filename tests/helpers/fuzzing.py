"""What the fuzzers share: how many cases to try, and a process that watches each of them.

`make test` tries a few cases of each kind; `make fuzz` (IVL_FUZZ=long) tries as many as
docs/SECURITY.md states.
"""

import ctypes
import faulthandler
import os
import pickle
import re
import resource
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LONG = os.environ.get("IVL_FUZZ") == "long"

# What libjpeg says by itself, below OpenCV, of an image that it mends.
_LIBJPEG = re.compile("Corrupt JPEG data|Premature end of JPEG|Invalid SOS|JPEG datastream")

SECONDS = 10.0
"""Of processor time: a busy machine is no fault of the case."""
PATIENCE = 60.0
"""Seconds on the clock after which a case hangs."""
MEGABYTES = 850
"""1 GB, less what Python and its packages take."""


def cases(short: int, long: int) -> range:
    """The seeds of the cases to try."""
    return range(long if LONG else short)


@dataclass
class Outcome:
    """What a case did."""

    code: int | None = None
    """Its exit code; None if it was ended from outside or crashed."""
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    """Of processor time; on the clock, if it was ended from outside."""
    megabytes: float = 0.0
    """By how much its resident memory grew at most."""
    opened: list[str] = field(default_factory=list)
    """Paths that Python opened."""
    imported: list[str] = field(default_factory=list)
    """Modules that were imported while it ran."""

    def check(self, *, codes: tuple[int, ...] = (0, 1, 2), lines: int | None = None) -> None:
        """Raise unless the case ended in time, in bounds, and without a traceback."""
        assert "Traceback" not in self.stderr, self.stderr
        assert self.code is not None, f"hung or crashed after {self.seconds:.1f} s: {self.stderr}"
        assert self.code in codes, f"exit code {self.code}: {self.stderr}"
        assert self.seconds <= SECONDS, f"took {self.seconds:.1f} s of processor time"
        assert self.megabytes <= MEGABYTES, f"took {self.megabytes:.0f} MB"
        if self.code == 2 or lines is not None:
            found = [line for line in self.stderr.splitlines() if not _LIBJPEG.match(line)]
            assert len(found) <= (lines or 1), self.stderr


def watched(function: Callable[[], Any], seconds: float = PATIENCE) -> Outcome:
    """Run a function in a process of its own, which a hang or a crash cannot leave.

    `SystemExit`, as command lines end, gives the exit code. The process is forked, so that a
    case costs milliseconds and not a new Python.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setpgid(0, 0)  # so that a hang ends with all its processes
        _run_child(function, writing)
    os.close(writing)
    begun = time.monotonic()
    data, ended = _read_until(reading, begun + seconds)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    os.close(reading)
    os.waitpid(child, 0)
    outcome: Outcome = pickle.loads(data) if ended and data else Outcome()
    if not ended:
        outcome.seconds = time.monotonic() - begun
    return outcome


def _read_until(fd: int, deadline: float) -> tuple[bytes, bool]:
    """All bytes up to the end, and whether that came in time."""
    pieces = []
    while (left := deadline - time.monotonic()) > 0:
        if select.select([fd], [], [], left)[0]:
            piece = os.read(fd, 1 << 16)
            if not piece:
                return b"".join(pieces), True
            pieces.append(piece)
    return b"".join(pieces), False


def _run_child(function: Callable[[], Any], writing: int) -> None:
    outcome = Outcome()
    pipes = [os.pipe() for _ in range(3)]  # standard output, errors, events
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    child = os.fork()
    if child == 0:
        # By their numbers, so that C libraries and processes of its own are heard, too. Pipes, not
        # files: a case may be under a limit on the size of files.
        for number, (_, end) in enumerate(pipes[:2], 1):
            os.dup2(end, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        faulthandler.disable()
        sys.addaudithook(_note_events(pipes[2][1]))
        code = 70
        try:
            code = _exit_code(function)
        finally:
            os._exit(code)
    for _, end in pipes:
        os.close(end)
    outcome.stdout, outcome.stderr, events = _read_all([end for end, _ in pipes])
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    outcome.code = code if code >= 0 else None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    outcome.megabytes = used.ru_maxrss / 1024 - before
    outcome.seconds = used.ru_utime + used.ru_stime
    for line in events.splitlines():
        kind, _, value = line.partition(" ")
        (outcome.opened if kind == "open" else outcome.imported).append(value)
    data = pickle.dumps(outcome)
    while data:
        data = data[os.write(writing, data) :]
    os._exit(0)


def _read_all(ends: list[int]) -> list[str]:
    """What comes out of pipes, side by side, until they are closed."""
    pieces: dict[int, list[bytes]] = {end: [] for end in ends}
    left = set(ends)
    while left:
        for end in select.select(list(left), [], [])[0]:
            piece = os.read(end, 1 << 16)
            pieces[end].append(piece)
            if not piece:
                left.discard(end)
    return [b"".join(pieces[end]).decode("utf-8", "replace") for end in ends]


def _exit_code(function: Callable[[], Any]) -> int:
    try:
        function()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001 (whatever it is, the parent is to see it)
        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _note_events(fd: int) -> Callable[[str, tuple[Any, ...]], None]:
    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            os.write(fd, f"open {os.fsdecode(arguments[0])}\n".encode("utf-8", "replace"))
        elif event == "import":
            os.write(fd, f"import {arguments[0]}\n".encode())

    return note


@contextmanager
def untouched(path: Path) -> Iterator[None]:
    """Raise if anything opens a file, by Python or by a C library below it (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "inotify_init1"):
        yield  # Python's own opening is noted in `Outcome.opened` everywhere
        return
    fd = libc.inotify_init1(os.O_NONBLOCK)
    in_open = 0x20
    assert libc.inotify_add_watch(fd, os.fsencode(path), in_open) >= 0, os.strerror(
        ctypes.get_errno()
    )
    try:
        yield
        try:
            data = os.read(fd, 4096)
        except BlockingIOError:
            return
        _, mask = struct.unpack_from("iI", data)
        assert not mask & in_open, f"{path} was opened"
    finally:
        os.close(fd)
