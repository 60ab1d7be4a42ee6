"""The ways in which things go wrong that are not bugs of ours."""

import difflib
import errno
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can put right: one line that says what, where, and what to do.

    Command-line tools print it and exit with code 2; nothing has been touched.
    """


class Damage(UserError):
    """A file that is not what it says it is. `ivl-shards verify` exits with code 1 on it."""


class Foreign(Damage):
    """A file of another format. It is never replaced, whatever the user says."""


class Stopped(UserError):
    """Work that ended early through no fault of the input (disk full, worker lost).

    What is finished is kept, and the same command goes on from there; exit code 1.
    """


def printable(text: str) -> str:
    """A text of a file for a terminal, on one line: what would steer the terminal is spelled out.

    >>> printable("red \\x1b[31m, next\\nline")
    'red \\\\x1b[31m, next line'
    """
    flat = " ".join(text.split("\n"))
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in flat)


_LIMITS = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("the disk is full", "free some space"),
    errno.EFBIG: (
        "larger than files may be here",
        "raise the limit (ulimit -f) or choose a smaller --shard-size",
    ),
    errno.EMFILE: (
        "too many open files",
        "raise the limit (ulimit -n) or take fewer --workers",
    ),
    errno.ENFILE: ("too many open files on this machine", "wait for other programs to end"),
    errno.ENOMEM: ("out of memory", "raise the limit (ulimit -v) or take fewer --workers"),
    errno.EAGAIN: ("too many processes or threads", "take fewer --workers"),
}


def limit_reached(error: OSError | MemoryError, where: str = "") -> Stopped | None:
    """What to say of an error that means that something of this machine has run out."""
    number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
    if number not in _LIMITS:
        return None
    what, remedy = _LIMITS[number]
    return Stopped(
        f"{where}{what}: what is finished is kept; {remedy}, then run the same command again to "
        "go on"
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is nearest to a mistyped one; nothing if none is near.

    >>> did_you_mean("toy-shape", ["toy-shapes", "text-blocks"])
    " (did you mean 'toy-shapes'?)"
    >>> did_you_mean("chess", ["toy-shapes", "text-blocks"])
    ''
    """
    by_lower = {each.lower(): each for each in known}
    # Only the beginning is compared, since the time grows with the square of the length.
    near = difflib.get_close_matches(name[:100].lower(), by_lower, n=1)
    return f" (did you mean '{by_lower[near[0]]}'?)" if near else ""
