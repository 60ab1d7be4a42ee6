"""Interrupt: Ctrl-C that takes effect between two units of work."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Interrupt:
    """A pending Ctrl-C, if any."""

    asked: bool = False

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if Ctrl-C was pressed; call it between two units of work."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def interrupt_held() -> Iterator[Interrupt]:
    """Defer the first Ctrl-C until `Interrupt.check` is called; the second ends at once.

    An exception raised by a signal can occur anywhere: in a callback or a destructor it is lost,
    and Python prints a traceback.
    """
    held = Interrupt()

    def note(number: int, frame: Any) -> None:
        if held.asked:
            raise KeyboardInterrupt
        held.asked = True

    # Only the main thread may set a handler. A process that ignores Ctrl-C (as in the background
    # of a shell) continues to, and a handler not set by Python (None) could not be restored.
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        yield held
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)
