"""Run the installed commands and check what they print; watch a page in a browser."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
"""The project's folder."""
HELPERS = Path(__file__).parent


def tool(name: str) -> str:
    """The path of an installed command."""
    return str(Path(sys.executable).with_name(name))


def own_data(folder: Path, task: str) -> list[str]:
    """Return the options of `ivl-bench run` for small datasets that are not the task's own."""
    train, test = (str(folder / f"{task}-{split}.h5") for split in ("train", "test"))
    return ["--data", str(folder), "--train", train, "--test", test]


def assert_one_line(result: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """One line on stderr that has these words, nothing on stdout, and this exit code."""
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def hear_ctrl_c() -> None:
    """For `preexec_fn`: a shell's background has told its children to ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def complaints_of(page: Any) -> list[str]:
    """What a page will complain of: errors, messages, anything asked of the net."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(r.url),
    )
    return complaints
