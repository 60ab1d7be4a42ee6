"""Command line of the shard format.

ivl-shards info test.h5
ivl-shards verify test.h5
ivl-shards preview test.h5 --out sheet.png
ivl-shards preview test.h5 --out gallery.html
ivl-shards export test.h5 --format webdataset out/
ivl-shards export test.h5 --format coco out/
"""

import json
from pathlib import Path

import click

from ivl_shards.disk import explained
from ivl_shards.errors import UserError
from ivl_shards.export import FORMATS, export
from ivl_shards.gallery import write_gallery
from ivl_shards.info import describe, format_info
from ivl_shards.options import run, version_option
from ivl_shards.progress import show_progress
from ivl_shards.reader import open_dataset
from ivl_shards.recipe import require
from ivl_shards.sheet import write_sheet
from ivl_shards.verify import problems

_DATASET = click.argument("dataset", type=click.Path(path_type=Path))
_MOST_PROBLEMS = 20
_PICTURES = (".png", ".jpg", ".jpeg", ".webp")


@click.group()
@version_option()
def cli() -> None:
    """Look at, check, show and convert datasets in the IVL shard format."""


@cli.command(epilog="Example: ivl-shards info test.h5")
@_DATASET
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
def info(dataset: Path, as_json: bool) -> None:
    """Say what is in a dataset."""
    opened = open_dataset(dataset)
    click.echo(json.dumps(describe(opened), indent=2) if as_json else format_info(opened))


@cli.command(epilog="Example: ivl-shards verify test.h5")
@_DATASET
def verify(dataset: Path) -> int:
    """Check every byte and every sample. Exit code 1 if anything is wrong."""
    found = 0
    for line in problems(dataset):
        if found < _MOST_PROBLEMS:
            click.echo(line, err=True)
        found += 1
    if found > _MOST_PROBLEMS:
        click.echo(f"{dataset}: {found - _MOST_PROBLEMS:,} more like these", err=True)
    if not found:
        opened = open_dataset(dataset)
        files = len({opened.path, *opened.shards})
        click.echo(
            f"{dataset}: sound: {len(opened):,} samples in {files} file{'s' if files > 1 else ''}, "
            f"content sha256 {opened.attributes['content_sha256']}"
        )
    return 1 if found else 0


@cli.command(epilog="Example: ivl-shards preview test.h5 --out gallery.html")
@_DATASET
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="sheet.png for a contact sheet, gallery.html for a page.",
)
@click.option("--limit", type=int, help="Samples: in a row of the sheet (8), on the page (120).")
def preview(dataset: Path, out: Path, limit: int | None) -> None:
    """Show samples with their memory drawn over them."""
    require(limit is None or limit >= 1, f"--limit {limit}: ask for at least 1 sample")
    opened = open_dataset(dataset)
    require(out.parent.is_dir(), f"{out.parent}: no such folder: make it first")
    try:
        if out.suffix in (".html", ".htm"):
            write_gallery(opened, out, limit or 120)
        elif out.suffix in _PICTURES:
            write_sheet(opened, out, limit or 8)
        else:
            raise UserError(f"{out}: name it .html for a page or .png for a contact sheet")
    except OSError as error:
        raise explained(out, error) from None
    click.echo(f"{out}: written")


@cli.command("export", epilog="Example: ivl-shards export test.h5 --format files out/")
@_DATASET
@click.option("--format", "format_", required=True, type=click.Choice(sorted(FORMATS)))
@click.option("--level", help="With --format icdar: word (the default) or line.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.argument("out", type=click.Path(path_type=Path))
def export_(dataset: Path, format_: str, level: str | None, quiet: bool, out: Path) -> None:
    """Write a dataset as files that other tools read: plain ones, WebDataset, COCO, ICDAR."""
    require(level is None or format_ == "icdar", "--level is for --format icdar")
    options = {"level": level} if level else {}
    opened = open_dataset(dataset)
    with show_progress(len(opened), quiet) as report:
        report(0)
        for _ in export(opened, format_, out, **options):
            report(1)
    if not quiet:
        click.echo(f"{out}: {len(opened):,} samples")


def main() -> None:
    """Entry point of `ivl-shards`."""
    run(cli, "ivl-shards")
