"""Run all measurements and write docs/PERFORMANCE.md.

make perf
"""

from pathlib import Path

import generating
import memory
import reading
from measure import HEADER, machine

PARTS = {
    "Making datasets": (generating, "perf/generating.py"),
    "Reading datasets": (reading, "perf/reading.py"),
    "Memory": (memory, "perf/memory.py"),
}
OUT = Path(__file__).parents[1] / "docs" / "PERFORMANCE.md"


def main() -> None:
    """Measure, print, write."""
    text = [
        "# Performance",
        "",
        f"Written by `make perf` on: {machine()}. Ratios are taken within one run; take the "
        "absolute figures lightly.",
    ]
    for title, (module, script) in PARTS.items():
        rows = [figure.row() for figure in module.figures()]
        text += ["", f"## {title}", "", f"`{script}`", "", HEADER, *rows]
        print("\n".join([title, *rows]), flush=True)
    OUT.write_text("\n".join(text) + "\n", "utf-8")


if __name__ == "__main__":
    main()
