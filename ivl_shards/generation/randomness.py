"""Randomness: random numbers that depend only on generator, seed, split, count and index."""

import hashlib

import numpy as np


class Draws:
    """Random generators for the samples of one dataset.

    Philox turns (key, counter) into random bits. The key is a hash of generator, seed and
    split; the counter starts at (count, index). So each sample has 2^128 blocks of its own
    and can be generated independently, in any order.

    Draw only integers and uniform floats: they are exact on every machine, while normal and
    other distributions use `log` and `exp`, which are not.

    >>> draws = Draws("example", seed=7, split="train")
    >>> first = draws.at(count=3, index=0).integers(100, size=4)
    >>> other = draws.at(count=3, index=1).integers(100, size=4)
    >>> bool((draws.at(count=3, index=0).integers(100, size=4) == first).all())
    True
    """

    def __init__(self, generator: str, seed: int, split: str) -> None:
        name = f"{generator}\n{seed}\n{split}".encode()
        key = np.frombuffer(hashlib.sha256(name).digest()[:16], "<u8").astype(np.uint64)
        self._bits = np.random.Philox(key=key)
        self._generator = np.random.Generator(self._bits)
        self._state = self._bits.state

    def at(self, count: int, index: int) -> np.random.Generator:
        """Return the random generator of one sample. It is valid until the next call."""
        # Resetting a generator takes 3 µs, creating a new one 24 µs.
        self._state["state"]["counter"][:] = (0, 0, index, count)
        self._state["buffer_pos"] = 4
        self._state["has_uint32"] = 0
        self._bits.state = self._state
        return self._generator
