"""Search: which reading of the paper's sentence comes closest to its table.

python -m icdar_blocks.search --root ICDAR2013

The numbers of the sentence (a half, three, a third) are kept; only what it leaves open is
varied, each choice over the few meanings it can have. So the search has few ways of being
lucky, and none of fitting a number to the data.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import click

from icdar_blocks.grouping import lines_to_blocks, words_to_lines
from icdar_blocks.rule import LITERAL, PUBLISHED, Rule
from icdar_blocks.scenes import Split, read_split
from icdar_blocks.table import MOST, Table, make_table
from icdar_blocks.words import Block, Line
from ivl_shards.generation.knobs import knobs_of
from ivl_shards.options import run

_OPEN: dict[str, tuple[Any, ...]] = {
    **{each.fields[0]: each.choices for each in knobs_of(Rule) if each.choices},
    "growth": (2.0, 3.0),
    "repeated": (False, True),
}


def readings() -> Iterator[Rule]:
    """Yield every way to read the sentence."""
    for values in product(*_OPEN.values()):
        choices: dict[str, Any] = dict(zip(_OPEN, values, strict=True))
        yield replace(LITERAL, **choices)


def count_readings(split: Split, rules: Iterable[Rule]) -> dict[Rule, Table]:
    """Return the table that each reading gives."""

    # Most readings differ only in what comes after the lines, or after the blocks.
    @cache
    def lines(vertical: str, horizontal: str) -> list[list[Line]]:
        rule = Rule(vertical=vertical, horizontal=horizontal)
        return [words_to_lines(scene.words, rule) for scene in split.scenes]

    @cache
    def blocks(rule: Rule) -> list[Block]:
        found = lines(rule.vertical, rule.horizontal)
        return [block for scene in found for block in lines_to_blocks(scene, rule)]

    return {rule: make_table(blocks(replace(rule, counted="all")), rule) for rule in rules}


_HEAD = ("vertical", "horizontal", "growth", "a third of", "merging", "counted")
_WIDTHS = (10, 12, 8, 18, 10, 9)


def format_head() -> str:
    """Return the head of the table of readings."""
    columns = [*range(1, MOST + 1), f"{MOST + 1}+"]
    return _padded(_HEAD) + "".join(f"{n:>8}" for n in columns) + "  off by"


def format_row(rule: Rule, table: Table) -> str:
    """Return a row: the choices of a reading, its table, and its distance from the paper's."""
    merging = "repeated" if rule.repeated else "once"
    area = f"{rule.of} {rule.area}"
    choices = (rule.vertical, rule.horizontal, f"×{rule.growth:g}", area, merging, rule.counted)
    cells = [f"{table.blocks.get(n, 0)}/{table.words.get(n, 0)}" for n in range(1, MOST + 2)]
    name = {PUBLISHED: "  published", LITERAL: "  literal"}.get(rule, "")
    distance = "{}/{}".format(*table.distance)
    return _padded(choices) + "".join(f"{c:>8}" for c in cells) + f"{distance:>10}{name}"


def _padded(cells: Iterable[str]) -> str:
    return "".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))


@click.command()
@click.option("--root", type=click.Path(path_type=Path), required=True)
@click.option("--top", type=int, default=12, show_default=True, help="Readings to print.")
def cli(root: Path, top: int) -> None:
    """Print the readings closest to the paper's table, for test and train."""
    found = count_readings(read_split(root, "test"), readings())
    closest = sorted(found, key=lambda rule: found[rule].distance)
    shown = closest[:top] + [rule for rule in closest[top:] if rule == LITERAL]
    for name, tables in (
        ("test", found),
        ("train", count_readings(read_split(root, "train"), shown)),
    ):
        click.echo(f"{name} split: blocks/words by number of lines")
        click.echo(format_head())
        for rule in shown:
            click.echo(format_row(rule, tables[rule]))
        click.echo("")
    click.echo(f"{len(found)} readings were tried")


if __name__ == "__main__":
    run(cli, "icdar_blocks.search")
