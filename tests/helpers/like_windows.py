"""Make this interpreter behave like one on Windows, as far as our code could notice.

What only POSIX has is gone, folders cannot be opened, and open files can be neither removed nor
renamed. Third-party packages chose their code for this system when they were imported, so they are
imported first.
"""

import importlib
import os
import pathlib
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any

MODULES = ("fcntl", "grp", "posix", "pwd", "resource", "syslog", "termios", "tty", "pty")
FUNCTIONS = (
    *("chown", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg"),
    *("getpgid", "getuid", "killpg", "mkfifo", "mknod", "posix_fadvise", "posix_fallocate"),
    *("pread", "preadv", "pwrite", "pwritev", "readv", "sched_getaffinity", "sched_setaffinity"),
    *("sendfile", "setsid", "sync", "sysconf", "uname", "wait3", "wait4", "writev"),
)
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2", "alarm")


def pretend(third_parties: tuple[str, ...]) -> None:
    """Import third-party packages, then take away what Windows does not have."""
    for name in third_parties:
        importlib.import_module(name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in ((os, FUNCTIONS), (signal, SIGNALS)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # as on Windows
    _open_no_folders()
    for name in ("remove", "rename", "replace", "unlink"):
        setattr(os, name, _refuse_if_open(getattr(os, name)))


def _open_no_folders() -> None:
    real = os.open

    def opened(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if os.path.isdir(path):  # noqa: PTH112
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *more, **options)

    os.open = opened


def _refuse_if_open(real: Callable[..., None]) -> Callable[..., None]:
    def guarded(path: Any, *more: Any, **options: Any) -> None:
        if _is_open(os.fspath(path)):
            raise PermissionError(13, "The process cannot access the file", str(path))
        real(path, *more, **options)

    return guarded


def _is_open(path: str) -> bool:
    """Return whether this process has a file, or a file in a folder, open."""
    wanted = os.path.realpath(path)
    found = set()
    for descriptor in pathlib.Path("/proc/self/fd").iterdir():
        try:
            found.add(os.readlink(descriptor))  # noqa: PTH115
        except OSError:  # closed meanwhile
            continue
    return any(each == wanted or each.startswith(f"{wanted}/") for each in found)
