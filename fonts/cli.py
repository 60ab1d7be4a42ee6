"""Command line of the fonts.

ivl-fonts install
ivl-fonts list --json
ivl-fonts check DIR
ivl-fonts preview --out sheet.png
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from fonts.catalogue import is_catalogue
from fonts.face import Face, fingerprint
from fonts.install import install
from fonts.manifest import catalogue_manifest
from fonts.places import catalogue_folder
from fonts.preview import write_sheet
from fonts.screening import Screening, Verdict, screen
from fonts.sources import MOST_NAMED, load, usable
from ivl_shards.options import run, version_option
from ivl_shards.progress import show_progress

_FOLDER = click.Path(path_type=Path)


@click.group(epilog="Example: ivl-fonts check ~/my-fonts")
@version_option()
def cli() -> None:
    """Install, list and preview the fonts that texts are drawn with."""
    logging.basicConfig(format="ivl-fonts: %(message)s", level=logging.WARNING)


@cli.command("install", epilog="Example: ivl-fonts install")
@click.option(
    "--to", "folder", type=_FOLDER, help="Folder; by default $IVL_FONTS, or the user's data folder."
)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def install_command(folder: Path | None, quiet: bool) -> None:
    """Fetch the catalogue through the npm client, check it, and keep it with its licences.

    Stopped at any moment and run again, it goes on where it was.
    """
    begun = time.monotonic()
    with show_progress(len(catalogue_manifest()), quiet, "faces") as report:
        outcome = install(folder or catalogue_folder(), report=report)
    if quiet:
        return
    seconds = time.monotonic() - begun
    did = f"{outcome.added:,} added in {seconds:.0f} s" if outcome.added else "all were there"
    click.echo(f"{outcome.folder}: {outcome.faces:,} faces, {did}, every sha256 as pinned")
    if folder is not None and folder.absolute() != catalogue_folder().absolute():
        click.echo(f"to use them by default: export IVL_FONTS={folder.absolute()}")


@cli.command("list", epilog="Example: ivl-fonts list --json")
@click.argument("folder", type=_FOLDER, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print all fields as JSON.")
def list_command(folder: Path | None, as_json: bool) -> None:
    """List the faces of a FOLDER, or those that are used by default."""
    faces = load(folder)
    if as_json:
        click.echo(json.dumps([_fields(face) for face in faces], indent=1, ensure_ascii=False))
        return
    wide = max(len(face.id) for face in faces)
    for face in faces:
        case = "capitals" if face.caps_only else "both cases"
        click.echo(f"{face.id:{wide}}  {face.style:11}  {case:10}  {face.licence}")
    click.echo(_summary(faces))


@cli.command(epilog="Example: ivl-fonts check ~/my-fonts")
@click.argument("folder", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def check(folder: Path, as_json: bool) -> None:
    """Screen the fonts of a FOLDER: coverage, empty boxes, rendering, legibility, duplicates.

    Exit code 1 if any cannot be used, 2 if none can.
    """
    screening = screen(folder)
    if as_json:
        verdicts = [_verdict_fields(verdict) for verdict in screening.verdicts]
        click.echo(json.dumps(verdicts, indent=1, ensure_ascii=False))
    else:
        _print_verdicts(screening)
    usable(screening)  # complains if there are none
    if screening.rejected:
        raise SystemExit(1)


def _print_verdicts(screening: Screening) -> None:
    good = [verdict for verdict in screening.verdicts if not verdict.reason]
    _print_some(good, _describe_usable)
    _print_some(screening.rejected, lambda verdict: f"rejected  {verdict.reason}")
    if good:
        many = len(screening.verdicts)
        click.echo(f"{len(good):,} of {many:,} faces can be used")


def _describe_usable(verdict: Verdict) -> str:
    case = "capitals only" if verdict.caps_only else "both cases"
    return f"usable    {len(verdict.characters):4} characters, {case}, {verdict.family}"


def _print_some(verdicts: Sequence[Verdict], describe: Callable[[Verdict], str]) -> None:
    """Print a line each for the first verdicts, and how many more there are."""
    shown = verdicts[:MOST_NAMED]
    wide = max((len(verdict.id) for verdict in shown), default=0)
    for verdict in shown:
        click.echo(f"{verdict.id:{wide}}  {describe(verdict)}")
    if len(verdicts) > len(shown):
        click.echo(f"and {len(verdicts) - len(shown):,} more like these (--json lists all)")


@cli.command(epilog="Example: ivl-fonts preview --out sheet.png")
@click.argument("folder", type=_FOLDER, required=False)
@click.option(
    "--out", type=_FOLDER, default=Path("fonts.png"), show_default=True, help="Picture to write."
)
def preview(folder: Path | None, out: Path) -> None:
    """Draw the faces of a FOLDER, or those that are used by default, on one sheet."""
    faces = load(folder)
    shown = write_sheet(faces, out)
    click.echo(f"{out}: {shown:,} of {len(faces):,} faces")


def _fields(face: Face) -> dict[str, object]:
    return {
        "id": face.id,
        "family": face.family,
        "style": face.style,
        "licence": face.licence,
        "caps_only": face.caps_only,
        "path": str(face.path),
        "index": face.index,
        "sha256": face.sha256,
        "characters": "".join(sorted(face.characters)),
    }


def _verdict_fields(verdict: Verdict) -> dict[str, object]:
    named = ("id", "index", "family", "style", "licence", "caps_only", "sha256", "characters")
    fields = {name: getattr(verdict, name) for name in named}
    return {**fields, "usable": not verdict.reason, "reason": verdict.reason}


def _summary(faces: tuple[Face, ...]) -> str:
    catalogue = is_catalogue(faces[0].path.parent)
    licences = f"; {_tally(face.licence for face in faces)}" if catalogue else ""
    capitals = sum(face.caps_only for face in faces)
    return (
        f"{len(faces):,} faces{' of the catalogue' if catalogue else ''}: "
        f"{_tally(face.style for face in faces)}; {capitals:,} of capitals only{licences}; "
        f"fingerprint {fingerprint(faces)[:16]}…"
    )


def _tally(values: Iterable[str]) -> str:
    return ", ".join(f"{count:,} {value}" for value, count in Counter(values).most_common())


def main() -> None:
    """Run `ivl-fonts`."""
    run(cli, "ivl-fonts")
