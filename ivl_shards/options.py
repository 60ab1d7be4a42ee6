"""Options: what all command lines of the toolkit share."""

import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ivl_shards.errors import Stopped, UserError, limit_reached, printable
from ivl_shards.format.reader import open_dataset
from ivl_shards.generation.engine import generate
from ivl_shards.generation.generator import Generator
from ivl_shards.generation.knobs import Decorator
from ivl_shards.generation.recipe import Recipe, format_counts, parse_counts, require
from ivl_shards.progress import show_progress


class Counts(click.ParamType[tuple[int, ...]]):
    """A list of ranges such as 3-10 or 1-10,15,20."""

    name = "ranges"

    def convert(self, value: Any, param: Any, context: Any) -> tuple[int, ...]:
        return value if isinstance(value, tuple) else parse_counts(value)


def run(command: click.Command, name: str) -> None:
    """Run a command line. What a user can put right ends in one line and exit code 2."""
    try:
        result = command.main(prog_name=name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        where = f" (see {context.command_path} --help)" if context else ""
        _end(name, " ".join(error.format_message().split()) + where, 2)
    except Stopped as error:
        _end(name, str(error), 1)
    except UserError as error:
        _end(name, str(error), 2)
    except (click.Abort, KeyboardInterrupt):
        _end(name, "stopped; what is finished is kept: run the same command again to go on", 130)
    except BrokenPipeError:
        sys.exit(0)  # whoever read our output has had enough, as in `… | head`
    except (OSError, MemoryError) as error:
        if limit := limit_reached(error):
            _end(name, str(limit), 1)
        if isinstance(error, MemoryError):
            raise
        place = f"{error.filename}: " if error.filename else ""
        _end(name, f"{place}{error.strerror or error}", 2)  # nothing better is known
    else:
        sys.exit(result if isinstance(result, int) else 0)


def _end(name: str, line: str, code: int) -> None:
    click.echo(f"{name}: {printable(' '.join(line.split()))}", err=True)
    sys.exit(code)


def version_option() -> Decorator:
    """`--version`."""
    return click.version_option(version("ivl"), message="%(prog)s %(version)s")


def generator_options(
    counts: str, default: str, split: str = "test", needs_out: bool = True
) -> Decorator:
    """What every generator that draws has; `counts` is what it calls them: lines or counts."""
    return _all(
        click.argument("out", type=click.Path(path_type=Path), required=needs_out),
        # `--counts` is understood by all of them, whatever they count.
        click.option(
            *dict.fromkeys((f"--{counts}", "--counts")),
            "counts",
            type=Counts(),
            default=default,
            show_default=True,
            help="How many a sample has: 3-10 or 1-10,15,20.",
        ),
        click.option("--n", type=int, help="Samples for each count."),
        click.option("--total", type=int, help="Samples in all, counts spread evenly."),
        click.option(
            "--split",
            default=split,
            show_default=True,
            help="Name of the split. Splits of one seed share no sample.",
        ),
        click.option(
            "--seed", type=int, default=0, show_default=True, help="Of the random numbers."
        ),
        making_options(),
    )


def making_options() -> Decorator:
    """How a dataset is made and stored, for all generators."""
    return _all(
        click.option(
            "--dense-memory", is_flag=True, help="Also store every memory m_0 … m_T as an array."
        ),
        click.option("--workers", type=int, help="Processes; all cores by default."),
        click.option(
            "--dask",
            metavar="ADDRESS",
            help="Run on a Dask cluster instead, for example tcp://host:8786.",
        ),
        click.option(
            "--shard-size",
            type=int,
            help="Samples a file; by default one file up to 20,000, then 5,000 each.",
        ),
        click.option(
            "--overwrite",
            is_flag=True,
            help="Replace a dataset of another recipe, once the new one is complete.",
        ),
        click.option("--quiet", is_flag=True, help="Print nothing but errors."),
    )


def _all(*decorators: Decorator) -> Decorator:
    """Several decorators as one, the first outermost."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def total_samples(counts: tuple[int, ...], n: int | None, total: int | None) -> int:
    """Samples in all from `--n` (for each count) or `--total`."""
    require((n is None) != (total is None), "give either --n (for each count) or --total")
    if n is not None:
        require(n >= 1, f"--n {n}: ask for at least 1 sample of each count")
        return n * len(counts)
    assert total is not None
    require(total >= 1, f"--total {total}: ask for at least 1 sample")
    return total


def generate_and_report(
    generator: Generator, recipe: Recipe, out: Path, quiet: bool, **options: Any
) -> None:
    """Make a dataset with a progress bar, and say what it is."""
    begun = time.monotonic()
    with show_progress(recipe.total, quiet) as report:
        made = generate(generator, recipe, out, report=report, **options)
    if quiet:
        return
    dataset = open_dataset(made.path)
    what = f"{out}: {made.samples:,} samples, {format_counts(recipe.counts)} a sample"
    seconds = time.monotonic() - begun
    did = f"{made.rendered:,} made in {seconds:.1f} s" if made.rendered else "was complete already"
    click.echo(f"{what}, {did}, content sha256 {dataset.attributes['content_sha256'][:16]}…")
