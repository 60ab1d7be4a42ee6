"""How well an off-the-shelf recogniser reads the text blocks: character accuracy by line count.

.venv/bin/python perf/legibility.py                               # both styles, 100 blocks a count
.venv/bin/python perf/legibility.py --style scene --blocks 20 --knob contrast=90 --keep FOLDER
.venv/bin/python perf/legibility.py --lines 3,10 --fonts catalogue --knob seed=1    # other blocks

The reader is PP-OCRv6's recogniser, as RapidOCR 3.10 from PyPI (extra `ocr`) has it. It is given
each line as its label has it: the quad, grown by 8 % of the line's height, made upright. Accuracy
of a line is 1 − edits / length: the least number of insertions, deletions and substitutions that
make what was read what was written, over the length of the longer one; both in lower case and
without spaces. A figure is the mean over all lines of all blocks; "median" that over blocks: half
of the blocks are read better.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from measure import Figure, at_least, at_most, show

from benchmark.baselines.recogniser import Recogniser
from fonts.catalogue import is_catalogue
from fonts.places import catalogue_folder
from ivl_shards.errors import UserError
from ivl_shards.generation.recipe import format_counts, parse_counts
from textblocks_gen import Inputs, TextRecipe, complete, start
from textblocks_gen.recipe import STYLES

Counts = tuple[int, ...]
COUNTS: Counts = (1, 3, 5, 10)
BLOCKS = 100
FONTS = ("packaged faces", "catalogue")
# Of the line's height, around its quad.
GROWN = 0.08
# What is asked of the catalogue's faces: least and greatest accuracy at three and ten lines.
WANTED = {"paper": {3: (0.95, 1.0), 10: (0.94, 1.0)}, "scene": {3: (0.80, 0.92)}}


@dataclass(frozen=True)
class Read:
    """A block, and how well each of its lines was read."""

    file: str
    font: str
    lines: list[str]
    read: list[str]

    @property
    def accuracies(self) -> list[float]:
        """Of each line."""
        return [accuracy(a, b) for a, b in zip(self.lines, self.read, strict=True)]


def accuracy(written: str, read: str) -> float:
    """1 − edits / length of the longer one.

    >>> accuracy("Two words", "twowards")
    0.875
    """
    a, b = ("".join(text.split()).casefold() for text in (written, read))
    return 1 - edits(a, b) / max(len(a), len(b), 1)


def edits(a: str, b: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


def upright(image: np.ndarray, quad: np.ndarray) -> np.ndarray:
    """Cut the line of a quad, (4, 2), out of an image."""
    wide = (np.linalg.norm(quad[1] - quad[0]) + np.linalg.norm(quad[2] - quad[3])) / 2
    tall = (np.linalg.norm(quad[3] - quad[0]) + np.linalg.norm(quad[2] - quad[1])) / 2
    rim = GROWN * tall
    corners = [(rim, rim), (rim + wide, rim), (rim + wide, rim + tall), (rim, rim + tall)]
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), np.array(corners, np.float32))
    size = (max(int(wide + 2 * rim), 2), max(int(tall + 2 * rim), 2))
    return cv2.warpPerspective(
        image, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )


def write_blocks(folder: Path, counts: Counts, blocks: int, knobs: dict[str, float]) -> None:
    """Write the lines of blocks of every line count as PNG, and what they say as JSON."""
    truth = []
    for count in counts:
        # The split with the most faces, where splits do not share them.
        recipe = TextRecipe((count,), blocks, split="train", **knobs)
        sample = start(complete(recipe, Inputs()), Inputs())
        for row in range(blocks):
            made, name = sample(row), f"{count:02}-{row:03}"
            image = cv2.imdecode(np.asarray(made["image"]), cv2.IMREAD_COLOR)
            for k, quad in enumerate(np.asarray(made["line_quad"])):
                cv2.imwrite(str(folder / f"{name}-{k:02}.png"), upright(image, quad))
            lines = [text.decode() for text in made["line_text"].tolist()]
            truth.append({"file": name, "font": made["font"].item().decode(), "lines": lines})
    (folder / "truth.json").write_text(json.dumps(truth), "utf-8")


def read_blocks(reader: Recogniser, folder: Path) -> list[Read]:
    """What the reader makes of them."""
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    return [
        Read(b["file"], b["font"], b["lines"], read_lines(reader, folder, b["file"], b["lines"]))
        for b in truth
    ]


def read_lines(reader: Recogniser, folder: Path, name: str, lines: list[str]) -> list[str]:
    """What the reader makes of the lines of one block."""
    paths = [folder / f"{name}-{k:02}.png" for k in range(len(lines))]
    pictures = [cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB) for path in paths]
    return [text for text, _ in reader.read(pictures)]


def measured(
    fonts: str,
    counts: Counts,
    blocks: int,
    knobs: dict[str, float],
    reader: Recogniser,
    keep: Path | None,
) -> list[Read]:
    """Make and read the blocks drawn with one choice of fonts."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = (keep or Path(temporary)) / fonts.split()[0]
        folder.mkdir(parents=True, exist_ok=True)
        chosen = {"IVL_FONTS": str(folder / "nothing")} if fonts == FONTS[0] else {}
        # A process of its own: the fonts are looked for once a process, by its environment.
        work = [sys.executable, __file__, "--write", folder, "--blocks", str(blocks)]
        work += ["--lines", format_counts(counts)]
        work += [part for name, value in knobs.items() for part in ("--knob", f"{name}={value}")]
        subprocess.run(work, check=True, env=os.environ | chosen)
        return read_blocks(reader, folder)


def mean_accuracy(reads: list[Read], count: int) -> float:
    """Over the lines of all blocks of so many lines."""
    return statistics.fmean(a for r in reads if len(r.lines) == count for a in r.accuracies)


def table(reads: dict[str, list[Read]]) -> list[str]:
    """Accuracies by line count and fonts, a Markdown table."""
    counts = sorted({len(read.lines) for found in reads.values() for read in found})
    heads = [f"{count} line{'s'[: count > 1]}" for count in counts]
    rows = [f"| fonts | | {' | '.join(heads)} |", "|---|---|" + "---|" * len(counts)]
    for fonts, found in reads.items():
        by_block = {
            n: [statistics.fmean(r.accuracies) for r in found if len(r.lines) == n] for n in counts
        }
        means = (f"{mean_accuracy(found, n):.1%}" for n in counts)
        medians = (f"{statistics.median(by_block[n]):.1%}" for n in counts)
        rows.append(f"| {fonts} | mean | {' | '.join(means)} |")
        rows.append(f"| {fonts} | median | {' | '.join(medians)} |")
    return rows


def all_reads(
    blocks: int = BLOCKS,
    knobs: dict[str, float] | None = None,
    keep: Path | None = None,
    counts: Counts = COUNTS,
    fonts: tuple[str, ...] = FONTS,
) -> dict[str, list[Read]]:
    """Blocks by choice of fonts; none where the reader is not installed, and a line says so."""
    try:
        reader = Recogniser()
    except UserError as error:
        print(f"{error}: left out", flush=True)
        return {}
    if not is_catalogue(catalogue_folder()):
        fonts = FONTS[:1]
    return {name: measured(name, counts, blocks, knobs or {}, reader, keep) for name in fonts}


def wanted(style: str, reads: list[Read]) -> list[Figure]:
    """Check the accuracy of a style with the catalogue's faces."""
    found = []
    counts = {len(read.lines) for read in reads}
    for count, (least, most) in WANTED[style].items():
        if count not in counts:
            continue
        name, value = f"{style} style, {count} lines, characters read", mean_accuracy(reads, count)
        found += [at_least(name, value, "", least), at_most(name, value, "", most)]
    return found


def ratios(reads: dict[str, list[Read]]) -> list[Figure]:
    """Long blocks should read as well as short ones."""
    return [
        at_least(f"10 lines over 3, {fonts}", mean_accuracy(r, 10) / mean_accuracy(r, 3), "×", 0.95)
        for fonts, r in reads.items()
        if {3, 10} <= {len(read.lines) for read in r}
    ]


def _counts(text: str) -> Counts:
    try:
        return parse_counts(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _knob(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    name = name.replace("-", "_")
    try:
        number = value if name == "style" else float(value) if "." in value else int(value)
        TextRecipe((max(COUNTS),), 1, **{name: number})
    except (UserError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return name, number


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="of each number of lines")
    parser.add_argument(
        "--knob",
        type=_knob,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the recipe, as in TextRecipe; may be given more than once",
    )
    parser.add_argument("--style", choices=STYLES, help="both by default")
    parser.add_argument("--lines", type=_counts, default=COUNTS, help="such as 3,10")
    parser.add_argument("--fonts", choices=FONTS, help="both by default")
    parser.add_argument("--keep", type=Path, help="folder for the images")
    parser.add_argument("--worst", type=int, default=0, help="list so many blocks read worst")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.write:
        write_blocks(chosen.write, chosen.lines, chosen.blocks, dict(chosen.knob))
        return
    if chosen.blocks < 1:
        parser.error(f"--blocks {chosen.blocks}: at least 1")
    for style in [chosen.style] if chosen.style else STYLES:
        knobs = {"style": style, **dict(chosen.knob)}
        reads = all_reads(
            chosen.blocks,
            knobs,
            chosen.keep and chosen.keep / style,
            chosen.lines,
            (chosen.fonts,) if chosen.fonts else FONTS,
        )
        if not reads:
            sys.exit(1)
        print(f"\n{style} style\n")
        print("\n".join(table(reads)), "\n")
        figures = ratios(reads) if style == "paper" else []
        show("Characters", figures + (wanted(style, reads[FONTS[1]]) if FONTS[1] in reads else []))
        for fonts, found in reads.items():
            for r in sorted(found, key=lambda r: statistics.fmean(r.accuracies))[: chosen.worst]:
                print(f"{statistics.fmean(r.accuracies):.2f} {fonts} {r.file} {r.font}: {r.read}")


if __name__ == "__main__":
    main()
