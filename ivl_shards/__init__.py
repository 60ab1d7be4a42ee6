"""The shard format: datasets whose samples carry the memory of an ideal reader at every step.

`open_dataset` reads a dataset, `generate` makes one; docs/FORMAT.md specifies the files.
"""

from ivl_shards.errors import Damage, Stopped, UserError
from ivl_shards.format.metadata import Metadata, Origin, ResponsibleUse
from ivl_shards.format.reader import Dataset, open_dataset
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import DEFLATE, ENCODED, Field, Schema
from ivl_shards.generation.engine import Made, generate
from ivl_shards.generation.generator import Generator
from ivl_shards.generation.recipe import Recipe

__all__ = [
    "DEFLATE",
    "ENCODED",
    "Damage",
    "Dataset",
    "Field",
    "Generator",
    "Made",
    "Metadata",
    "Origin",
    "Recipe",
    "ResponsibleUse",
    "Sample",
    "Schema",
    "Stopped",
    "UserError",
    "generate",
    "open_dataset",
]
