"""Guard: run a command in a child process, so that a crash or hang of HDF5 ends in one line.

HDF5 is a large C library. Most damaged files make it report an error; a few, crafted or damaged by
chance, make it crash or run for ever, and code in the same process could not report that.
"""

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

SECONDS = 8.0
"""Time limit for HDF5 to open one file and list its content."""
MEGABYTES = 500
"""Memory limit for the same."""

_CRASHES = {
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL")
    if hasattr(signal, name)
}
_CRASHED = "HDF5 crashed on this file: it is damaged or malicious: do not use it"
_HUNG = "HDF5 hangs on this file: it is damaged or malicious: do not use it"

# File descriptor on which a child process reports a hang; -1 outside a guarded process.
_reporting = -1


@contextmanager
def bounded() -> Iterator[None]:
    """Limit the time and the memory of the body, inside a guarded process."""
    if _reporting < 0:
        yield
        return
    # Python cannot interrupt a C library; this timer runs in a thread of its own.
    faulthandler.dump_traceback_later(SECONDS, exit=True, file=_reporting)
    try:
        with _bounded_memory(MEGABYTES << 20):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _bounded_memory(more: int) -> Iterator[None]:
    """Make allocations fail beyond `more` bytes on top of those in use, on Linux."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
    except (ImportError, OSError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = pages * resource.getpagesize() + more
    soft = wanted if before[0] == resource.RLIM_INFINITY else min(before[0], wanted)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def run_guarded(main: Callable[[], None], name: str) -> None:
    """Run a command line and exit with its code; a crash or a hang gives one line and code 2.

    On systems without fork (Windows) it runs unguarded.
    """
    if not hasattr(os, "fork"):
        main()
        return
    reports, reporting = os.pipe()
    alive, holding = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reports)
        os.close(holding)
        _run_child(main, reporting, alive)
    os.close(reporting)
    os.close(alive)
    _end(name, _wait(child), os.read(reports, 1))


def _run_child(main: Callable[[], None], reporting: int, alive: int) -> NoReturn:
    global _reporting
    _reporting = reporting

    def end_with_parent() -> None:
        os.read(alive, 1)  # ends when the parent does, even if it is killed
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    main()
    sys.exit(0)


def _wait(child: int) -> int:
    """Wait for the child, which handles Ctrl-C and other signals itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    return os.waitpid(child, 0)[1]


def _end(name: str, status: int, hung: bytes) -> NoReturn:
    code = os.waitstatus_to_exitcode(status)
    if hung or -code in _CRASHES:
        click.echo(f"{name}: {_HUNG if hung else _CRASHED}", err=True)
        sys.exit(2)
    if code < 0:  # killed by a signal: end in the same way
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
