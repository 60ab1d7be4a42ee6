"""Metadata: title, description, origins and limits of a dataset, for people who use it.

A generator states them, every file stores them as attributes, and a dataset card is written from
the attributes alone, years later and without the generator.
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
    """Third-party material in the samples, such as fonts, words or photographs."""

    what: str
    where: str
    """Where it comes from; never a path on the machine that generated the dataset."""
    licence: str
    cite: str = ""
    """BibTeX, if its authors ask to be cited."""


@dataclass(frozen=True)
class Metadata:
    """What users should know beyond the recipe and the fields. Every entry is optional."""

    title: str = ""
    description: str = ""
    command: str = ""
    """Command that generates the dataset again, without the name of the file; empty if no command
    line can express the recipe."""
    origins: tuple[Origin, ...] = ()
    limits: tuple[str, ...] = ()
    """Known limitations, one sentence each."""

    def attributes(self) -> dict[str, Any]:
        """Return the attributes to store, without empty entries."""
        entries = {
            "title": self.title,
            "description": self.description,
            "command": self.command,
            "origins": [asdict(origin) for origin in self.origins],
            "limits": list(self.limits),
        }
        return {name: value for name, value in entries.items() if value}


def no_metadata(recipe: Any, source: Any) -> Metadata:
    """Return empty metadata, the default of a generator."""
    return Metadata()


def stored_metadata(attributes: Mapping[str, Any]) -> Metadata:
    """Return the metadata in the attributes of a file; files of format 1.0 have none.

    Unknown keys are ignored, because a later minor version may add some.
    """
    return Metadata(
        attributes.get("title", ""),
        attributes.get("description", ""),
        attributes.get("command", ""),
        tuple(map(_origin, _stored_list(attributes, "origins", dict))),
        tuple(map(clean_text, _stored_list(attributes, "limits", str))),
    )


def _origin(row: dict[str, Any]) -> Origin:
    return Origin(*(clean_text(row.get(field.name, "")) for field in fields(Origin)))


def _stored_list(attributes: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    rows = stored_json(attributes, name, "[]")
    if not isinstance(rows, list) or not all(isinstance(row, kind) for row in rows):
        raise Damage(f"damaged: attribute '{name}' is not a list as docs/FORMAT.md specifies")
    return rows


def stored_versions(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the package versions stored in a file, the toolkit first; {} for format 1.0."""
    found = stored_json(attributes, "versions", "{}")
    if not isinstance(found, dict):
        raise Damage("damaged: attribute 'versions' is not a JSON object")
    return {clean_text(name): clean_text(version) for name, version in found.items()}


@cache
def versions() -> dict[str, str]:
    """Return the installed versions of the toolkit and of the packages that it requires."""
    needed = [line for line in requires("ivl") or [] if "extra ==" not in line]
    names = sorted(re.split(r"[^\w.-]", line)[0] for line in needed)
    found = {}
    for name in ("ivl", *names):
        with suppress(PackageNotFoundError):  # some are installed under another name, like OpenCV
            found[name] = version(name)
    return found
