"""Copied: the content of a dataset whose samples come from existing ones."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ivl_shards.format.copying import Rows, copy_rows
from ivl_shards.format.metadata import versions
from ivl_shards.format.schema import Schema
from ivl_shards.format.writer import ShardWriter
from ivl_shards.generation.content import Content


@dataclass(frozen=True)
class Description:
    """Fields and attributes of a dataset to be."""

    schema: Schema
    attributes: dict[str, Any]
    """Attributes that identify the content."""
    metadata: dict[str, Any]
    """Title, origins, versions and the like."""
    first_sample: int = 0


@dataclass(frozen=True)
class Copied(Content):
    """Samples of existing datasets, in the order in which they are to be written."""

    description: Description
    pieces: tuple[tuple[Path, Rows], ...] = field(compare=False)
    """Datasets, and the rows to copy from each."""
    begin: int = 0
    """Index of the first of these samples in the dataset to be."""

    @property
    def total(self) -> int:
        return sum(len(rows) for _, rows in self.pieces)

    @property
    def schema(self) -> Schema:
        return self.description.schema

    @property
    def attributes(self) -> dict[str, Any]:
        return self.description.attributes

    @property
    def metadata_attributes(self) -> dict[str, Any]:
        return self.description.metadata

    @property
    def first_sample(self) -> int:
        return self.description.first_sample

    def part(self, start: int, stop: int) -> "Copied":
        """Return only the rows [start, stop): the list of all may be long."""
        return replace(self, pieces=tuple(self._between(start, stop)), begin=start)

    def write(self, writer: ShardWriter, start: int, stop: int, before: Callable[[], None]) -> None:
        for path, rows in self._between(start, stop):
            copy_rows(writer, self.schema, path, rows, before)

    def versions(self) -> dict[str, str]:
        return {name: number for name, number in versions().items() if name == "ivl"}

    def _between(self, start: int, stop: int) -> Iterator[tuple[Path, Rows]]:
        first = self.begin
        for path, rows in self.pieces:
            here = rows[max(0, start - first) : max(0, stop - first)]
            if len(here):
                yield path, here
            first += len(rows)
