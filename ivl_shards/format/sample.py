"""Sample: one image, its labels, and its memory at every step."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ivl_shards.format.memory import Map, PeakMemory, StepMemory
from ivl_shards.format.schema import DIGEST, MEMORY, Array

# Larger values, in bytes, are hashed at once, to avoid a copy of the whole sample.
_LARGE = 1 << 22


class Sample(Mapping[str, Array]):
    """The fields of one sample by name, without padding, and the memory they imply.

    >>> sample = Sample({"image": np.zeros((4, 4), np.uint8), "steps": np.eye(4, dtype=np.uint8),
    ...                  "line_count": np.uint16(1)}, sequence="line_count")
    >>> len(sample.times), int(sample.memory(1).sum()), int(sample.delta(0).sum())
    (2, 4, 4)
    """

    def __init__(self, fields: Mapping[str, Any], sequence: str) -> None:
        self._fields = {name: np.asarray(value) for name, value in fields.items()}
        self.sequence = sequence

    def __getitem__(self, name: str) -> Array:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        size = "×".join(str(n) for n in self.image.shape)
        return f"<Sample {size}, {self.sequence} {self.length}>"

    @property
    def image(self) -> Array:
        """Pixels, (H, W) or (H, W, 3), uint8."""
        return self["image"]

    @property
    def length(self) -> int:
        """T, the number of lines or objects."""
        return int(self[self.sequence])

    @property
    def times(self) -> range:
        """All t from 0 to T; at t = T nothing is left, and a model must say so."""
        return range(self.length + 1)

    @property
    def steps(self) -> range:
        """The former name of `times`; the step map is the field `sample["steps"]`."""
        warnings.warn("Sample.steps is now Sample.times", DeprecationWarning, stacklevel=2)
        return self.times

    def memory(self, t: int, order: Sequence[int] | None = None) -> Map:
        """Return m_t, (H, W) float32: what has been seen before step t.

        `order` (counting only) lists the objects in another order.
        """
        return self._memory.at(t) if order is None else self._peaks.at(t, order)

    def delta(self, t: int, order: Sequence[int] | None = None) -> Map:
        """Return Δm_t, (H, W) float32: what a model should predict at step t."""
        return self._memory.delta(t) if order is None else self._peaks.delta(t, order)

    def dense_memory(self) -> Array:
        """Return all memories m_0 … m_T, (T + 1, H, W): uint8 for lines, float16 for peaks."""
        dtype = np.uint8 if isinstance(self._memory, StepMemory) else np.float16
        first = self.memory(0)
        dense = np.empty((self.length + 1, *first.shape), dtype)
        for t in self.times:
            dense[t] = self.memory(t)
        return dense

    @cached_property
    def _memory(self) -> StepMemory | PeakMemory:
        if "steps" in self:
            return StepMemory(self["steps"], self.length)
        height, width = self["image_size"] if "image_size" in self else self.image.shape[:2]
        return PeakMemory(self["centres"], float(self["sigma"]), (int(height), int(width)))

    @property
    def _peaks(self) -> PeakMemory:
        if not isinstance(self._memory, PeakMemory):
            raise ValueError("lines have one order; only objects to count can be reordered")
        return self._memory


def digest(fields: Mapping[str, Array]) -> bytes:
    """Return the SHA-256 of a sample's values without padding, as docs/FORMAT.md specifies.

    Pixels are hashed uncompressed; an encoded photograph is hashed as its bytes.
    """
    pieces: list[bytes | memoryview] = []
    hashed = hashlib.sha256()
    for name in sorted(fields):
        if name not in (DIGEST, MEMORY):  # the memory follows from the other fields
            value = np.asarray(fields[name], order="C")
            pieces += [_heading(name, value.dtype, value.shape), value.data]
            if value.nbytes > _LARGE:
                hashed.update(b"".join(pieces))
                pieces = []
    # At once: joining is cheaper than updating the hash with every small piece.
    hashed.update(b"".join(pieces))
    return hashed.digest()


@lru_cache(maxsize=1024)
def _heading(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return what precedes a value in the digest; cached, as samples share most headings."""
    return f"{name} {dtype.str} {shape}\n".encode()
