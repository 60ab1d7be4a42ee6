"""Write an index over many shards, all of them links to the same file; print the peak memory, MB.

write_links.py DATASET SHARDS
"""

import os
import resource
import sys
from pathlib import Path

from ivl_shards.format.index import write_index
from ivl_shards.format.reader import Hdf5Shard


def write_links(dataset: Path, shards: int) -> Path:
    """Return the path of the index, `links.h5` beside the dataset."""
    out = dataset.with_name("links.h5")
    folder = out.with_name("links.h5.shards")
    folder.mkdir(exist_ok=True)
    original = next(iter(sorted(dataset.with_name(f"{dataset.name}.shards").glob("*.h5"))))
    shard = Hdf5Shard(original)
    listed = [
        (f"links.h5.shards/links-00000000-{k:06d}-of-{shards:06d}.h5", shard.attributes["samples"])
        for k in range(shards)
    ]
    for name, _ in listed:
        if not (out.parent / name).exists():
            os.link(original, out.parent / name)
    known = ("memory", "sequence", "samples", "format", "format_version", "content_sha256")
    attributes = {k: v for k, v in shard.attributes.items() if k not in known}
    write_index(out, out.parent, shard.schema, attributes, listed)
    return out


if __name__ == "__main__":
    write_links(Path(sys.argv[1]), int(sys.argv[2]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
