"""About: what a dataset says of itself in words, beside its numbers.

A generator declares it, every file carries it as attributes, and a dataset card is written from
there: without the generator, and years later.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from ivl_shards.errors import Damage
from ivl_shards.format.schema import clean_text
from ivl_shards.format.structure import stored_json


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
    """Return what the attributes of a file say; files of format 1.0 say nothing.

    Keys that this version does not know are left out: a later minor version may add some.
    """
    origins = _stored_list(attributes, "origins", dict)
    return About(
        attributes.get("title", ""),
        attributes.get("description", ""),
        attributes.get("command", ""),
        tuple(
            Origin(*(clean_text(row.get(f.name, "")) for f in fields(Origin))) for row in origins
        ),
        tuple(map(clean_text, _stored_list(attributes, "limits", str))),
    )


def _origin(row: dict[str, Any]) -> Origin:
    return Origin(*(clean_text(row.get(field.name, "")) for field in fields(Origin)))


def _stored_list(attributes: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    rows = stored_json(attributes, name, "[]")
    if not isinstance(rows, list) or not all(isinstance(row, kind) for row in rows):
        raise Damage(f"damaged: attribute '{name}' is not a list as docs/FORMAT.md has it")
    return rows


def stored_versions(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The packages that a file was made with, the toolkit first; files of format 1.0: none."""
    found = stored_json(attributes, "versions", "{}")
    if not isinstance(found, dict):
        raise Damage("damaged: attribute 'versions' is not a JSON object")
    return {clean_text(name): clean_text(version) for name, version in found.items()}


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
