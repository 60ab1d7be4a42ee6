"""Pick: a few samples that show what is in a dataset."""

import numpy as np

from ivl_shards.reader import Dataset


def pick_samples(dataset: Dataset, most: int) -> dict[int, list[int]]:
    """Up to `most` positions in all, spread evenly over the counts, by count."""
    lengths = dataset.lengths
    counts = np.unique(lengths)
    if len(counts) > most:
        counts = counts[np.linspace(0, len(counts) - 1, most).round().astype(int)]
    each = max(1, most // len(counts))
    return {int(c): np.flatnonzero(lengths == c)[:each].tolist() for c in counts}


def count_noun(dataset: Dataset, count: int) -> str:
    """For example `1 line`, `3 objects`."""
    noun = dataset.schema.sequence.removesuffix("_count")
    return f"{count} {noun}{'' if count == 1 else 's'}"
