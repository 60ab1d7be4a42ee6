"""Compatibility: whether datasets can be merged, and the fields of the result."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ivl_shards.errors import Damage, UserError
from ivl_shards.format.copying import file_schema
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import ENCODED, MEMORY, Field, Schema
from ivl_shards.format.structure import check_schema


def merged_schema(datasets: Sequence[Dataset]) -> Schema:
    """Return fields with room for the samples of all datasets; raise if they do not fit together.

    Only padding may differ. Whatever enters a sample's digest must be the same.
    """
    first = datasets[0]
    merged = file_schema(first)
    for other in datasets[1:]:
        schema = file_schema(other)
        for difference in _differences(first, merged, other, schema):
            raise UserError(f"{other.path}: cannot be merged with {first.path}: {difference}")
        fields = tuple(_with_room(field, schema[field.name]) for field in merged)
        merged = Schema(merged.memory, merged.sequence, fields)
    try:
        check_schema(merged)
    except Damage as error:
        reason = str(error).removeprefix("damaged: ")
        raise UserError(f"{first.path}: cannot be merged with the others: {reason}") from None
    return merged


def _differences(first: Dataset, one: Schema, second: Dataset, other: Schema) -> Iterator[str]:
    """Yield what keeps two datasets apart."""
    tasks = first.attributes["task"], second.attributes["task"]
    if tasks[0] != tasks[1]:
        yield f"its task is {tasks[1]}, not {tasks[0]}"
    for name in ("memory", "sequence"):
        wanted, found = getattr(one, name), getattr(other, name)
        if wanted != found:
            yield f"its {name} is {found}, not {wanted}"
    for field in one:
        if field.name not in other:
            yield f"it has no field '{field.name}'"
    for field in other:
        if field.name not in one:
            yield f"it also has a field '{field.name}'"
        else:
            yield from _field_differences(one[field.name], field)


def _field_differences(one: Field, other: Field) -> Iterator[str]:
    name = one.name
    if (one.storage == ENCODED) != (other.storage == ENCODED):
        kind = "JPEG" if other.storage == ENCODED else "pixels"
        yield f"'{name}' is stored as {kind}"
        return
    if one.dtype != other.dtype:
        yield f"'{name}' is {_type(other)}, not {_type(one)}"
    for property_ in ("counted_by", "sized_by", "unit"):
        wanted, found = getattr(one, property_), getattr(other, property_)
        if wanted != found:
            yield f"'{name}' has {property_} {found or 'none'}, not {wanted or 'none'}"
    if one.classes != other.classes:
        yield f"'{name}' has other classes"
    fixed = [field.shape[_padded_axes(one) :] for field in (one, other)]
    if len(one.shape) != len(other.shape) or fixed[0] != fixed[1]:
        yield f"'{name}' has the shape {_shape(other)}, not {_shape(one)}"


def _padded_axes(field: Field) -> int:
    """Return how many of the first axes are padded."""
    if field.name == MEMORY:
        return 3
    return 2 if field.sized_by else 1 if field.counted_by else 0


def _with_room(one: Field, other: Field) -> Field:
    return replace(one, shape=tuple(map(max, one.shape, other.shape)))


def _type(field: Field) -> str:
    return f"text of {field.dtype[1:]} bytes" if field.dtype.startswith("S") else field.dtype


def _shape(field: Field) -> str:
    return "×".join(map(str, field.shape)) or "of one value"
