"""Remote reading: bytes and requests for random samples of a large dataset on a web server.

.venv/bin/python perf/remote.py   # 100 of a million samples in 200 shards, over loopback
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from many_shards import make_dataset
from measure import Figure, at_most, show, stated

import shapes_gen
from ivl_shards import open_dataset
from ivl_shards.format.index import summarise_shard
from shapes_gen import ColouredRecipe

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
from web_server import Traffic, web_server  # noqa: E402

SHARDS, EACH, SAMPLES = 200, 5000, 100
FREE = 20_000_000
"""Bytes that may be fetched on top of three times those of the samples."""


def stored_bytes(shard: Path, rows: list[int]) -> int:
    """Return the bytes that samples take as stored, in a dataset whose shards are links to one."""
    schema = open_dataset(shard).schema
    size = 0
    for name, place in summarise_shard(shard, schema).places.items():
        field = schema[name]
        if isinstance(place, int):
            size += len(rows) * int(np.prod(field.shape)) * np.dtype(field.dtype).itemsize
        else:
            size += sum(int(place[row % EACH, 1]) for row in rows)
    return size


def fetch_samples(web: Traffic, rows: list[int]) -> tuple[int, int, int, float]:
    """Return bytes to open the dataset, bytes and requests for the samples, and seconds of both."""
    begun = time.perf_counter()
    remote = open_dataset(f"{web.address}/large.h5")
    opening = web.bytes
    web.clear()
    for row in rows:
        remote[row]
    return opening, web.bytes, len(web.requests), time.perf_counter() - begun


def figures() -> list[Figure]:
    """Make the dataset and read from it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recipe = ColouredRecipe(counts=(3, 4, 5), total=EACH)
        shapes_gen.generate(recipe, folder / "shard.h5")
        make_dataset(folder / "shard.h5", folder / "large.h5", SHARDS)
        rows = np.random.default_rng(0).choice(SHARDS * EACH, SAMPLES, replace=False).tolist()
        own = stored_bytes(folder / "shard.h5", rows)
        with web_server(folder) as web:
            opening, fetched, requests, seconds = fetch_samples(web, rows)
    of = f"{SAMPLES} random samples of {SHARDS * EACH:,}"
    return [
        at_most(
            f"{of}: bytes over 3 × their own + 20 MB", (opening + fetched) / (3 * own + FREE), "", 1
        ),
        stated(f"{of}: their own bytes", own / 1e3, "kB"),
        stated("bytes to open the dataset", opening / 1e3, "kB"),
        stated(f"{of}: bytes fetched", fetched / 1e3, "kB"),
        stated("requests per sample, in two rounds", requests / SAMPLES, ""),
        stated("opening and reading them", seconds, "s"),
    ]


if __name__ == "__main__":
    show("Remote reading", figures())
