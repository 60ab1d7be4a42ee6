"""Command line of the ICDAR blocks.

icdar-blocks --root ICDAR2013 --split test blocks.h5
icdar-blocks --root ICDAR2013 --split test --page scenes.html
icdar-blocks --words boxes.txt --group
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from icdar_blocks import ICDAR
from icdar_blocks.grouping import group
from icdar_blocks.page import write_page
from icdar_blocks.plan import Grouped, group_split, plan_dataset
from icdar_blocks.recipe import IcdarRecipe
from icdar_blocks.rule import RULES, choose
from icdar_blocks.scenes import SPLITS
from icdar_blocks.sheet import write_sheets
from icdar_blocks.table import format_table
from icdar_blocks.truth import MOST_BYTES, parse_boxes
from icdar_blocks.words import Block
from ivl_shards import UserError, open_dataset
from ivl_shards.generation.knobs import knob_options, take_knobs
from ivl_shards.generation.recipe import require
from ivl_shards.generation.stores import store_of
from ivl_shards.options import (
    Target,
    generate_and_report,
    making_options,
    run,
    version_option,
)
from ivl_shards.remote import Location

_PATH = click.Path(path_type=Path)


@click.command(epilog="Example: icdar-blocks --root ICDAR2013 --split test blocks.h5")
@click.argument("out", type=Target(), required=False)
@click.option("--root", type=_PATH, help="Folder with the official zip files, packed or unpacked.")
@click.option(
    "--split",
    type=click.Choice(list(SPLITS)),
    default="test",
    show_default=True,
    help="Split of ICDAR 2013.",
)
@click.option(
    "--rule",
    "rule_name",
    type=click.Choice(list(RULES)),
    default="published",
    show_default=True,
    help="How words become blocks, see docs/ICDAR.md.",
)
@click.option(
    "--choice",
    "choices",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change one choice of the rule, for example growth=2; may be repeated.",
)
@click.option("--words", type=_PATH, help="Group the boxes in this file: x0, y0, x1, y1, text.")
@click.option("--group", "only_group", is_flag=True, help="Only group, and print JSON.")
@click.option("--page", type=_PATH, help="Also write a page (HTML) of whole scenes with blocks.")
@click.option(
    "--sheet",
    type=_PATH,
    help="Also write a contact sheet (PNG) of the blocks of two and more lines.",
)
@knob_options(IcdarRecipe)
@making_options()
@version_option()
def cli(
    out: Location | None,
    root: Path | None,
    split: str,
    rule_name: str,
    choices: tuple[str, ...],
    words: Path | None,
    only_group: bool,
    page: Path | None,
    sheet: Path | None,
    quiet: bool,
    dense_memory: bool,
    **options: Any,
) -> None:
    """Cut text blocks out of the scenes of ICDAR 2013.

    Without OUT it only counts them, which needs the ground truth alone.
    """
    rule = choose(RULES[rule_name], choices)
    knobs = take_knobs(IcdarRecipe, options)
    require((root is None) != (words is None), "give either --root or --words")
    if words is not None:
        require(only_group and out is None, "--words goes with --group, and writes no dataset")
        click.echo(_to_json(_describe(group(parse_boxes(_read(words), str(words)), rule))))
        return
    assert root is not None
    require(not (only_group and out), "--group writes no dataset: give no OUT")
    require(sheet is None or out is not None, "--sheet shows a dataset: give OUT")
    grouped = group_split(root, split, rule)
    if only_group:
        scenes = zip(grouped.split.scenes, grouped.blocks, strict=True)
        click.echo(_to_json({scene.name: _describe(blocks) for scene, blocks in scenes}))
        return
    if out is not None:
        store_of(out).check_target(out.absolute() if isinstance(out, Path) else out)
        plan = plan_dataset(grouped, dense_memory=dense_memory, **knobs)
        generate_and_report(ICDAR, plan.recipe, out, quiet=quiet, source=plan.source, **options)
    if not quiet:
        click.echo(_report(grouped, " ".join([rule_name, *choices])))
    if page is not None:
        _write(page, lambda: write_page(grouped, page))
    if sheet is not None and out is not None:
        _write(sheet, lambda: write_sheets(open_dataset(out), sheet))


def _report(grouped: Grouped, rule: str) -> str:
    """Return the table of a split, and what is missing from it."""
    split, table = grouped.split, grouped.table
    many_words = sum(len(scene.words) for scene in split.scenes)
    of = "" if split.name == "test" else "; the paper's table is of the test split"
    lines = [
        f"\nrule {rule}, split {split.name}: {len(split.scenes)} scenes, {many_words:,} words",
        format_table(table),
        "differs from the paper's by {} blocks and {} words over 1 to 5 lines{}".format(
            *table.distance, of
        ),
    ]
    if grouped.missing:
        lost = sum(many for _, many in grouped.missing)
        names = ", ".join(scene.name for scene, _ in grouped.missing)
        lines.append(
            f"{len(grouped.missing)} scenes have no picture; their {lost} blocks are counted "
            f"above but cannot be cut: {names}"
        )
    if split.unlabelled:
        names = ", ".join(split.unlabelled)
        lines.append(f"{len(split.unlabelled)} pictures have no ground truth: {names}")
    return "\n".join(lines)


def _describe(blocks: list[Block] | tuple[Block, ...]) -> dict[str, Any]:
    """Return blocks, their lines and words as plain values for JSON."""
    return {
        "blocks": [
            {
                "box": block.box,
                "lines": [
                    {
                        "box": line.box,
                        "text": line.text,
                        "words": [{"box": word.box, "text": word.text} for word in line],
                    }
                    for line in block
                ],
            }
            for block in blocks
        ]
    }


def _to_json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)  # more are refused by whoever parses them
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _write(path: Path, write: Callable[[], object]) -> None:
    try:
        write()
    except (OSError, ValueError) as error:  # ValueError: Pillow on an unknown ending
        raise UserError(f"{path}: cannot be written: {error}") from None


def main() -> None:
    """Run `icdar-blocks`."""
    run(cli, "icdar-blocks")
