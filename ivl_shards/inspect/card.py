"""Card: a page that describes a dataset, written from the dataset alone.

The page is Markdown with the YAML header of Hugging Face.
"""

import html
import json
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ivl_shards.format.kinds import kind_of, unpadded_shape
from ivl_shards.format.metadata import (
    Metadata,
    ResponsibleUse,
    stored_metadata,
    stored_sources,
    stored_versions,
)
from ivl_shards.format.outlines import find_outlines, step_text
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import ENCODED, Field, Schema
from ivl_shards.generation.layout import ONE_FILE
from ivl_shards.inspect.publication import (
    HDF5,
    PARQUET,
    File,
    Packing,
    Publication,
    citations,
    licence_head,
    split_name,
)
from ivl_shards.inspect.statistics import Spread, count_classes, count_noun, count_samples, spreads

_MEMORY = {
    "steps": (
        "The memory m_t is the union of the regions of the first t {things}. The field `steps` "
        "holds all of them: m_t is where it is between 1 and t, and what step t + 1 adds is where "
        "it is t + 1."
    ),
    "peaks": (
        "The memory m_k is a map of Gaussian peaks of width `sigma` at the `centres` of the first "
        "k {things}, in any order; what is left to count are the peaks of the others."
    ),
}
# Files listed by name; the Croissant metadata lists all of them.
_MOST_FILES = 20


def card(
    dataset: Dataset, files: list[File], published: Publication, packing: Packing = HDF5
) -> str:
    """Return the dataset card as Markdown."""
    metadata = stored_metadata(dataset.attributes)
    parts = [
        _head(dataset, metadata, packing),
        f"# {_label(_title(dataset, metadata))}",
        _escaped(metadata.description),
        _facts(dataset, files, published, packing),
        "## How to read it",
        _use_parquet(dataset) if packing == PARQUET else _use(dataset),
        "## Fields",
        _fields(dataset.schema, packing),
        "## Statistics",
        *_statistics(dataset),
        "## How it was made",
        *_making(dataset, metadata),
        "## Licence and origin",
        *_licence(dataset, metadata),
        "## Known limits",
        _bullets(map(_escaped, metadata.limits)) if metadata.limits else "The file states none.",
        *_responsible_use(metadata.responsible),
        "## How to cite",
        _block("bibtex", citations(metadata)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(dataset: Dataset, metadata: Metadata) -> str:
    attributes = dataset.attributes
    return f"{metadata.title or attributes['task']}: {attributes['split']}"


# --- the head ----------------------------------------------------------------------------


def _head(dataset: Dataset, metadata: Metadata, packing: Packing) -> str:
    attributes = dataset.attributes
    split = split_name(dataset)
    # Hugging Face's loader refuses virtual datasets, so the shards are listed.
    shards = [path.relative_to(dataset.path.parent).as_posix() for path in dataset.shards]
    paths = f"data/{split}-*" if packing == PARQUET else shards
    head = {
        "pretty_name": metadata.title or attributes["task"],
        **licence_head(str(attributes["licence"])),
        "size_categories": [_size_category(len(dataset))],
        "task_categories": task_categories(dataset.schema),
        "tags": ["inductive-visual-localisation", attributes["task"]],
        "configs": [
            {"config_name": "default", "data_files": [{"split": split, "path": paths}]},
        ],
    }
    # JSON is valid YAML, and needs neither another package nor special quoting.
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    return "\n".join(["---", *lines, "---"])


def task_categories(schema: Schema) -> list[str]:
    """Return Hugging Face's names of the tasks that the labels are for."""
    outlines = find_outlines(schema)
    fitting = {
        "image-to-text": bool(step_text(schema)),
        "object-detection": bool(outlines),
        "image-segmentation": schema.memory == "steps",
    }
    return [name for name, fits in fitting.items() if fits] or ["other"]


def _size_category(samples: int) -> str:
    """Return Hugging Face's size category for a number of samples.

    >>> [_size_category(n) for n in (999, 1000, 250_000, 2_000_000)]
    ['n<1K', '1K<n<10K', '100K<n<1M', '1M<n<10M']
    """
    steps = ["1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T"]
    place = len(str(samples)) - 4
    return "n<1K" if place < 0 else f"{steps[place]}<n<{steps[place + 1]}"


# --- what is in it -----------------------------------------------------------------------


def _facts(dataset: Dataset, files: list[File], published: Publication, packing: Packing) -> str:
    attributes = dataset.attributes
    stored = f"{attributes['format']} {attributes['format_version']}"
    format_ = "Parquet, for Hugging Face `datasets`" if packing == PARQUET else f"HDF5, {stored}"
    size = sum(file.bytes for file in files)
    rows = [
        ("samples", f"{len(dataset):,}"),
        ("split", _label(attributes["split"])),
        ("format", format_ if packing == PARQUET else _label(format_)),
        ("size", f"{_megabytes(size)} in {len(files)} file{'s' if len(files) > 1 else ''}"),
        ("licence", _label(attributes["licence"])),
        ("content SHA-256", _code(attributes["content_sha256"])),
        ("published by", _label(published.creator)),
        ("published at", _escaped(published.url)),
        ("published on", published.date),
    ]
    named = files[:_MOST_FILES]
    table = _table(("", ""), [row for row in rows if row[1]])
    sums = [(_code(f.name), f"{f.bytes:,}", _code(f.sha256)) for f in named]
    listed = _table(("file", "bytes", "SHA-256"), sums)
    more = len(files) - len(named)
    rest = f"\n\nand {more:,} more, listed in the Croissant metadata." if more else ""
    return f"{table}\n\n{listed}{rest}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size:,} bytes"


def _use(dataset: Dataset) -> str:
    name = json.dumps(dataset.path.name, ensure_ascii=False)
    code = (
        "import h5py\n"
        "from ivl_shards import open_dataset\n\n"
        f'image = h5py.File({name})["image"][0]  # plain HDF5: padded, photographs as JPEG\n'
        f"sample = open_dataset({name})[0]  # the toolkit's reader\n"
        "sample.image, sample.memory(0), sample.delta(0)"
    )
    return (
        f"Row i of every HDF5 dataset in the file belongs to sample i. {_memory(dataset)}\n\n"
        + (_block("python", code))
    )


def _use_parquet(dataset: Dataset) -> str:
    code = (
        "from datasets import load_dataset\n\n"
        'samples = load_dataset("FOLDER")  # or streaming=True\n'
        f'sample = samples["{split_name(dataset)}"][0]\n'
        'sample["image"]  # a PIL image'
    )
    return (
        "One row per sample, lists without padding. Pictures are PNG or JPEG files, which Hugging "
        f"Face's loader decodes; class numbers have names. {_memory(dataset)}\n\n"
    ) + _block("python", code)


def _memory(dataset: Dataset) -> str:
    things = dataset.schema.sequence.removesuffix("_count") + "s"
    return _MEMORY.get(dataset.schema.memory, "").format(things=things)


def _fields(schema: Schema, packing: Packing) -> str:
    rows = [
        (_code(f.name), *_type_and_shape(f, packing), _label(f.unit), _meaning(f)) for f in schema
    ]
    return _table(("field", "type", "shape of a sample", "unit", "meaning"), rows)


def _type_and_shape(field: Field, packing: Packing) -> tuple[str, str]:
    if packing == HDF5:
        return _type(field), _shape(field)
    kind, sides = kind_of(field), [str(n) for n in unpadded_shape(field)]
    if field.counted_by:
        sides[0] = field.counted_by
    if kind == "picture":
        return "image, JPEG" if field.storage == ENCODED else "image, PNG", ""
    type_ = {"text": "text", "class": "class"}.get(kind, np.dtype(field.dtype).name)
    return type_, ", ".join(sides).replace("-1", "any")


def _type(field: Field) -> str:
    if field.storage == ENCODED:
        return "JPEG bytes"
    dtype = np.dtype(field.dtype)
    return f"text, UTF-8, {dtype.itemsize} bytes" if dtype.kind == "S" else dtype.name


def _shape(field: Field) -> str:
    """Return the shape of a field, for example `object_count ≤ 10, 2` if it is padded to ten."""
    sides = [str(side) for side in field.shape]
    if field.counted_by:
        sides[0] = f"{field.counted_by} ≤ {sides[0]}"
    if field.sized_by:
        sides[:2] = [f"height ≤ {sides[0]}", f"width ≤ {sides[1]}"]
    return ", ".join(sides)


def _meaning(field: Field) -> str:
    meaning = _escaped(field.meaning)
    classes = ", ".join(f"{number} {_label(name)}" for number, name in enumerate(field.classes))
    return f"{meaning}: {classes}" if classes else meaning


def _statistics(dataset: Dataset) -> Iterator[str]:
    counts = [(count_noun(dataset, c), f"{n:,}") for c, n in count_samples(dataset).items()]
    yield _table(("a sample has", "samples"), counts)
    image = dataset.schema["image"]
    if image.storage != ENCODED and not image.sized_by:
        height, width = image.shape[:2]
        yield f"All images are {height} pixels high and {width} wide."
    rows = [_spread_row(spread) for spread in spreads(dataset)]
    if rows:
        yield _table(("of a sample", "least", "median", "most", "unit"), rows)
    for name, numbers in count_classes(dataset).items():
        yield _table((_code(name), "number"), [(_label(c), f"{n:,}") for c, n in numbers.items()])


def _spread_row(spread: Spread) -> tuple[str, ...]:
    numbers = (f"{value:,.6g}" for value in (spread.least, spread.median, spread.most))
    return (spread.name, *numbers, _label(spread.unit))


# --- where it comes from -----------------------------------------------------------------


def _making(dataset: Dataset, metadata: Metadata) -> Iterator[str]:
    attributes = dataset.attributes
    if metadata.command:
        yield _block("", command_line(dataset, metadata))
        yield from _sources(dataset)
    else:
        yield "The file does not state a command; its recipe, for Python, is below."
    if len(dataset) < int(dataset.recipe["total"]):
        first, last = attributes["first_sample"], attributes["first_sample"] + len(dataset) - 1
        yield (
            f"This file is one shard of a larger dataset: samples {first:,} to {last:,} of "
            f"{dataset.recipe['total']:,}. The command generates all of them."
        )
    yield (
        f"Made by {_code(attributes['generator'])}, version "
        f"{_label(attributes['generator_version'])}, seed {attributes['seed']}. The same "
        "recipe gives the same content with the same versions, on any machine and with any number "
        "of workers: compare the content SHA-256 above, which "
        f"{_code(f'ivl-shards verify {shlex.quote(dataset.path.name)}')} checks."
    )
    yield "Recipe:"
    yield _block("json", _recipe(dataset))
    packages = [f"{name} {version}" for name, version in stored_versions(attributes).items()]
    if packages:
        yield f"Versions: {_label(', '.join(packages))}."


def _sources(dataset: Dataset) -> Iterator[str]:
    """Yield what the datasets are that this one was copied from."""
    sources = stored_sources(dataset.recipe)
    if not sources:
        return
    yield "OUT stands for this dataset, and SOURCE for what it was copied from:"
    head = ("source", "made by", "split", "samples", "content SHA-256")
    names = (
        ["SOURCE.h5"] if len(sources) == 1 else [f"SOURCE-{k + 1}.h5" for k in range(_MOST_FILES)]
    )
    rows = [
        (
            _code(name),
            _code(source.command or f"{source.generator} {source.version}"),
            _label(source.split),
            f"{source.samples:,}",
            _code(source.content),
        )
        for name, source in zip(names, sources, strict=False)
    ]
    yield _table(head, rows)
    if len(sources) > _MOST_FILES:
        yield f"and {len(sources) - _MOST_FILES:,} more, listed in the recipe."


def _recipe(dataset: Dataset) -> str:
    """Return the recipe as JSON with one setting per line."""
    knobs = dataset.recipe.items()
    lines = [f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in knobs]
    return "{\n" + ",\n".join(lines) + "\n}"


def command_line(dataset: Dataset, metadata: Metadata) -> str:
    """Return the command that generates this dataset again under the same name."""
    if stored_sources(dataset.recipe):
        return metadata.command  # its files have names in capitals
    sharded = dataset.shards != [dataset.path]
    layout = []
    if sharded or len(dataset) > ONE_FILE:
        layout = ["--shard-size", str(dataset.shard_sizes[0])]
    return f"{metadata.command} {shlex.join([*layout, dataset.path.name])}"


def _licence(dataset: Dataset, metadata: Metadata) -> Iterator[str]:
    yield f"Licence of the dataset: {_label(dataset.attributes['licence'])}."
    if metadata.origins:
        rows = [tuple(map(_label, (o.what, o.where, o.licence))) for o in metadata.origins]
        yield _table(("what", "where from", "licence"), rows)
    elif metadata.description:
        yield "Everything was drawn by the generator; there is no third-party material."
    else:
        yield "The file does not state its origins."


def _responsible_use(stated: ResponsibleUse) -> Iterator[str]:
    if stated == ResponsibleUse():
        return
    yield "## Responsible use"
    rows = [
        ("use", " ".join(stated.uses)),
        ("biases", " ".join(stated.biases)),
        ("personal information", " ".join(stated.personal_information)),
        ("social impact", stated.social_impact),
        ("synthetic", "" if stated.synthetic is None else "yes" if stated.synthetic else "no"),
    ]
    yield _table(("", ""), [(name, _escaped(text)) for name, text in rows if text])


# --- Markdown ----------------------------------------------------------------------------


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(value: Any) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)


def _block(language: str, text: str) -> str:
    fence = "`" * max(3, _longest_backticks(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Return a text from the file as inline code, in which HTML has no effect."""
    text = " ".join(text.split())
    fence = "`" * (_longest_backticks(text) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _longest_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _escaped(text: str) -> str:
    """Escape HTML, but not Markdown, in sentences from the file.

    >>> _escaped("3 < 5 <script>")
    '3 &lt; 5 &lt;script&gt;'
    """
    return html.escape(text, quote=False)


def _label(text: str) -> str:
    """Escape both HTML and Markdown in a label from the file.

    >>> _label("a_b [x](javascript:1) <b>")
    'a_b \\\\[x](javascript:1) &lt;b&gt;'
    """
    return re.sub(r"([\\`*\[])", r"\\\1", _escaped(" ".join(text.split())))
