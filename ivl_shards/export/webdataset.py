"""WebDataset: the files of all samples in tar files, as PyTorch's WebDataset streams them."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from ivl_shards.export.files import sample_files
from ivl_shards.format.reader import Dataset

SAMPLES_PER_TAR = 1000


def write_webdataset(dataset: Dataset, folder: Path) -> Iterator[int]:
    """Write 000000.tar, 000001.tar … without times or owners: equal data gives equal bytes."""
    for start in range(0, len(dataset), SAMPLES_PER_TAR):
        with tarfile.open(folder / f"{start // SAMPLES_PER_TAR:06d}.tar", "w") as tar:
            for i in range(start, min(start + SAMPLES_PER_TAR, len(dataset))):
                for ending, data in sample_files(dataset, i).items():
                    entry = tarfile.TarInfo(f"{i:06d}.{ending}")
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
                yield i + 1
