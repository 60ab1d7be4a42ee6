"""How much memory making a dataset takes, for few samples and for many.

.venv/bin/python perf/memory.py
"""

import tempfile
from pathlib import Path

from measure import Figure, at_most, run, show

FEW, MANY = 2_000, 200_000


def figures() -> list[Figure]:
    """Peak memory of the largest process."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            peaks = {}
            for total in (FEW, MANY):
                out = Path(folder) / f"{workers}-{total}.h5"
                options = ("coloured", "--counts", "3-5", "--total", total, "--workers", workers)
                peaks[total] = run("shapes-gen", *options, "--quiet", out).peak
            more = peaks[MANY] / peaks[FEW]
            name = f"{MANY:,} samples over {FEW:,} ({peaks[FEW]:.0f} MB), --workers {workers}"
            found.append(at_most(f"peak memory, {name}", more, "×", 1.1))
    return found


if __name__ == "__main__":
    show("Memory", figures())
