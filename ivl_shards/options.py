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
from ivl_shards.generation.cost import Cost
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
    """Run a command line. Errors that a user can fix end in one line and exit code 2."""
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
        _end(name, "stopped; finished parts are kept: run the same command again to continue", 130)
    except BrokenPipeError:
        sys.exit(0)  # the reader of our output has closed it, as in `… | head`
    except (OSError, MemoryError) as error:
        if limit := limit_reached(error):
            _end(name, str(limit), 1)
        if isinstance(error, MemoryError):
            raise
        place = f"{error.filename}: " if error.filename else ""
        _end(name, f"{place}{error.strerror or error}", 2)
    else:
        sys.exit(result if isinstance(result, int) else 0)


def _end(name: str, line: str, code: int) -> None:
    click.echo(f"{name}: {printable(' '.join(line.split()))}", err=True)
    sys.exit(code)


def version_option() -> Decorator:
    """Return the option `--version`."""
    return click.version_option(version("ivl"), message="%(prog)s %(version)s")


def generator_options(
    counts: str, default: str, split: str = "test", needs_out: bool = True
) -> Decorator:
    """Return the options of all generators that draw samples at random.

    `counts` names the option for the length of the sequences: lines or counts.
    """
    return _all(
        click.argument("out", type=click.Path(path_type=Path), required=needs_out),
        # All of them also accept `--counts`.
        click.option(
            *dict.fromkeys((f"--{counts}", "--counts")),
            "counts",
            type=Counts(),
            default=default,
            show_default=True,
            help=f"Number of {'lines' if counts == 'lines' else 'objects'} in a sample: "
            "3-10 or 1-10,15,20.",
        ),
        click.option("--n", type=int, help="Number of samples for each count."),
        click.option(
            "--total", type=int, help="Number of samples in all, spread evenly over the counts."
        ),
        click.option(
            "--split",
            default=split,
            show_default=True,
            help="Name of the split. Splits of one seed share no sample.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Random seed."),
        making_options(),
    )


def making_options() -> Decorator:
    """Return the options of all generators for running them and for storing datasets."""
    return _all(
        click.option(
            "--dense-memory", is_flag=True, help="Also store every memory m_0 … m_T as an array."
        ),
        writing_options(),
    )


def writing_options() -> Decorator:
    """Return the options of all commands that write datasets; none changes the content."""
    return _all(
        click.option("--workers", type=int, help="Number of processes; all cores by default."),
        click.option(
            "--dask",
            metavar="ADDRESS",
            help="Run on a Dask cluster instead, for example tcp://host:8786.",
        ),
        click.option(
            "--shard-size",
            type=int,
            help="Samples per file; by default one file up to 20,000 samples, beyond that "
            "shards of 5,000.",
        ),
        click.option(
            "--overwrite",
            is_flag=True,
            help="Replace another dataset when the new one is complete.",
        ),
        click.option("--force", is_flag=True, help="Continue even if the disk seems too small."),
        click.option("--quiet", is_flag=True, help="Print nothing but errors."),
    )


def _all(*decorators: Decorator) -> Decorator:
    """Combine several decorators, the first outermost."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def total_samples(counts: tuple[int, ...], n: int | None, total: int | None) -> int:
    """Return the number of samples from `--n` (for each count) or `--total`."""
    require((n is None) != (total is None), "give either --n (for each count) or --total")
    if n is not None:
        require(n >= 1, f"--n {n}: ask for at least 1 sample of each count")
        return n * len(counts)
    assert total is not None
    require(total >= 1, f"--total {total}: ask for at least 1 sample")
    return total


# Shorter and smaller runs are not worth a line.
_WORTH_SECONDS, _WORTH_BYTES = 120.0, 2_000_000_000


def announce(cost: Cost) -> None:
    """Print the cost of a long run."""
    if (cost.seconds or 0) > _WORTH_SECONDS or cost.bytes > _WORTH_BYTES:
        click.echo(str(cost), err=True)


def ignore(cost: Cost) -> None:
    """Print nothing."""


def generate_and_report(
    generator: Generator, recipe: Recipe, out: Path, quiet: bool, **options: Any
) -> None:
    """Generate a dataset with a progress bar, and print a summary."""
    begun = time.monotonic()
    with show_progress(recipe.total, quiet) as report:
        tell = ignore if quiet else announce
        made = generate(generator, recipe, out, report=report, announce=tell, **options)
    if quiet:
        return
    dataset = open_dataset(made.path)
    noun = dataset.schema.sequence.removesuffix("_count") + ("" if recipe.counts == (1,) else "s")
    what = f"{out}: {made.samples:,} samples of {format_counts(recipe.counts)} {noun}"
    seconds = time.monotonic() - begun
    did = f"{made.rendered:,} made in {seconds:.1f} s" if made.rendered else "already complete"
    click.echo(f"{what}, {did}, content sha256 {dataset.attributes['content_sha256'][:16]}…")
