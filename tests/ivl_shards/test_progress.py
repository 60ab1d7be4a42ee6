"""What is said while a dataset is made."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from commands import tool


def test_plain_lines_in_a_log(run) -> None:
    result = run("shapes-gen", "toy", "--lines", 3, "--n", 700, "out.h5")
    assert re.fullmatch(r"700 of 700 samples, [\d,]+ samples/s, 00:00:00 left\n", result.stderr)
    assert re.fullmatch(r"out.h5: 700 samples of 3 lines, 700 made in .*\n", result.stdout)


def test_nothing_when_quiet(run) -> None:
    result = run("shapes-gen", "toy", "--lines", 3, "--n", 5, "--quiet", "out.h5")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [tool("shapes-gen"), "toy", "--lines", "3", "--n", "1200", "out.h5"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=slave, stdout=subprocess.DEVNULL)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert process.wait() == 0
    text = shown.decode()
    assert "1200/1200" in text
    assert "samples/s" in text
    assert re.search(r"<\d\d:\d\d", text), "no time left"
