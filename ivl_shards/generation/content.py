"""Content: what a dataset is to contain, and how any part of it is written.

The engine knows nothing else of a dataset. So it runs generators, which draw their samples, and
`ivl_shards.rewrite`, which copies the samples of existing datasets, in the same way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import MEMORY, Schema
from ivl_shards.format.writer import ShardWriter
from ivl_shards.generation.generator import Generator
from ivl_shards.generation.recipe import Recipe
from ivl_shards.generation.versions import content_versions


class Content(ABC):
    """The samples of a dataset to be. It is pickled and sent to the workers."""

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of samples."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The fields, as they are stored."""

    @property
    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """Attributes that identify the content: equal values, equal content."""

    @property
    @abstractmethod
    def metadata_attributes(self) -> dict[str, Any]:
        """Metadata and package versions, which may change while the content does not."""

    @property
    def first_sample(self) -> int:
        """Index of the first sample, if this is itself a part of a larger dataset."""
        return 0

    def part(self, start: int, stop: int) -> "Content":
        """Return what is needed to write the rows [start, stop), which is sent to a worker."""
        return self

    @abstractmethod
    def write(self, writer: ShardWriter, start: int, stop: int, before: Callable[[], None]) -> None:
        """Append the rows [start, stop) to a file.

        `before` is called before each sample, or every few, and may raise to end the work.
        """

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Return the versions, in this process, of everything that determines the content."""


@dataclass(frozen=True)
class Generated(Content):
    """The samples that a generator makes from a recipe."""

    generator: Generator
    recipe: Recipe
    source: Any = None
    """Location of external data on this machine, for generators that need any."""

    @property
    def total(self) -> int:
        return self.recipe.total

    @property
    def schema(self) -> Schema:
        return self.generator.stored_schema(self.recipe)

    @property
    def attributes(self) -> dict[str, Any]:
        return self.generator.attributes(self.recipe)

    @property
    def metadata_attributes(self) -> dict[str, Any]:
        return self.generator.metadata_attributes(self.recipe, self.source)

    def write(self, writer: ShardWriter, start: int, stop: int, before: Callable[[], None]) -> None:
        make_sample = self.generator.start(self.recipe, self.source)
        for row in range(start, stop):
            before()
            sample = make_sample(row)
            writer.append(with_dense_memory(sample) if self.recipe.dense_memory else sample)

    def versions(self) -> dict[str, str]:
        return content_versions(self.generator)


def with_dense_memory(sample: Sample) -> Sample:
    """Return the sample with the dense memory as one more field."""
    return Sample({**sample, MEMORY: sample.dense_memory()}, sample.sequence)
