"""Generator: the description of a dataset generator that the engine works with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ivl_shards.format.metadata import Metadata, no_metadata, versions
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import DIGEST_FIELD, Schema, dense_memory_field
from ivl_shards.generation.randomness import Draws
from ivl_shards.generation.recipe import Recipe


@dataclass(frozen=True)
class Generator:
    """A tool that generates datasets sample by sample. Its functions are pure and picklable."""

    name: str
    """The command, for example `shapes-gen toy`."""
    version: str
    """Changes whenever the same recipe gives different samples."""
    task: str
    licence: str
    """Licence of the generated data."""
    schema: Callable[[Any], Schema]
    """Recipe → fields of a dataset."""
    size: Callable[[Any], tuple[int, int]]
    """Recipe → height and width of the largest image."""
    start: Callable[[Any, Any], Callable[[int], Sample]]
    """Recipe, source → the function from a row of the dataset to its sample.

    It is called once for each shard, so that external data is opened once. The source is the
    location of external data on this machine, or None; whatever determines the content is part
    of the recipe.
    """
    metadata: Callable[[Any, Any], Metadata] = no_metadata
    """Recipe, source → title, description, origins and limits for the dataset card."""

    def stored_schema(self, recipe: Recipe) -> Schema:
        """Return the generator's fields and those that every dataset has."""
        schema = self.schema(recipe)
        if recipe.dense_memory:
            longest = max(recipe.counts)
            schema = schema.with_fields(dense_memory_field(schema, longest, self.size(recipe)))
        return schema.with_fields(DIGEST_FIELD)

    def attributes(self, recipe: Recipe) -> dict[str, Any]:
        """Return the attributes that identify the content: equal values, equal content."""
        return {
            "task": self.task,
            "generator": self.name,
            "generator_version": self.version,
            "recipe": recipe.to_json(),
            "seed": recipe.seed,
            "split": recipe.split,
            "licence": self.licence,
        }

    def metadata_attributes(self, recipe: Recipe, source: Any) -> dict[str, Any]:
        """Return metadata and package versions, which may change while the content does not."""
        return {**self.metadata(recipe, source).attributes(), "versions": versions()}


def drawn_samples(
    generator: str,
    recipe: Recipe,
    render: Callable[[Any, int, np.random.Generator], Sample],
) -> Callable[[int], Sample]:
    """Return the function from a row to its sample, for a generator without external data.

    `render` gets the recipe, the sample's count, and the sample's own random generator.
    """
    draws = Draws(generator, recipe.seed, recipe.split)

    def sample(row: int) -> Sample:
        count, index = recipe.place(row)
        return render(recipe, count, draws.at(count, index))

    return sample
