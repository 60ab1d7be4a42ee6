"""Guard: a command in a process of its own, which a crash or a hang of HDF5 cannot leave.

HDF5 is a large C library. Most damaged files make it fail in order; a few, made on purpose or by
bad luck, make it crash or run for ever, and nothing in the same process could say so.
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
"""How long HDF5 may take to find out what is in one file."""
MEGABYTES = 500
"""How much memory it may take for that."""

_CRASHES = {
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL")
    if hasattr(signal, name)
}
_CRASHED = "HDF5 crashed on this file: it is damaged, or was made to do so: do not use it"
_HUNG = "HDF5 does not come to an end with this file: it is damaged, or was made so: do not use it"

# Where a child process reports that it hangs; -1 where nobody watches.
_reporting = -1


@contextmanager
def bounded() -> Iterator[None]:
    """Within a guarded process, bound the time and the memory that the body may take."""
    if _reporting < 0:
        yield
        return
    # Python cannot interrupt a C library; this timer runs beside it.
    faulthandler.dump_traceback_later(SECONDS, exit=True, file=_reporting)
    try:
        with _bounded_memory(MEGABYTES << 20):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _bounded_memory(more: int) -> Iterator[None]:
    """Let allocations fail beyond so many bytes more than there are now, where Linux counts."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])
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
    """Run a command line and end with its exit code; a crash or a hang is one line and code 2.

    Where processes cannot be forked (Windows), it runs unguarded.
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
    """Wait for the child; Ctrl-C and the like are its business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    return os.waitpid(child, 0)[1]


def _end(name: str, status: int, hung: bytes) -> NoReturn:
    code = os.waitstatus_to_exitcode(status)
    if hung or -code in _CRASHES:
        click.echo(f"{name}: {_HUNG if hung else _CRASHED}", err=True)
        sys.exit(2)
    if code < 0:  # ended from outside: end in the same way
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
