"""Datasets of many shards: random rows, shuffled loading, opening, indexing, verifying.

.venv/bin/python perf/scale.py   # a million samples in 200 shards; 10,000 and 100,000 tiny shards
"""

import hashlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
from many_shards import make_dataset
from measure import Figure, Run, at_least, at_most, run, run_program, show, stated

import shapes_gen
from ivl_shards import Dataset, open_dataset
from shapes_gen import ColouredRecipe

SHARDS, EACH = 200, 5000
MANY = {10_000: (20, 1, 200), 100_000: (60, 5, 500)}
"""By number of tiny shards: most seconds for `info` and to open, most MB to write the index."""


def random_rate(dataset: Dataset, rows: int = 5000) -> float:
    """Samples per second at random places; the first rows are not counted."""
    places = np.random.default_rng(0).integers(len(dataset), size=2 * rows).tolist()
    for i in places[:rows]:
        dataset[i]
    begun = time.perf_counter()
    for i in places[rows:]:
        dataset[i]
    return rows / (time.perf_counter() - begun)


def h5py_rate(path: Path, rows: int = 1000) -> float:
    """The same by plain h5py, all fields of each sample."""
    with h5py.File(path) as file:
        fields = [file[name] for name in file]
        places = np.random.default_rng(0).integers(len(fields[0]), size=rows).tolist()
        begun = time.perf_counter()
        for i in places:
            for field in fields:
                field[i]
        return rows / (time.perf_counter() - begun)


def loader_rate(dataset: Dataset, shuffle: bool, batches: int = 300) -> float:
    """Samples per second of a DataLoader with two workers and batches of 64."""
    from torch import manual_seed
    from torch.utils.data import DataLoader

    manual_seed(0)
    loader = DataLoader(dataset.torch(), batch_size=64, shuffle=shuffle, num_workers=2)
    batch = iter(loader)
    for _ in range(50):
        next(batch)
    begun = time.perf_counter()
    for _ in range(batches):
        next(batch)
    return batches * 64 / (time.perf_counter() - begun)


def access(folder: Path, shard: Path) -> list[Figure]:
    """Random rows, and shuffled loading, of a million samples."""
    million = make_dataset(shard, folder / "million.h5", SHARDS, copies=True)
    dataset = open_dataset(million)
    rows, alone = random_rate(dataset), random_rate(open_dataset(shard))
    shuffled, in_order = loader_rate(dataset, True), loader_rate(dataset, False)
    return [
        stated(f"random rows in {SHARDS} shards", rows, "samples/s"),
        at_least("that, over random rows in one file", rows / alone, "×", 0.1),
        at_least("that, over plain h5py on the same index", rows / h5py_rate(million), "×", 1),
        at_least("DataLoader, shuffled over in order", shuffled / in_order, "×", 0.5),
        at_most(f"`info`, {SHARDS} shards", run("ivl-shards", "info", million).wall, "s", 2),
    ]


def verifying(folder: Path) -> list[Figure]:
    """`verify` of a million samples, beside hashing what it must hash."""
    million = folder / "million.h5"
    done = run("ivl-shards", "verify", million, "--quiet")
    dataset = open_dataset(million)
    data = b"".join(path.read_bytes() for path in dataset.shards[:5])
    unpacked = dataset[:5000].column("image")
    begun = time.perf_counter()
    hashlib.sha256(data).digest()
    bytes_seconds = (time.perf_counter() - begun) * SHARDS / 5
    begun = time.perf_counter()
    for image in unpacked:
        hashlib.sha256(image).digest()
    digest_seconds = (time.perf_counter() - begun) * SHARDS
    return [
        at_most("`verify` of a million samples, two cores", done.wall / 60, "min", 5),
        at_most("memory of its largest process", done.peak, "MB", 300),
        stated("its CPU time over SHA-256 alone", done.cpu / (bytes_seconds + digest_seconds), "×"),
    ]


_OPEN = """
import sys, time
from ivl_shards import open_dataset
begun = time.perf_counter()
dataset = open_dataset(sys.argv[1])
opened = time.perf_counter() - begun
dataset[len(dataset) // 2]
print(opened)
"""


def indexing(folder: Path, shard: Path) -> list[Figure]:
    """Tiny shards by the thousands: writing the index, opening it, `info`."""
    found = []
    program = Path(__file__).with_name("many_shards.py")
    for shards, (info, opening, memory) in MANY.items():
        out = folder / f"many-{shards}.h5"
        written = run_program(Path(sys.executable), program, shard, out, shards)
        opened = float(output(sys.executable, "-c", _OPEN, out))
        told: Run = run("ivl-shards", "info", out)
        found += [
            at_most(f"{shards:,} shards: memory to write the index", written.peak, "MB", memory),
            stated(f"{shards:,} shards: time for that, each", 1000 * written.wall / shards, "ms"),
            at_most(f"{shards:,} shards: open", opened, "s", opening),
            at_most(f"{shards:,} shards: `info`", told.wall, "s", info),
            stated(f"{shards:,} shards: size of the index", out.stat().st_size / 1e6, "MB"),
        ]
    return found


def output(*command: object) -> str:
    """Return what a program prints."""
    return subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True
    ).stdout


def first_shard(folder: Path, name: str, total: int) -> Path:
    """Return a file of coloured shapes."""
    path = folder / name
    shapes_gen.generate(ColouredRecipe(tuple(range(3, 11)), total), path, workers=1)
    return path


def figures() -> list[Figure]:
    """All of them; takes about ten minutes and 4 GB of disk."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny = first_shard(folder, "tiny.h5", 2)
        found = access(folder, first_shard(folder, "shard.h5", EACH))
        found += verifying(folder)
        return found + indexing(folder, tiny)


if __name__ == "__main__":
    show("Datasets of many shards", figures())
