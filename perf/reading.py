"""How fast a dataset is read, against decoding the same bytes and nothing else.

.venv/bin/python perf/reading.py
"""

import statistics
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
from measure import Figure, at_least, at_most, best_seconds, show
from zlib_ng import zlib_ng

import shapes_gen
from ivl_shards import Dataset, open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe

RECIPES = {
    "coloured shapes": ColouredRecipe((3, 4, 5), 5000),
    "toy shapes, 3 lines": ToyRecipe((3,), 5000),
}


def packed_chunks(dataset: Dataset) -> list[tuple[bytes, int]]:
    """The deflate chunks of all fields, in memory, each with its unpacked length."""
    with h5py.File(dataset.path) as file:
        packed = [file[name] for name in file if file[name].chunks]
        return [
            (bytes(d.id.read_direct_chunk((i, *(0 for _ in d.shape[1:])))[1]), d[0].nbytes)
            for d in packed
            for i in range(len(d))
        ]


def epoch_ratio(dataset: Dataset) -> float:
    """Speed of a shuffled pass through the reader over that of bare decoding."""
    chunks = packed_chunks(dataset)

    def decode() -> None:
        for chunk, length in chunks:
            zlib_ng.decompress(chunk, bufsize=length)

    def read() -> None:
        for batch in dataset.batches(64, shuffle=0):
            assert len(batch["image"])

    return best_seconds(decode) / best_seconds(read)


def random_sample(dataset: Dataset) -> float:
    """Median time for one sample at a random place, in ms."""
    times = []
    for i in np.random.default_rng(0).integers(len(dataset), size=2000):
        begun = time.perf_counter()
        assert dataset[int(i)].length
        times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


def h5py_sample(dataset: Dataset) -> float:
    """The same through h5py alone, all fields, in ms."""
    times = []
    with h5py.File(dataset.path) as file:
        fields = [file[name] for name in file]
        for i in np.random.default_rng(0).integers(len(dataset), size=500):
            begun = time.perf_counter()
            assert [field[int(i)] for field in fields]
            times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


def figures() -> list[Figure]:
    """Shuffled epochs and random samples."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, recipe) in enumerate(RECIPES.items()):
            path = Path(folder) / f"{k}.h5"
            shapes_gen.generate(recipe, path, workers=1)
            dataset = open_dataset(path)
            ratio = epoch_ratio(dataset)
            found.append(at_least(f"{name}: shuffled epoch over bare decoding", ratio, "×", 0.5))
            ours = random_sample(dataset)
            found.append(at_most(f"{name}: one random sample", ours, "ms", 1))
            faster = h5py_sample(dataset) / ours
            found.append(at_least(f"{name}: that, over plain h5py", faster, "×", 1))
    return found


if __name__ == "__main__":
    show("Reading datasets", figures())
