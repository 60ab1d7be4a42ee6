"""Processes: how many to start, and how they begin."""

import logging
import multiprocessing
import os
import signal
import sys
import threading

MOST_WORKERS = 61 if sys.platform == "win32" else 10_000
"""The most processes of a pool: Windows cannot wait for more at once."""


def available_cores() -> int:
    """Return the number of cores that this process may use, for a worker on each."""
    if hasattr(os, "sched_getaffinity"):  # not on Windows and macOS
        return len(os.sched_getaffinity(0))
    return min(os.cpu_count() or 1, MOST_WORKERS)


def start_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent does, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.WARNING)  # the parent has logged it already
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
