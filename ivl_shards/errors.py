"""Errors that are not bugs of the toolkit: wrong input, damaged files, exhausted resources."""

import difflib
import errno
from collections.abc import Iterable


class UserError(Exception):
    """An error that the user can fix: one line that says what is wrong, where, and what to do.

    Command lines print it and exit with code 2. Nothing has been written.
    """


class Damage(UserError):
    """A damaged file, or one whose content contradicts itself.

    `ivl-shards verify` exits with code 1 for it, other commands with code 2.
    """


class Foreign(Damage):
    """A file of another format. It is never replaced, not even with `--overwrite`."""


class Stopped(UserError):
    """Work that ended early for a reason other than the input: disk full, worker lost.

    Finished parts are kept, and the same command continues from there. Exit code 1.
    """


def printable(text: str) -> str:
    """Return a text from a file on one line, with control characters escaped for the terminal.

    >>> printable("red \\x1b[31m, next\\nline")
    'red \\\\x1b[31m, next line'
    """
    flat = " ".join(text.split("\n"))
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in flat)


_LIMITS = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("the disk is full", "free some space"),
    errno.EFBIG: (
        "larger than the limit on file sizes",
        "raise the limit (ulimit -f) or choose a smaller --shard-size",
    ),
    errno.EMFILE: (
        "too many open files",
        "raise the limit (ulimit -n) or use fewer --workers",
    ),
    errno.ENFILE: ("too many open files on this machine", "wait for other programs to end"),
    errno.ENOMEM: ("out of memory", "raise the limit (ulimit -v) or use fewer --workers"),
    errno.EAGAIN: ("too many processes or threads", "use fewer --workers"),
}


def limit_reached(
    error: OSError | MemoryError, where: str = "", kept: bool = True
) -> Stopped | None:
    """Return the error to raise if a resource of this machine ran out; None for other errors.

    `kept` is whether finished parts stay for the next run.
    """
    number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
    if number not in _LIMITS:
        return None
    what, remedy = _LIMITS[number]
    left = "finished parts are kept" if kept else "nothing was written"
    again = "then run the same command again" + (" to continue" if kept else "")
    return Stopped(f"{where}{what}: {left}; {remedy}, {again}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name closest to a mistyped one; empty if none is close.

    >>> did_you_mean("toy-shape", ["toy-shapes", "text-blocks"])
    " (did you mean 'toy-shapes'?)"
    >>> did_you_mean("chess", ["toy-shapes", "text-blocks"])
    ''
    """
    by_lower = {each.lower(): each for each in known}
    # Only the beginning is compared, since the time grows with the square of the length.
    near = difflib.get_close_matches(name[:100].lower(), by_lower, n=1)
    return f" (did you mean '{by_lower[near[0]]}'?)" if near else ""
