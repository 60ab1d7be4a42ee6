"""Progress: a bar on a terminal, plain lines in a log, nothing with `--quiet`."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tqdm import tqdm

# Seconds between two lines in a log.
_PAUSE = 10.0


class Report(Protocol):
    """Function to call with the number of samples added since the last call, and a short note."""

    def __call__(self, samples: int, note: str = "") -> None: ...


def no_report(samples: int, note: str = "") -> None:
    """Ignore the report."""


@contextmanager
def show_progress(total: int, quiet: bool, unit: str = "samples") -> Iterator[Report]:
    """Yield a function to call with the number of samples, or other units, added each time.

    The first call reports what existed before; it does not count towards the speed.
    """
    if quiet:
        yield no_report
    elif sys.stderr.isatty():
        bar = _Bar(total, unit)
        try:
            yield bar.add
        finally:
            bar.close()
    else:
        yield _Log(total, unit).add


class _Bar:
    """A progress bar that appears with the first report."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit = total, unit
        self.bar: tqdm[None] | None = None

    def add(self, samples: int, note: str = "") -> None:
        if self.bar is None:
            self.bar = tqdm(
                total=self.total, initial=samples, unit=f" {self.unit}", dynamic_ncols=True
            )
        else:
            self.bar.set_postfix_str(note, refresh=False)
            self.bar.update(samples)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class _Log:
    """Progress as a line of text every few seconds."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit = total, unit
        self.done = self.before = 0
        self.begun = self.last = time.monotonic()
        self.first = True

    def add(self, samples: int, note: str = "") -> None:
        self.done += samples
        if self.first:
            self.before, self.first = self.done, False
            if self.done:
                print(
                    f"{self.done:,} of {self.total:,} {self.unit} existed already",
                    file=sys.stderr,
                )
            return
        now = time.monotonic()
        if self.done < self.total and now - self.last < _PAUSE:
            return
        self.last = now
        speed = (self.done - self.before) / max(now - self.begun, 1e-9)
        left = round((self.total - self.done) / max(speed, 1e-9))
        print(
            f"{self.done:,} of {self.total:,} {self.unit}, {speed:,.0f} {self.unit}/s, "
            f"{left // 3600:02d}:{left // 60 % 60:02d}:{left % 60:02d} left{note and ', '}{note}",
            file=sys.stderr,
            flush=True,
        )
