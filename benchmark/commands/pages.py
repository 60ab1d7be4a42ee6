"""ivl-bench results and report: write pages from results."""

from pathlib import Path

import click

from benchmark.commands.options import (
    NAMED,
    PATH,
    THREADS,
    use_threads,
    write_beside,
    write_pages,
)
from benchmark.results.leaderboard import all_leaderboards
from benchmark.results.leaderboard_files import evaluation_files, leaderboard_page
from benchmark.results.report import find_entries, write_page
from benchmark.results.report.player import Playback
from benchmark.results.results_page import curve_pictures, read_notes, results_page
from benchmark.results.tables import read_results
from ivl_shards.generation.recipe import require
from ivl_shards.progress import show_progress


@click.command("results", epilog="Example: ivl-bench results results --out docs/RESULTS.md")
@click.argument("folder", type=PATH, default=Path("results"))
@click.option(
    "--out",
    type=PATH,
    default=Path("docs/RESULTS.md"),
    show_default=True,
    help="The page to write.",
)
def results_command(folder: Path, out: Path) -> None:
    """Write the results page from all results in a folder, with its training curves."""
    results = read_results(folder)
    page = results_page(results, read_notes(folder))
    write_pages(out, {out.name: page, **curve_pictures(results)})


@click.command("report")
@click.argument("places", metavar="[RUN|RESULT]...", nargs=-1, type=PATH)
@click.option(
    "--out", type=PATH, default=Path("report.html"), show_default=True, help="The page to write."
)
@click.option(
    "--data",
    type=PATH,
    default=Path("data"),
    show_default=True,
    help="Folder of the datasets; runs whose test set it lacks are not played.",
)
@NAMED
@click.option(
    "--samples",
    type=int,
    default=6,
    show_default=True,
    help="Test images to play for each inductive run, failures first.",
)
@THREADS
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def report_command(
    places: tuple[Path, ...],
    out: Path,
    data: Path,
    named: tuple[str, ...],
    samples: int,
    threads: int | None,
    quiet: bool,
) -> None:
    """Write the report: the inductive loop step by step, tables and charts, on one page.

    Beside it, leaderboard.md has the leaderboard as Markdown, and eval-results/ the same for
    Hugging Face: a YAML file for each model, with the evaluation results of a model card.

    Without arguments it covers all runs in runs/ and all results in results/.

    Example: ivl-bench report runs/toy-shapes-* --out report.html
    """
    require(samples >= 0, f"--samples {samples}: at least 0")
    use_threads(threads)
    entries, unfinished = find_entries(places)
    with show_progress(len(entries), quiet, "runs") as report:
        write_page(entries, unfinished, out, Playback(data, samples, named), report)
    boards = all_leaderboards([entry.result for entry in entries])
    evaluations = evaluation_files(boards)
    folder = {f"eval-results/{name}": text for name, text in evaluations.items()}
    write_beside(out, {"leaderboard.md": leaderboard_page(boards), **folder})
    if not quiet:
        size = out.stat().st_size / 1e6
        click.echo(f"{out}: written, {len(entries)} runs, {size:.1f} MB")
        page = out.parent / "leaderboard.md"
        click.echo(f"{page}: written; eval-results: {len(evaluations)} files for Hugging Face")
