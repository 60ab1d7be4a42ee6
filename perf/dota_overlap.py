"""How many test crops each value of --overlap gives: the table in docs/DOTA.md.

IVL_DATA=… python perf/dota_overlap.py
"""

import os
import sys
from pathlib import Path

from dota_crops import DotaRecipe, make_plan

COUNTS = tuple(range(3, 11))
VALUES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


def main() -> None:
    """Print the table."""
    if "IVL_DATA" not in os.environ:
        sys.exit("IVL_DATA does not say where the real data lies")
    root = Path(os.environ["IVL_DATA"]) / "dota"
    print("| --overlap | " + " | ".join(str(count) for count in COUNTS) + " |")
    print("|---" * (len(COUNTS) + 1) + "|")
    for value in VALUES:
        plan = make_plan(DotaRecipe(COUNTS, 200 * len(COUNTS), overlap=value), root)
        row = " | ".join(f"{plan.yields[count].apart:,}" for count in COUNTS)
        print(f"| {value:g} | {row} |", flush=True)


if __name__ == "__main__":
    main()
