"""How fast text blocks are made, against other generators; what many of them cost.

.venv/bin/python perf/textblocks.py            # all, some 10 minutes
.venv/bin/python perf/textblocks.py peers      # one part: peers, fonts, workers, memory, cost

Peers: trdg and SynthTIGER from PyPI, each in an environment of its own, take the same words, fonts
and backgrounds to blocks of 3–5 lines of 3–5 words in lines about as tall, 256×256, JPEG of
quality 90 on disk. They make no labels; ours has all of its labels, step map included, in the
dataset. Rates are samples over CPU time; "without start-up" is that of many samples less few.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import cv2
from measure import Figure, Run, at_least, at_most, run, run_program, show
from venvs import SCRIPTS, environment

import fonts
from textblocks_gen.backgrounds import texture_pool
from textblocks_gen.lexicon import load_lexicon

FACES = 20
# Start-up, some seconds, is then a small part.
FEW, MANY = 400, 8_000
PEER_FEW, PEER_MANY = 10, 110
ROUNDS = 3
# The paper's: 500,000 blocks of each number of lines from 1 to 10.
PAPER = 5_000_000
BLOCKS = ("--lines", "3-5", "--size", "256")


def ours(folder: Path, total: int, *options: object, seed: int = 0, workers: int = 1) -> Run:
    """Make a dataset with the installed command, in `out.h5` of a folder."""
    fixed = ("--workers", workers, "--seed", seed, "--quiet", "--overwrite")
    return run("textblocks-gen", *options, "--total", total, *fixed, folder / "out.h5")


def write_sources(folder: Path) -> tuple[str, ...]:
    """Words, fonts and backgrounds that every generator can read; our options for them."""
    words, faces, grounds = folder / "lexicon.txt", folder / "fonts", folder / "backgrounds"
    words.write_text("\n".join(load_lexicon().words) + "\n", "utf-8")
    faces.mkdir()
    grounds.mkdir()
    # Every so many: the catalogue is sorted by name, so these are of all styles.
    found = [face for face in fonts.default_faces() if not face.caps_only]
    for face in found[:: len(found) // FACES][:FACES]:
        shutil.copy(face.path, faces)
    for k, image in enumerate(texture_pool(0, 256, 256).images):
        cv2.imwrite(str(grounds / f"{k:03}.jpg"), image[..., ::-1])
    return ("--lexicon", str(words), "--fonts", str(faces), "--backgrounds", str(grounds))


def rates(make: Callable[[int, int], Run], few: int, many: int) -> tuple[float, float]:
    """Samples a CPU-second, all included and without start-up; make takes a number and a seed."""
    small, large = make(few, 0), make(many, 1)
    return many / large.cpu, (many - few) / (large.cpu - small.cpu)


def peers(folder: Path) -> list[Figure]:
    """Ours and the others, turn and turn about, the best of each."""
    sources = write_sources(folder)
    makers: dict[str, tuple[Callable[[int, int], Run], int, int]] = {
        "ours": (lambda n, seed: ours(folder, n, *BLOCKS, *sources, seed=seed), FEW, MANY)
    }
    for name, package, script, *extra in (
        ("trdg 1.8.0, lines stacked", "trdg", "trdg_blocks.py"),
        ("SynthTIGER 1.2.1", "synthtiger", "synthtiger_blocks.py"),
        ("SynthTIGER 1.2.1, with line masks", "synthtiger", "synthtiger_blocks.py", "masks"),
    ):
        python = environment(package)
        if python is None:
            continue
        (out := folder / "peer").mkdir(exist_ok=True)

        def make(n: int, _: int, python=python, script=script, extra=extra, out=out) -> Run:
            return run_program(python, SCRIPTS / script, folder, n, out, *extra)

        makers[name] = (make, PEER_FEW, PEER_MANY)
    ours(folder, FEW, *BLOCKS, *sources)  # compiles what is not compiled yet, and checks the fonts
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in makers}
    for _ in range(ROUNDS):
        for name, (make, few, many) in makers.items():
            found[name].append(rates(make, few, many))
    all_in, steady = (max(rate[k] for rate in found["ours"]) for k in (0, 1))
    what = f"blocks of 3–5 lines, 256×256, {FACES} faces, one worker"
    figures = [
        at_least(f"{what}, {MANY:,} samples", all_in, "blocks / CPU-second", 600),
        at_least(f"{what}, without start-up", steady, "blocks / CPU-second", 600),
    ]
    for name in list(makers)[1:]:
        theirs = max(rate[1] for rate in found[name])
        label = f"ours over {name} ({theirs:.1f}), without start-up"
        figures.append(at_least(label, steady / theirs, "×", 20))
    return figures


def catalogue(folder: Path) -> list[Figure]:
    """Whether many fonts cost more than a few; start-up left out, for it comes once."""
    sources = write_sources(folder)
    kept = sources[:2] + sources[4:]  # all but the fonts
    count = len(fonts.default_faces())
    few, many = [], []
    for _ in range(ROUNDS):
        few.append(rates(lambda n, s: ours(folder, n, *BLOCKS, *sources, seed=s), FEW, MANY)[1])
        many.append(rates(lambda n, s: ours(folder, n, *BLOCKS, *kept, seed=s), FEW, MANY)[1])
    ratio = max(many) / max(few)
    return [at_least(f"rate with {count:,} faces over that with {FACES}", ratio, "×", 0.85)]


def workers(folder: Path) -> list[Figure]:
    """Two workers over one, wall time, turn and turn about, the best of each."""
    total, times = 2 * MANY, {1: [], 2: []}
    for seed in range(ROUNDS):
        for count, taken in times.items():
            taken.append(ours(folder, total, *BLOCKS, seed=10 * seed + count, workers=count).wall)
    ratio = min(times[1]) / min(times[2])
    return [at_least(f"two workers over one, {total:,} samples", ratio, "×", 1.8)]


def memory(folder: Path) -> list[Figure]:
    """Peak memory of the largest process, with all fonts and the default canvas."""
    few, many = (ours(folder, n, "--lines", "1-10").peak for n in (2_000, 20_000))
    return [
        at_most("peak memory, 20,000 samples over 2,000", many / few, "×", 1.1),
        at_most("peak memory of a worker, default canvas, 1–10 lines", many, "MB", 500),
    ]


def cost(folder: Path) -> list[Figure]:
    """What the paper's five million blocks take, from 20,000 at the default canvas."""
    measured = 20_000
    small = ours(folder, 2_000, "--lines", "1-10", workers=2)
    large = ours(folder, measured, "--lines", "1-10", workers=2, seed=1)
    hours = (large.cpu - small.cpu) / (measured - 2_000) * PAPER / 2 / 3600
    gigabytes = (folder / "out.h5").stat().st_size / measured * PAPER / 1e9
    clock = (large.wall - small.wall) / (measured - 2_000) * PAPER / 3600
    what = f"{PAPER:,} blocks of 1–10 lines, default canvas"
    return [
        _stated(f"{what}, two workers, by CPU time", hours, "hours"),
        _stated(f"{what}, two workers, by the clock of this machine", clock, "hours"),
        _stated(f"{what}, on disk", gigabytes, "GB"),
    ]


def _stated(what: str, value: float, unit: str) -> Figure:
    """A figure with nothing to meet."""
    return Figure(what, value, unit, "–", good=True)


PARTS = {"peers": peers, "fonts": catalogue, "workers": workers, "memory": memory, "cost": cost}


def figures(names: list[str] | None = None) -> list[Figure]:
    """The figures of some parts, or of all."""
    found = []
    for name in names or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            found += PARTS[name](Path(folder))
    return found


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(PARTS):
        sys.exit(f"no part {min(unknown)}: choose from {', '.join(PARTS)}")
    show("Text blocks", figures(sys.argv[1:]))
