"""Command line of the shard format.

ivl-shards info test.h5
ivl-shards verify test.h5
ivl-shards preview test.h5 --out sheet.png
ivl-shards preview test.h5 --out gallery.html
ivl-shards export test.h5 --format webdataset out/
ivl-shards export test.h5 --format parquet out/
ivl-shards export test.h5 --format coco out/
ivl-shards card test.h5
ivl-shards take test.h5 --where "line_count <= 3" --out short.h5
ivl-shards split all.h5 --fractions 0.9,0.1 --out train.h5 --out val.h5
ivl-shards reshard test.h5 --shard-size 1000 --out shards.h5
ivl-shards merge a.h5 b.h5 --out c.h5
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from ivl_shards.disk import write_whole
from ivl_shards.errors import UserError, printable
from ivl_shards.export.formats import FORMATS, export
from ivl_shards.format.reader import Dataset, open_dataset
from ivl_shards.generation.recipe import require
from ivl_shards.guard import run_guarded
from ivl_shards.inspect.card import card
from ivl_shards.inspect.croissant import croissant
from ivl_shards.inspect.gallery import write_gallery
from ivl_shards.inspect.info import describe, format_info
from ivl_shards.inspect.publication import File, Publication, list_files
from ivl_shards.inspect.sheet import write_sheet
from ivl_shards.inspect.verify import SEVERAL_PROCESSES, problems
from ivl_shards.options import run, version_option
from ivl_shards.progress import Report, show_progress
from ivl_shards.rewrite.commands import COMMANDS as REWRITING

_DATASET = click.argument("dataset", type=click.Path(path_type=Path))
_MOST_PROBLEMS = 20
_PICTURES = (".png", ".jpg", ".jpeg", ".webp")


def _publication_options(when: str = "") -> Callable[[Any], Any]:
    """Return a decorator with the options that say who publishes a dataset, where and when."""

    def decorate(command: Any) -> Any:
        day = click.DateTime(["%Y-%m-%d"])
        for option in (
            click.option("--date", type=day, help=f"{when}Date of publication."),
            click.option("--url", default="", help=f"{when}Address where it is published."),
            click.option("--creator", default="", help=f"{when}Who publishes the dataset."),
        ):
            command = option(command)
        return command

    return decorate


def _publication(creator: str, url: str, date: datetime | None) -> Publication:
    return Publication(creator, url, f"{date:%Y-%m-%d}" if date else "")


@click.group(epilog="Example: ivl-shards info test.h5")
@version_option()
def cli() -> None:
    """Inspect, verify, preview, convert, select and merge datasets in the IVL shard format."""


@cli.command(epilog="Example: ivl-shards info test.h5")
@_DATASET
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
def info(dataset: Path, as_json: bool) -> None:
    """Print a summary of a dataset."""
    opened = open_dataset(dataset)
    click.echo(json.dumps(describe(opened), indent=2) if as_json else format_info(opened))


@cli.command(epilog="Example: ivl-shards verify test.h5")
@_DATASET
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
@click.option("--workers", type=int, help="Number of processes; all cores by default.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def verify(dataset: Path, as_json: bool, workers: int | None, quiet: bool) -> int:
    """Check every byte and every sample. Exit code 1 if anything is wrong."""
    require(workers is None or workers >= 1, f"--workers {workers}: must be at least 1")
    found, shown = 0, []
    with ExitStack() as stack:

        def begin(samples: int) -> Report:
            few = samples < SEVERAL_PROCESSES
            report = stack.enter_context(show_progress(samples, quiet or as_json or few))
            report(0)
            return report

        for line in problems(dataset, workers, begin):
            found += 1
            if found <= _MOST_PROBLEMS:
                shown.append(line)
                click.echo(printable(line), err=True)
    if found > _MOST_PROBLEMS:
        click.echo(f"{dataset}: {found - _MOST_PROBLEMS:,} more like these", err=True)
    facts = {"path": str(dataset), "sound": not found, "problems": found, "first_problems": shown}
    if not found:
        facts |= _soundness(open_dataset(dataset))
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    elif not found:
        click.echo(
            "{path}: sound: {samples:,} samples in {files} file{s}, "
            "content sha256 {content_sha256}".format(s="s" if facts["files"] != 1 else "", **facts)
        )
    return 1 if found else 0


def _soundness(dataset: Dataset) -> dict[str, Any]:
    files = len({dataset.path, *dataset.shards})
    content = dataset.attributes["content_sha256"]
    return {"samples": len(dataset), "files": files, "content_sha256": content}


@cli.command(epilog="Example: ivl-shards preview test.h5 --out gallery.html")
@_DATASET
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="sheet.png for a contact sheet, gallery.html for a page with all steps.",
)
@click.option(
    "--limit", type=int, help="Samples per row of the sheet (default 8) or on the page (120)."
)
def preview(dataset: Path, out: Path, limit: int | None) -> None:
    """Draw samples with their memory on a contact sheet or a page."""
    require(limit is None or limit >= 1, f"--limit {limit}: must be at least 1")
    opened = open_dataset(dataset)
    require(out.parent.is_dir(), f"{out.parent}: no such folder: make it first")
    if out.suffix in (".html", ".htm"):
        write_gallery(opened, out, limit or 120)
    elif out.suffix in _PICTURES:
        write_sheet(opened, out, limit or 8)
    else:
        raise UserError(f"{out}: name it .html for a page or .png for a contact sheet")
    click.echo(f"{out}: written")


@cli.command("export", epilog="Example: ivl-shards export test.h5 --format files out/")
@_DATASET
@click.option(
    "--format",
    "format_",
    required=True,
    type=click.Choice(sorted(FORMATS)),
    help="Format to write.",
)
@click.option("--level", help="With --format icdar: word (the default) or line.")
@_publication_options("With --format parquet: ")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.argument("out", type=click.Path(path_type=Path))
def export_(
    dataset: Path,
    format_: str,
    level: str | None,
    creator: str,
    url: str,
    date: datetime | None,
    quiet: bool,
    out: Path,
) -> None:
    """Export a dataset to plain files, WebDataset, Parquet, COCO or ICDAR."""
    published = _publication(creator, url, date)
    require(level is None or format_ == "icdar", "--level is for --format icdar")
    require(
        published == Publication() or format_ == "parquet",
        "--creator, --url and --date are for --format parquet",
    )
    options: dict[str, Any] = {"level": level} if level else {}
    if format_ == "parquet":
        options["published"] = published
    opened = open_dataset(dataset)
    with show_progress(len(opened), quiet) as report:
        report(0)
        for _ in export(opened, format_, out, **options):
            report(1)
    if not quiet:
        click.echo(f"{out}: {len(opened):,} samples")


@cli.command("card", epilog="Example: ivl-shards card test.h5 --out cards")
@_DATASET
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder to write to; the folder of the dataset by default.",
)
@_publication_options()
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def card_(
    dataset: Path, out: Path | None, creator: str, url: str, date: datetime | None, quiet: bool
) -> None:
    """Write a dataset card (NAME.card.md) and Croissant metadata (NAME.croissant.json).

    Both are written from the dataset alone; all bytes are read for the checksums.
    """
    opened = open_dataset(dataset)
    folder = dataset.parent if out is None else out
    require(folder.is_dir(), f"{folder}: no such folder: make it first")
    published = _publication(creator, url, date)
    files: list[File] = []
    many = len({opened.path, *opened.shards})
    with show_progress(many, quiet or many == 1, "files") as report:
        report(0)
        for file in list_files(opened):
            files.append(file)
            report(1)
    texts = {
        "card.md": card(opened, files, published),
        "croissant.json": json.dumps(
            croissant(opened, files, published), indent=2, ensure_ascii=False
        ),
    }
    for ending, text in texts.items():
        path = folder / f"{dataset.stem}.{ending}"
        write_whole(path, text.encode())
        if not quiet:
            click.echo(f"{path}: written")


for _command in REWRITING:
    cli.add_command(_command)


def main() -> None:
    """Run `ivl-shards`."""
    run_guarded(lambda: run(cli, "ivl-shards"), "ivl-shards")
