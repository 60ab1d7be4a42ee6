"""Publication: who gives a dataset to others, where and when, which no file can know."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Publication:
    """Empty texts for what is not known yet."""

    creator: str = ""
    url: str = ""
    date: str = ""
    """As 2026-11-30."""
