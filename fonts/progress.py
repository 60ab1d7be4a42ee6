"""Progress: a bar on a terminal, a line now and then in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

# Seconds between two lines in a log.
_PAUSE = 10.0


@contextmanager
def show_progress(total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of faces that have been added."""
    if quiet:
        yield lambda faces: None
    elif sys.stderr.isatty():
        with tqdm(total=total, unit=" faces", smoothing=0.1, dynamic_ncols=True) as bar:
            yield bar.update
    else:
        yield _Log(total).add


class _Log:
    def __init__(self, total: int) -> None:
        self.total, self.done, self.last = total, 0, -_PAUSE

    def add(self, faces: int) -> None:
        self.done += faces
        if self.done < self.total and time.monotonic() - self.last < _PAUSE:
            return
        self.last = time.monotonic()
        print(f"{self.done:,} of {self.total:,} faces", file=sys.stderr, flush=True)
