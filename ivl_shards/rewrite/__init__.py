"""Select, split, reshard and merge existing datasets."""

from ivl_shards.rewrite.operations import merge, reshard, split, take

__all__ = ["merge", "reshard", "split", "take"]
