"""How fast shapes are made, all included: start-up, rendering, checksums, writing, merging.

.venv/bin/python perf/generating.py
"""

import tempfile
from pathlib import Path

from measure import Figure, at_least, run, show

SAMPLES = 20_000
TOOLS = {
    "coloured shapes, 3–5 objects": ("coloured", "--counts", "3-5"),
    "coloured shapes, 3–10 objects": ("coloured", "--counts", "3-10"),
    "toy shapes, 3 lines": ("toy", "--lines", "3"),
}


def figures() -> list[Figure]:
    """Samples a CPU-second, and how much two workers bring over one."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.h5"

        def made(*options: object):
            return run("shapes-gen", *options, "--quiet", "--overwrite", out)

        found = []
        for seed, (name, options) in enumerate(TOOLS.items()):
            used = made(*options, "--total", SAMPLES, "--seed", seed, "--workers", 1)
            rate = SAMPLES / used.cpu
            found.append(at_least(f"{name}, one worker", rate, "samples / CPU-second", 2000))
        # Turn and turn about, so that both meet the same disturbances; the best of each.
        times: dict[int, list[float]] = {1: [], 2: []}
        for seed in range(10, 12):
            for workers in times:
                # Long enough that starting a worker, half a second, does not count.
                options = ("coloured", "--counts", "3-5", "--total", 8 * SAMPLES)
                used = made(*options, "--seed", 10 * seed + workers, "--workers", workers)
                times[workers].append(used.wall)
        ratio = min(times[1]) / min(times[2])
        found.append(at_least("two workers over one, 160,000 samples", ratio, "×", 1.8))
    return found


if __name__ == "__main__":
    show("Making datasets", figures())
