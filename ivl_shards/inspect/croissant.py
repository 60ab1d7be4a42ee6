"""Croissant: metadata of a dataset as JSON-LD, for search engines and catalogues.

The vocabulary is Croissant 1.1 (http://mlcommons.org/croissant/1.1). Croissant loaders cannot read
HDF5; files and fields are described nevertheless, a field as the "column" of its name.
"""

import re
from typing import Any

import numpy as np

from ivl_shards.format.metadata import stored_metadata
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import ENCODED, Field
from ivl_shards.inspect.publication import File, Publication, citations, licence_address

Json = dict[str, Any]

_RECORDS = "samples"
_SPLITS = {"train": "cr:TrainingSplit", "val": "cr:ValidationSplit", "test": "cr:TestSplit"}
_TYPES = {"u": "cr:UInt", "i": "cr:Int", "f": "cr:Float"}
_CROISSANT_WORDS = (
    "arrayShape",
    "citeAs",
    "column",
    "containedIn",
    "equivalentProperty",
    "extract",
    "field",
    "fileObject",
    "fileProperty",
    "fileSet",
    "format",
    "includes",
    "isArray",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "separator",
    "source",
    "subField",
    "transform",
)
_CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{word: f"cr:{word}" for word in _CROISSANT_WORDS},
}


def croissant(dataset: Dataset, files: list[File], published: Publication) -> Json:
    """Return the Croissant metadata of a dataset and of its files."""
    attributes = dataset.attributes
    metadata = stored_metadata(attributes)
    split = str(attributes["split"])
    title = metadata.title or str(attributes["task"])
    whole: Json = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": f"{title}, {split}",
        "description": metadata.description or title,
        "license": licence_address(str(attributes["licence"])),
        "version": _semantic(str(attributes["generator_version"])),
        "citeAs": citations(metadata),
        "keywords": ["inductive visual localisation", str(attributes["task"])],
        "isLiveDataset": False,
        "distribution": [_file_object(file) for file in files],
        "recordSet": [
            _split_set(split),
            *(_class_set(field) for field in dataset.schema if field.classes),
            _sample_set(dataset, split, files[0]),
        ],
    }
    if metadata.limits:
        whole["rai:dataLimitations"] = list(metadata.limits)
    if metadata.command:
        whole["rai:dataCollection"] = f"Made by: {metadata.command}"
    return {**whole, **_publication(published)}


def _publication(published: Publication) -> Json:
    facts: Json = {"url": published.url, "datePublished": published.date}
    if published.creator:
        facts["creator"] = {"@type": "sc:Organization", "name": published.creator}
    return {name: value for name, value in facts.items() if value}


def _semantic(version: str) -> str:
    """Return a generator's version in Croissant's form, major.minor.patch.

    >>> _semantic("1"), _semantic("2.1"), _semantic("spring")
    ('1.0.0', '2.1.0', 'spring')
    """
    if not re.fullmatch(r"\d+(\.\d+)?", version):
        return version
    return version + ".0" * (2 - version.count("."))


def _file_object(file: File) -> Json:
    last = file.first + file.samples - 1
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "description": f"samples {file.first:,} to {last:,}",
        "contentUrl": file.name,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-hdf5",
        "sha256": file.sha256,
    }


def _split_set(split: str) -> Json:
    row = {"splits/name": split}
    fields = [_plain_field("splits", "name", "sc:Text", "name of the split")]
    if split in _SPLITS:
        row["splits/url"] = _SPLITS[split]
        fields.append(_plain_field("splits", "url", "sc:URL", "type of the split"))
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "description": "the split that the samples belong to",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": fields,
        "data": [row],
    }


def _class_set(field: Field) -> Json:
    """Return the record set with the class names of a field."""
    name = f"{field.name}_classes"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"classes of {field.name}: {field.meaning}",
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{name}/number"},
        "field": [
            _plain_field(name, "number", "sc:Integer", "stored value"),
            _plain_field(name, "name", "sc:Text", "name of the class"),
        ],
        "data": [
            {f"{name}/number": number, f"{name}/name": class_}
            for number, class_ in enumerate(field.classes)
        ],
    }


def _sample_set(dataset: Dataset, split: str, file: File) -> Json:
    belongs = _plain_field(_RECORDS, "split", "sc:Text", "split of the sample, not stored in a row")
    return {
        "@type": "cr:RecordSet",
        "@id": _RECORDS,
        "name": _RECORDS,
        "description": f"one record per sample, {len(dataset):,} in all",
        "field": [
            {**belongs, "value": split, "references": {"field": {"@id": "splits/name"}}},
            *(_stored_field(field, file) for field in dataset.schema),
        ],
    }


def _plain_field(record_set: str, name: str, type_: str, meaning: str) -> Json:
    return {
        "@type": "cr:Field",
        "@id": f"{record_set}/{name}",
        "name": name,
        "description": meaning,
        "dataType": type_,
    }


def _stored_field(field: Field, file: File) -> Json:
    source = {"fileObject": {"@id": file.name}, "extract": {"column": field.name}}
    described = _plain_field(_RECORDS, field.name, _data_type(field), _description(field))
    described["source"] = source
    if field.shape:
        described["isArray"] = True
        described["arrayShape"] = ",".join(map(str, field.shape))
    if field.classes:
        described["references"] = {"field": {"@id": f"{field.name}_classes/number"}}
    return described


def _data_type(field: Field) -> str:
    if field.storage == ENCODED:
        return "sc:ImageObject"
    dtype = np.dtype(field.dtype)
    return f"{_TYPES[dtype.kind]}{8 * dtype.itemsize}" if dtype.kind in _TYPES else "sc:Text"


def _description(field: Field) -> str:
    """Describe a field: meaning, unit, and which part of a padded array is used."""
    parts = [field.meaning]
    if field.unit:
        parts.append(f"in {field.unit}")
    if field.counted_by:
        parts.append(f"the first {field.counted_by} entries are used, the rest is zero")
    if field.sized_by:
        parts.append(f"height and width are in {field.sized_by}, the rest is zero")
    return "; ".join(parts)
