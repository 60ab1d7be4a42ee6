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
from dataclasses import dataclass
from pathlib import Path

import cv2
from measure import Figure, Run, at_least, at_most, run, run_program, show, stated
from venvs import SCRIPTS, environment

import fonts
from ivl_shards.generation.layout import shard_folder
from textblocks_gen.backgrounds.pool import PoolRecipe, make_pool
from textblocks_gen.words.lexicon import load_lexicon

FACES = 20
# Start-up, some seconds, is then a small part.
FEW, MANY = 400, 10_000
PEER_FEW, PEER_MANY = 10, 160
PEERS = (
    ("trdg 1.8.0, lines stacked", "trdg", "trdg_blocks.py"),
    ("SynthTIGER 1.2.1", "synthtiger", "synthtiger_blocks.py"),
    ("SynthTIGER 1.2.1, with line masks", "synthtiger", "synthtiger_blocks.py", "masks"),
)
ROUNDS = 2
# The paper's: 500,000 blocks of each number of lines from 1 to 10.
PAPER = 5_000_000
# In shards, as large datasets are; up to 20,000 samples in one file take some 7 % more, because
# the file is put together from parts.
BLOCKS = ("--lines", "3-5", "--size", "256", "--shard-size", "5000")


def ours(folder: Path, total: int, *options: object, seed: int = 0, workers: int = 1) -> Run:
    """Make a dataset with the installed command, in `out.h5` of a folder."""
    out = folder / "out.h5"
    # A dataset that is there already would not be made again.
    out.unlink(missing_ok=True)
    shutil.rmtree(shard_folder(out), ignore_errors=True)
    fixed = ("--workers", workers, "--seed", seed, "--quiet")
    return run("textblocks-gen", *options, "--total", total, *fixed, out)


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
    for k, image in enumerate(make_pool(PoolRecipe(256, 256)).images):
        cv2.imwrite(str(grounds / f"{k:03}.jpg"), image[..., ::-1])
    return ("--lexicon", str(words), "--fonts", str(faces), "--backgrounds", str(grounds))


@dataclass
class Maker:
    """A generator to be measured: what makes a number of samples, and two numbers to make."""

    make: Callable[[int, int], Run]
    """Takes the number and a seed."""
    few: int
    many: int

    def __post_init__(self) -> None:
        self._few: list[float] = []
        self._many: list[float] = []

    def measure(self) -> None:
        """Make few and many once more; the seeds differ, so that nothing is found made."""
        self._few.append(self.make(self.few, 0).cpu)
        self._many.append(self.make(self.many, 1).cpu)

    @property
    def all_included(self) -> float:
        """Samples a CPU-second in the best run."""
        return self.many / min(self._many)

    @property
    def steady(self) -> float:
        """Samples a CPU-second without start-up.

        Of the best runs of both kinds: the difference within one round may owe more to what
        disturbed one of the two.
        """
        return (self.many - self.few) / (min(self._many) - min(self._few))


def peer_makers(folder: Path) -> dict[str, Maker]:
    """The other generators that can be had."""
    found = {}
    (out := folder / "peer").mkdir()
    for name, package, script, *extra in PEERS:
        python = environment(package)
        if python is None:
            continue

        def make(n: int, _: int, python=python, script=script, extra=extra) -> Run:
            return run_program(python, SCRIPTS / script, folder, n, out, *extra)

        found[name] = Maker(make, PEER_FEW, PEER_MANY)
    return found


def peers(folder: Path) -> list[Figure]:
    """Ours and the others, turn and turn about."""
    sources = write_sources(folder)
    own = Maker(lambda n, seed: ours(folder, n, *BLOCKS, *sources, seed=seed), FEW, MANY)
    style = ("--style", "scene")
    scene = Maker(lambda n, seed: ours(folder, n, *BLOCKS, *style, *sources, seed=seed), FEW, MANY)
    others = peer_makers(folder)
    for maker in (own, scene):
        maker.make(FEW, 0)  # compiles what is not compiled yet, and screens the fonts
    for _ in range(ROUNDS):
        for maker in (own, scene, *others.values()):
            maker.measure()
    what = f"blocks of 3–5 lines, 256×256, {FACES} faces, one worker"
    unit = "blocks / CPU-second"
    return [
        at_least(f"{what}, {MANY:,} samples", own.all_included, unit, 900),
        at_least(f"{what}, without start-up", own.steady, unit, 900),
        at_least(f"{what}, scene style, {MANY:,} samples", scene.all_included, unit, 400),
        at_least(f"{what}, scene style, without start-up", scene.steady, unit, 400),
        *(
            at_least(f"that over {name} ({maker.steady:.1f})", own.steady / maker.steady, "×", 20)
            for name, maker in others.items()
        ),
        *(
            at_least(f"scene style over {name}", scene.steady / maker.steady, "×", 8)
            for name, maker in others.items()
        ),
    ]


def catalogue(folder: Path) -> list[Figure]:
    """Whether many fonts cost more than a few; start-up left out, for it comes once."""
    sources = write_sources(folder)
    kept = sources[:2] + sources[4:]  # all but the fonts
    count = len(fonts.default_faces())
    few = Maker(lambda n, seed: ours(folder, n, *BLOCKS, *sources, seed=seed), FEW, MANY)
    many = Maker(lambda n, seed: ours(folder, n, *BLOCKS, *kept, seed=seed), FEW, MANY)
    for maker in (few, many):
        maker.make(FEW, 0)
    for _ in range(ROUNDS):
        for maker in (few, many):
            maker.measure()
    ratio = many.steady / few.steady
    return [at_least(f"rate with {count:,} faces over that with {FACES}", ratio, "×", 0.85)]


def workers(folder: Path) -> list[Figure]:
    """Two workers over one, wall time, turn and turn about, the best of each.

    Over so many samples that the start-up hardly counts: some two seconds, and two more where
    workers are processes of their own.
    """
    total, times = 10 * MANY, {1: [], 2: []}
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
        stated(f"{what}, two workers, by CPU time", hours, "hours"),
        stated(f"{what}, two workers, by the clock of this machine", clock, "hours"),
        stated(f"{what}, on disk", gigabytes, "GB"),
    ]


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
