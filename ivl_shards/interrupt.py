"""Interrupt: Ctrl-C that waits until the work at hand is whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Interrupt:
    """Whether the user wants to stop."""

    asked: bool = False

    def check(self) -> None:
        """At a good moment: end, if the user wants to."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def interrupt_held() -> Iterator[Interrupt]:
    """Within, the first Ctrl-C is only noted, for whoever works to end at a good moment; the
    second ends at once.

    An exception that comes from a signal may come anywhere: in a callback or while something is
    taken apart it is lost, and Python prints a traceback about it.
    """
    held = Interrupt()

    def note(number: int, frame: Any) -> None:
        if held.asked:
            raise KeyboardInterrupt
        held.asked = True

    # Only the main thread may say what a signal does, what a shell has told to ignore it (as in
    # the background) goes on doing so, and what is not Python's (None) could not be put back.
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        yield held
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)
