"""Search: which reading of the paper's sentence comes closest to its table.

python -m icdar_blocks.search --root ICDAR2013

The numbers of the sentence (a half, three, a third) are kept; only what it leaves open is
varied, each choice over the few meanings it can have. So the search has few ways of being
lucky, and none of fitting a number to the data.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import click

from icdar_blocks.grouping import lines_to_blocks, words_to_lines
from icdar_blocks.rule import CHOICES, LITERAL, PUBLISHED, Rule
from icdar_blocks.scenes import Split, read_split
from icdar_blocks.table import MOST, Table, make_table
from ivl_shards.options import run

_OPEN = {**CHOICES, "growth": (2.0, 3.0), "repeated": (False, True)}


def readings() -> Iterator[Rule]:
    """Every way to read the sentence."""
    for values in product(*_OPEN.values()):
        yield replace(LITERAL, **dict(zip(_OPEN, values, strict=True)))  # type: ignore[arg-type]


def count(split: Split, rule: Rule) -> Table:
    """The table that a reading gives."""
    return make_table(
        (
            block
            for scene in split.scenes
            for block in lines_to_blocks(words_to_lines(scene.words, rule), rule)
        ),
        rule,
    )


def describe(rule: Rule) -> str:
    """The choices of a reading in a few words."""
    merging = "repeated" if rule.repeated else "once"
    of = f"{rule.of} {rule.area}"
    return f"{rule.vertical:<8}{rule.horizontal:<8}×{rule.growth:g} {of:<17}{merging:<9}{rule.counted:<7}"


def format_row(rule: Rule, table: Table) -> str:
    """One reading: its choices, its table, and how far that is from the paper's."""
    cells = [f"{table.blocks.get(n, 0)}/{table.words.get(n, 0)}" for n in range(1, MOST + 2)]
    name = {PUBLISHED: "published", LITERAL: "literal"}.get(rule, "")
    blocks, words = table.distance
    return (
        f"{describe(rule)}" + "".join(f"{c:>9}" for c in cells) + f"{blocks:>6}{words:>7}  {name}"
    )


@click.command()
@click.option("--root", type=click.Path(path_type=Path), required=True)
@click.option("--top", type=int, default=12, show_default=True, help="Readings to print.")
def cli(root: Path, top: int) -> None:
    """Print the readings closest to the paper's table, for test and train."""
    test, train = read_split(root, "test"), read_split(root, "train")
    found = [(rule, count(test, rule)) for rule in readings()]
    # Blocks first: four words are worth a block in the paper's table (747 words, 286 blocks …).
    found.sort(key=lambda pair: pair[1].distance)
    shown = found[:top] + [pair for pair in found[top:] if pair[0] == LITERAL]
    head = f"{'vertical':<8}{'horiz.':<8}{'grow':<3}{'third of':<17}{'merging':<9}{'counted':<7}"
    columns = "".join(f"{n:>9}" for n in ("1", "2", "3", "4", "5", "6+"))
    for split, tables in (
        (test, [table for _, table in shown]),
        (train, [count(train, rule) for rule, _ in shown]),
    ):
        click.echo(f"{split.name} split, {len(found)} readings; blocks/words by number of lines")
        click.echo(f"{head}{columns}   off: blocks, words")
        for (rule, _), table in zip(shown, tables, strict=True):
            click.echo(format_row(rule, table))
        click.echo("")


if __name__ == "__main__":
    run(cli, "icdar_blocks.search")
