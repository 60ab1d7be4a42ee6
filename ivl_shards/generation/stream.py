"""Stream: the samples of a recipe without files and without end."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ivl_shards.format.columns import decode
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import ENCODED, Array, pad
from ivl_shards.generation.generator import Generator
from ivl_shards.generation.recipe import Recipe

# Practically endless; `len` must be a number.
_ENDLESS = 1 << 40


class Stream:
    """The samples of a recipe, generated on demand.

    Iterate over it without end, or index any row: row i equals row i of a dataset of this
    recipe. A PyTorch DataLoader takes `stream.padded(fields)` with any number of workers
    (without `shuffle`, which random samples do not need).
    """

    def __init__(self, generator: Generator, recipe: Recipe, source: Any = None) -> None:
        self.generator, self.recipe, self.source = generator, recipe, source
        self.schema = generator.schema(recipe)
        self._make: Callable[[int], Sample] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_make": None}  # each process opens its own data

    def __len__(self) -> int:
        return _ENDLESS

    def __getitem__(self, row: int) -> Sample:
        if self._make is None:
            self._make = self.generator.start(self.recipe, self.source)
        sample = self._make(row)
        if self.schema["image"].storage != ENCODED:
            return sample
        # Decoded from its JPEG, so that the pixels are those of a stored dataset.
        image = decode(self.schema["image"], sample["image"])
        return Sample({**sample, "image": image}, sample.sequence)

    def __iter__(self) -> Iterator[Sample]:
        row = 0
        while True:
            yield self[row]
            row += 1

    def padded(self, fields: list[str] | None = None) -> "PaddedStream":
        """Return the samples as dictionaries of padded arrays, all of the same shape."""
        return PaddedStream(self, fields or [field.name for field in self.schema])


class PaddedStream:
    """A stream as dictionaries, see `Stream.padded`."""

    def __init__(self, stream: Stream, names: list[str]) -> None:
        self._stream, self._names = stream, names

    def __len__(self) -> int:
        return len(self._stream)

    def __getitem__(self, row: int) -> dict[str, Array]:
        sample = self._stream[row]
        return {name: self._padded(name, sample[name]) for name in self._names}

    def _padded(self, name: str, value: Array) -> Array:
        field = self._stream.schema[name]
        return np.asarray(value) if field.storage == ENCODED else pad(field, value)
