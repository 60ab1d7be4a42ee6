"""Run measurements and write them to docs/PERFORMANCE.md.

make perf                                              # all
.venv/bin/python perf/report.py generating textblocks  # some; the other sections stay
"""

import sys
from collections.abc import Callable
from pathlib import Path

import decoding
import exporting
import generating
import legibility
import memory
import reading
import remote
import scale
import scoring
import textblocks
import training
from measure import HEADER, Figure, machine

OUT = Path(__file__).parents[1] / "docs" / "PERFORMANCE.md"
INTRODUCTION = (
    "# Performance\n\nWritten by `make perf`. Ratios are taken within one run; take the absolute "
    "figures lightly."
)


def _table(figures: list[Figure]) -> list[str]:
    return [HEADER, *(figure.row() for figure in figures)]


def _legibility() -> list[str]:
    """Its table by line count, then its figures; nothing where the reader cannot be had."""
    reads = legibility.all_reads()
    if not reads:
        return ["The reader could not be installed."]
    about = "Character accuracy of RapidOCR; the script says how it is counted."
    blocks = f"{legibility.BLOCKS} blocks of each number of lines."
    return [about, blocks, "", *legibility.table(reads), "", *_table(legibility.ratios(reads))]


# By the name of the script: the title of its section, and what makes the section's lines.
PARTS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "generating": ("Making datasets", lambda: _table(generating.figures())),
    "reading": ("Reading datasets", lambda: _table(reading.figures())),
    "exporting": ("Exporting datasets", lambda: _table(exporting.figures())),
    "remote": ("Remote reading", lambda: _table(remote.figures())),
    "scale": ("Datasets of many shards", lambda: _table(scale.figures())),
    "memory": ("Memory", lambda: _table(memory.figures())),
    "training": ("The benchmark's models", lambda: _table(training.figures())),
    "decoding": ("Reading text", lambda: _table(decoding.figures())),
    "scoring": ("Scoring predictions", lambda: _table(scoring.figures())),
    "textblocks": ("Text blocks", lambda: _table(textblocks.figures(["peers"]))),
    "textcost": (
        "Text blocks: fonts, memory and cost",
        lambda: _table(textblocks.figures(["fonts", "memory", "cost"])),
    ),
    "workers": ("Text blocks by two workers", lambda: _table(textblocks.figures(["workers"]))),
    "legibility": ("Legibility of text blocks", _legibility),
}


def read_sections(text: str) -> dict[str, str]:
    """The sections of the page by title."""
    sections = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {title: body.strip() for title, _, body in sections}


def main() -> None:
    """Measure, print, write."""
    chosen = sys.argv[1:] or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"no part {min(unknown)}: choose from {', '.join(PARTS)}")
    sections = read_sections(OUT.read_text("utf-8")) if OUT.exists() else {}
    for name in chosen:
        title, measured = PARTS[name]
        lines = measured()
        # Each section names its machine: they need not be from the same run.
        sections[title] = f"`perf/report.py {name}` on {machine()}\n\n" + "\n".join(lines)
        print("\n".join([title, *lines]), flush=True)
    # Written in one order, whatever was run last.
    titles = [title for title, _ in PARTS.values() if title in sections]
    page = [INTRODUCTION, *(f"## {title}\n\n{sections[title]}" for title in titles)]
    OUT.write_text("\n\n".join(page) + "\n", "utf-8")


if __name__ == "__main__":
    main()
