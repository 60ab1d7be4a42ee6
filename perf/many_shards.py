"""Make a dataset of many shards quickly: all of them are copies of, or links to, one shard.

.venv/bin/python perf/many_shards.py SHARD OUT.h5 SHARDS   # links; prints the peak memory in MB
"""

import os
import shutil
import sys
from pathlib import Path

from ivl_shards.format.dataset_files import Hdf5Shard
from ivl_shards.format.index import write_index

# File systems limit the links to one file: ext4 to 65,000.
_LINKS = 50_000


def fill_folder(shard: Path, out: Path, shards: int, copies: bool) -> list[str]:
    """Fill the folder of shards of the dataset `out`; return their names relative to it."""
    folder = out.with_name(f"{out.name}.shards")
    folder.mkdir(exist_ok=True)
    stem = f"{folder.name}/{out.stem}-00000000"
    names = [f"{stem}-{k:06d}-of-{shards:06d}.h5" for k in range(shards)]
    original = shard
    for k, name in enumerate(names):
        path = out.parent / name
        if path.exists():
            continue
        if copies or k % _LINKS == 0:
            original = Path(shutil.copy(shard, path))
        else:
            os.link(original, path)
    return names


def make_dataset(shard: Path, out: Path, shards: int, copies: bool = False) -> Path:
    """Write the index over copies of a shard; return its path."""
    names = fill_folder(shard, out, shards, copies)
    found = Hdf5Shard(shard)
    own = ("memory", "sequence", "samples", "format", "format_version", "content_sha256")
    attributes = {k: v for k, v in found.attributes.items() if k not in own}
    listed = [(name, found.attributes["samples"]) for name in names]
    write_index(out, out.parent, found.schema, attributes, listed)
    return out


def peak_memory() -> float:
    """Return the peak memory of this process in MB.

    From the system's own figures: `getrusage` also counts that of the process which started it.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    make_dataset(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    print(peak_memory())
