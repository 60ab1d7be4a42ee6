"""Lineage: the attributes of a dataset that was copied from others.

Its recipe is the operation and, for each source, the source's own recipe and checksum. Licence,
origins, limits and package versions are those of the sources.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ivl_shards.format.copying import file_schema
from ivl_shards.format.metadata import Metadata, ResponsibleUse, stored_metadata, stored_versions
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Schema
from ivl_shards.rewrite.copied import Description

VERSION = "1"
"""Changes whenever the same operation on the same datasets gives other samples."""

_Value = TypeVar("_Value")
_IDENTITY = ("task", "generator", "generator_version", "recipe", "seed", "split", "licence")


@dataclass(frozen=True)
class Operation:
    """What was done to the sources."""

    name: str
    """`take`, `split` or `merge`."""
    settings: dict[str, Any]
    """What decides the result; stored in the recipe."""
    command: str
    """The command line, with names in capitals for the files."""
    sentence: str
    """What was done, for the dataset's description."""


def unchanged(source: Dataset) -> Description:
    """Return the attributes of a dataset that is stored in other files, but otherwise the same."""
    attributes = source.attributes
    return Description(
        file_schema(source),
        {name: attributes[name] for name in _IDENTITY},
        _metadata_attributes(stored_metadata(attributes), [source]),
        attributes.get("first_sample", 0),
    )


def derived(
    sources: Sequence[Dataset], schema: Schema, total: int, split: str, operation: Operation
) -> Description:
    """Return the attributes of what an operation makes of its sources."""
    recipe = {
        "operation": operation.name,
        **operation.settings,
        "total": total,
        "sources": [_summary(source) for source in sources],
    }
    first = sources[0].attributes
    attributes = {
        "task": first["task"],
        "generator": f"ivl-shards {operation.name}",
        "generator_version": VERSION,
        "recipe": json.dumps(recipe, sort_keys=True),
        "seed": first["seed"],
        "split": split,
        "licence": joined_licence([source.attributes["licence"] for source in sources]),
    }
    metadata = _joined_metadata([stored_metadata(source.attributes) for source in sources])
    description = " ".join(filter(None, [metadata.description, operation.sentence]))
    whole = replace(metadata, description=description, command=operation.command)
    return Description(schema, attributes, _metadata_attributes(whole, sources))


def _summary(source: Dataset) -> dict[str, Any]:
    """Return what a recipe says of a source: how it was made and what is in it."""
    attributes = source.attributes
    names = ("generator", "generator_version", "seed", "split", "samples", "content_sha256")
    said = {name: attributes[name] for name in names}
    if attributes.get("first_sample"):
        said["first_sample"] = attributes["first_sample"]
    if attributes.get("command"):
        said["command"] = attributes["command"]
    return {**said, "recipe": source.recipe}


def joined_licence(licences: Iterable[str]) -> str:
    """Return the licence of data under several licences, all of which hold.

    >>> joined_licence(["CC0-1.0", "CC-BY-4.0", "CC0-1.0 AND CC-BY-4.0"])
    'CC0-1.0 AND CC-BY-4.0'
    """
    return " AND ".join(_unique(part for each in licences for part in each.split(" AND ")))


def joined_split(splits: Iterable[str]) -> str:
    """Return the name of the split of merged data.

    >>> joined_split(["train", "val", "train-val"])
    'train-val'
    """
    return "-".join(_unique(part for each in splits for part in each.split("-")))


def _joined_metadata(all_: Sequence[Metadata]) -> Metadata:
    return Metadata(
        " and ".join(_unique(m.title for m in all_ if m.title)),
        " ".join(_unique(m.description for m in all_ if m.description)),
        "",
        tuple(_unique(origin for m in all_ for origin in m.origins)),
        tuple(_unique(limit for m in all_ for limit in m.limits)),
        _joined_use([m.responsible for m in all_]),
    )


def _joined_use(all_: Sequence[ResponsibleUse]) -> ResponsibleUse:
    """Return what the sources state on responsible use; synthetic only if all of them are."""
    stated = {each.synthetic for each in all_}
    return ResponsibleUse(
        tuple(_unique(use for each in all_ for use in each.uses)),
        tuple(_unique(bias for each in all_ for bias in each.biases)),
        tuple(_unique(line for each in all_ for line in each.personal_information)),
        " ".join(_unique(each.social_impact for each in all_ if each.social_impact)),
        None if None in stated else stated == {True},
    )


def _metadata_attributes(metadata: Metadata, sources: Sequence[Dataset]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for source in sources:
        for name, version in stored_versions(source.attributes).items():
            found.setdefault(name, []).append(version)
    versions = {name: ", ".join(_unique(all_)) for name, all_ in found.items()}
    return {**metadata.attributes(), **({"versions": versions} if versions else {})}


def _unique(values: Iterable[_Value]) -> list[_Value]:
    return list(dict.fromkeys(values))
