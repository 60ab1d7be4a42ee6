"""Measure: what the scripts in this folder share."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

# In place of a wish, where a figure is only stated.
NOTHING = "–"


@dataclass(frozen=True)
class Figure:
    """One measured number, and the least or most that it should be."""

    what: str
    value: float
    unit: str
    wanted: str
    good: bool

    def row(self) -> str:
        """A row of a Markdown table."""
        number = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.3g}"
        met = ("yes" if self.good else "NO") if self.wanted != NOTHING else NOTHING
        return f"| {self.what} | {number} {self.unit} | {self.wanted} | {met} |"


HEADER = "| what | measured | wanted | met |\n|---|---|---|---|"


def at_least(what: str, value: float, unit: str, least: float) -> Figure:
    """A figure that should not be smaller."""
    return Figure(what, value, unit, f"at least {least:,g}", value >= least)


def at_most(what: str, value: float, unit: str, most: float) -> Figure:
    """A figure that should not be larger."""
    return Figure(what, value, unit, f"at most {most:,g}", value <= most)


def stated(what: str, value: float, unit: str) -> Figure:
    """A figure with nothing to meet."""
    return Figure(what, value, unit, NOTHING, good=True)


@dataclass(frozen=True)
class Run:
    """What one run of a command took."""

    wall: float
    cpu: float
    """Seconds, of the command and all its workers, start-up included."""
    peak: float
    """Memory of its largest process, MB."""


_CHILD = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
wall = time.perf_counter() - begun
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)
"""


def run(command: str, *arguments: object) -> Run:
    """Run an installed command and measure it."""
    return run_program(Path(sys.executable).with_name(command), *arguments)


def run_program(program: Path, *arguments: object) -> Run:
    """Run any program and measure it. A process in between keeps runs apart."""
    measured = subprocess.run(
        [sys.executable, "-c", _CHILD, str(program), *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
    )
    wall, cpu, peak = map(float, measured.stdout.split())
    return Run(wall, cpu, peak)


def show(title: str, figures: list[Figure]) -> None:
    """Print the figures as a table."""
    print(f"## {title}\n\n{HEADER}")
    print("\n".join(figure.row() for figure in figures))


def best_seconds(action, repeats: int = 5) -> float:
    """The least time of several tries: the others were disturbed."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
    return min(times)


def machine() -> str:
    """The machine in a few words."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    return f"{os.cpu_count()} cores, {model}, Python {sys.version.split()[0]}"
