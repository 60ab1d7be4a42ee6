"""Command line of the crops.

dota-crops --counts 3-10
dota-crops --split train --images 100 --counts 3-5 --total 20000 --root DOTA train.h5
dota-crops --split val --counts 3-10 --n 200 --root DOTA test.h5
dota-crops --category ship --counts 1-30 --n 50 --root DOTA ships.h5
"""

from pathlib import Path
from typing import Any

import click

from dota_crops import DOTA
from dota_crops.plan import make_plan
from dota_crops.recipe import TRAIN, DotaRecipe
from dota_crops.statistics import report, shortages
from ivl_shards.generation.knobs import knob_options, take_knobs
from ivl_shards.options import (
    generate_and_report,
    generator_options,
    run,
    total_samples,
    version_option,
)
from ivl_shards.processes import available_cores
from ivl_shards.remote import Location

# The paper's: 20,000 crops to train on, 200 of each count to test on.
_TRAIN_TOTAL = 20_000
_TEST_EACH = 200


@click.command(epilog="Example: dota-crops --split val --counts 3-10 --n 200 --root DOTA test.h5")
@generator_options("counts", default="3-10", split="val", needs_out=False)
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    envvar="DOTA_ROOT",
    show_envvar=True,
    default=Path("data/dota"),
    show_default=True,
    help="Folder that holds train/images, train/labelTxt and so on.",
)
@knob_options(DotaRecipe)
@click.option("--strict", is_flag=True, help="Treat bad input as an error, not a warning.")
@version_option()
def cli(
    out: Location | None,
    counts: tuple[int, ...],
    n: int | None,
    total: int | None,
    split: str,
    seed: int,
    dense_memory: bool,
    root: Path,
    strict: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Cut windows with a given number of objects out of DOTA's aerial images, to be counted.

    Writes OUT, by default dota-SPLIT.h5. Without --n and --total it generates 20,000 crops for
    the split train and 200 of each count for other splits, as in the paper.
    """
    if n is None and total is None:
        n, total = (None, _TRAIN_TOTAL) if split == TRAIN else (_TEST_EACH, None)
    knobs = take_knobs(DotaRecipe, options)
    samples = total_samples(counts, n, total)
    recipe = DotaRecipe(counts, samples, seed, split, dense_memory, **knobs)
    workers = options.get("workers") or available_cores()
    plan = make_plan(recipe, root, strict, workers, quiet)
    for complaint in plan.complaints:
        click.echo(f"warning: {complaint}", err=True)
    for shortage in shortages(plan):
        click.echo(f"fewer than asked for: {shortage}", err=True)
    if not quiet:
        click.echo(report(plan) + "\n")
    target = out or Path(f"dota-{split}.h5")
    generate_and_report(DOTA, plan.recipe, target, quiet, source=plan.source, **options)


def main() -> None:
    """Run `dota-crops`."""
    run(cli, "dota-crops")
