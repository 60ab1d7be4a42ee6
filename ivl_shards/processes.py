"""Processes: how many to start, and how they begin."""

import logging
import multiprocessing
import os
import signal
import threading


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
