"""About: what a dataset says of itself in words, beside its numbers.

A generator declares it, every file carries it as attributes, and a dataset card is written from
there: without the generator, and years later.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any


@dataclass(frozen=True)
class Origin:
    """Something of other people that samples are made of: fonts, words, photographs …"""

    what: str
    where: str
    """Where it comes from; never a place on the maker's machine."""
    licence: str
    cite: str = ""
    """BibTeX, where its authors ask to be cited."""


@dataclass(frozen=True)
class About:
    """What a card needs that neither recipe nor fields tell. All of it may be missing."""

    title: str = ""
    description: str = ""
    command: str = ""
    """What a user types to make the dataset again, all but the name of the file; empty where the
    command line cannot say it."""
    origins: tuple[Origin, ...] = ()
    limits: tuple[str, ...] = ()
    """What the data must not be trusted with, a sentence each."""

    def attributes(self) -> dict[str, Any]:
        """What stands on the file; nothing for what is not known."""
        said = {
            "title": self.title,
            "description": self.description,
            "command": self.command,
            "origins": [asdict(origin) for origin in self.origins],
            "limits": list(self.limits),
        }
        return {name: value for name, value in said.items() if value}


def nothing_said(recipe: Any, source: Any) -> About:
    """For generators that say nothing about their data."""
    return About()


def stored_about(attributes: Mapping[str, Any]) -> About:
    """What the attributes of a file say; files of format 1.0 say nothing."""
    return About(
        attributes.get("title", ""),
        attributes.get("description", ""),
        attributes.get("command", ""),
        tuple(Origin(**row) for row in json.loads(attributes.get("origins", "[]"))),
        tuple(json.loads(attributes.get("limits", "[]"))),
    )


def stored_versions(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The packages that a file was made with, the toolkit first; files of format 1.0: none."""
    return dict(json.loads(attributes.get("versions", "{}")))


@cache
def versions() -> dict[str, str]:
    """The toolkit and the packages that it needs, each at the version that is installed here."""
    needed = [line for line in requires("ivl") or [] if "extra ==" not in line]
    names = sorted(re.split(r"[^\w.-]", line)[0] for line in needed)
    found = {}
    for name in ("ivl", *names):
        with suppress(PackageNotFoundError):  # some come under another name, as OpenCV does
            found[name] = version(name)
    return found
