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

# Copies of copies that are followed back.
_DEEPEST = 100


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


@dataclass(frozen=True)
class SourceDataset:
    """A dataset that samples were copied from, as the recipe of the copy states it."""

    generator: str
    version: str
    command: str
    split: str
    samples: int
    content: str
    """Content checksum."""
    recipe: dict[str, Any]


def stored_sources(recipe: Mapping[str, Any]) -> list[SourceDataset]:
    """Return the datasets that a dataset was copied from; [] if it was generated.

    What does not look as docs/FORMAT.md specifies is left out.
    """
    listed = recipe.get("sources") if isinstance(recipe.get("operation"), str) else None
    found = []
    for row in listed if isinstance(listed, list) else []:
        if isinstance(row, dict) and isinstance(row.get("recipe"), dict):
            samples = row.get("samples")
            found.append(
                SourceDataset(
                    generator=clean_text(row.get("generator", "")),
                    version=clean_text(row.get("generator_version", "")),
                    command=clean_text(row.get("command", "")),
                    split=clean_text(row.get("split", "")),
                    samples=samples if isinstance(samples, int) else 0,
                    content=clean_text(row.get("content_sha256", "")),
                    recipe=row["recipe"],
                )
            )
    return found


def stored_setting(recipe: Mapping[str, Any], name: str) -> Any:
    """Return a setting of a recipe; of a copy, that of its first source. None if there is none.

    >>> source = {"samples": 1, "recipe": {"category": "plane"}}
    >>> stored_setting({"operation": "take", "sources": [source]}, "category")
    'plane'
    """
    for _ in range(_DEEPEST):
        sources = stored_sources(recipe)
        if not sources:
            break
        recipe = sources[0].recipe
    return recipe.get(name)


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
