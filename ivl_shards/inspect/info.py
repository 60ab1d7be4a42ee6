"""Info: a summary of a dataset, for people and for scripts."""

from typing import Any

from ivl_shards.errors import printable
from ivl_shards.format.dataset_files import shard_size
from ivl_shards.format.metadata import stored_sources
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Field
from ivl_shards.inspect.statistics import count_noun, count_samples


def describe(dataset: Dataset) -> dict[str, Any]:
    """Return attributes, sizes, recipe and fields of a dataset as plain values."""
    attributes = {k: v for k, v in dataset.attributes.items() if k not in ("shards", "recipe")}
    return {
        "path": str(dataset.path),
        **attributes,
        "files": len(dataset.shards),
        "bytes": sum(shard_size(path) for path in {dataset.path, *dataset.shards}),
        "samples_by_count": count_samples(dataset),
        "recipe": dataset.recipe,
        "fields": {
            f.name: {"shape": list(f.shape), "dtype": f.dtype, "unit": f.unit, "meaning": f.meaning}
            for f in dataset.schema
        },
    }


def format_info(dataset: Dataset) -> str:
    """Format the summary for a terminal."""
    facts = describe(dataset)
    shards = "" if facts["files"] == 1 else f" in {facts['files']} shards"
    lines = [
        f"{facts['path']}: {facts['task']}, split {facts['split']}, {facts['samples']:,} samples"
        f"{shards}, {facts['bytes'] / 1e6:,.1f} MB",
        f"made by {facts['generator']} {facts['generator_version']}, seed {facts['seed']}, "
        f"format {facts['format']} {facts['format_version']}, licence {facts['licence']}",
        f"content sha256 {facts['content_sha256']}",
        "",
        "samples",
        *(f"  {count_noun(dataset, c):<12}{n:>10,}" for c, n in facts["samples_by_count"].items()),
        "",
        "fields (of one sample)",
        *(_field_line(field) for field in dataset.schema),
        "",
        "recipe",
        *_recipe_lines(facts["recipe"]),
    ]
    return "\n".join(map(printable, lines))


def _recipe_lines(recipe: dict[str, Any]) -> list[str]:
    """Format a recipe; of a dataset that it was copied from, the essentials."""
    sources = stored_sources(recipe)
    shown = {name: value for name, value in recipe.items() if name != "sources" or not sources}
    return [
        *(f"  {name:<14}{value}" for name, value in shown.items()),
        *(
            f"  {'source':<14}{s.command or s.generator}: split {s.split}, {s.samples:,} samples, "
            f"content sha256 {s.content}"
            for s in sources
        ),
    ]


def _field_line(field: Field) -> str:
    shape = "×".join(str(n) for n in field.shape) or "one"
    unit = f" [{field.unit}]" if field.unit else ""
    kind = "jpeg" if field.storage == "encoded" else field.dtype
    return f"  {field.name:<14}{kind:<6}{shape:<13}{field.meaning}{unit}"
