"""Command line of the crops.

dota-crops --counts 3-10
dota-crops --split train --images 100 --counts 3-5 --total 20000 --root DOTA train.h5
dota-crops --split val --counts 3-10 --n 200 --root DOTA test.h5
dota-crops --category ship --counts 1-30 --n 50 --root DOTA ships.h5
"""

from pathlib import Path
from typing import Any

import click

from dota_crops import DOTA, source
from dota_crops.labels import CATEGORIES
from dota_crops.plan import make_plan
from dota_crops.recipe import TRAIN, DotaRecipe
from dota_crops.statistics import report, shortages
from ivl_shards.options import (
    generate_and_report,
    generator_options,
    run,
    total_samples,
    version_option,
)

# The paper's: 20,000 crops to train on, 200 of each count to test on.
_TRAIN_TOTAL = 20_000
_TEST_EACH = 200


# fmt: off
@click.command(epilog="Example: dota-crops --split val --counts 3-10 --n 200 --root DOTA test.h5")
@generator_options("counts", default="3-10", split="val", needs_out=False)
@click.option("--root", type=click.Path(path_type=Path), envvar="DOTA_ROOT", show_envvar=True,
              default=Path("data/dota"), show_default=True,
              help="Folder that holds train/images, train/labelTxt and so on.")
@click.option("--category", default=DotaRecipe.category, show_default=True, metavar="CLASS",
              help=f"One of: {', '.join(CATEGORIES)}.")
@click.option("--images", type=int, help="Use at most so many source images, drawn by the seed.")
@click.option("--size", type=int, default=DotaRecipe.size, show_default=True,
              help="Height and width of a crop in pixels.")
@click.option("--cut", default=DotaRecipe.cut, show_default=True,
              metavar="reject|keep>=0.7|centre",
              help="Objects at the edge: reject the window, count those with at least that part "
                   "inside, or those whose centre is.")
@click.option("--smallest", type=float, default=DotaRecipe.smallest, show_default=True,
              help="Least size of an object (root of its area) in pixels of the crop.")
@click.option("--margin", type=float, default=DotaRecipe.margin, show_default=True,
              help="Least distance of objects from the edge, on either side, in pixels of the "
                   "crop; for --cut reject.")
@click.option("--zoom", type=float, default=DotaRecipe.zoom, show_default=True,
              help="Most by which a window is enlarged.")
@click.option("--largest", type=int, default=DotaRecipe.largest, show_default=True,
              help="Largest side of a window in pixels of the source image.")
@click.option("--overlap", type=float,
              help="Most of a window that another of the same image and count may cover; by "
                   "default 1 for train, 0.75 for others.")
@click.option("--turns/--no-turns", default=None,
              help="Mirror and turn windows by right angles; by default only for train.")
@click.option("--effort", type=int, default=DotaRecipe.effort, show_default=True,
              help="Window sizes tried on each image.")
@click.option("--quality", type=int, default=DotaRecipe.quality, show_default=True,
              help="Of the JPEGs.")
@click.option("--sigma", type=float, default=DotaRecipe.sigma, show_default=True,
              help="Width of the memory's gaussian peaks in pixels.")
@click.option("--strict", is_flag=True, help="Bad input is an error, not a warning.")
@version_option()
def cli(
    out: Path | None, counts: tuple[int, ...], n: int | None, total: int | None, split: str,
    root: Path, strict: bool, quiet: bool, workers: int | None, dask: str | None,
    shard_size: int | None, overwrite: bool, **knobs: Any,
) -> None:
    """Crops of DOTA's aerial images with a wanted number of objects, to be counted.

    Writes OUT, or dota-SPLIT.h5 where none is given. Without --n and --total: 20,000 crops for
    the split train, 200 of each count for others, as in the paper.
    """
    if n is None and total is None:
        n, total = (None, _TRAIN_TOTAL) if split == TRAIN else (_TEST_EACH, None)
    recipe = DotaRecipe(counts=counts, total=total_samples(counts, n, total), split=split, **knobs)
    plan = make_plan(recipe, root, strict)
    for complaint in plan.complaints:
        click.echo(f"warning: {complaint}", err=True)
    for shortage in shortages(plan):
        click.echo(f"fewer than asked for: {shortage}", err=True)
    if not quiet:
        click.echo(report(plan) + "\n")
    generate_and_report(
        DOTA, plan.recipe, out or Path(f"dota-{split}.h5"), quiet, source=source(plan),
        workers=workers, dask=dask, shard_size=shard_size, overwrite=overwrite,
    )


# fmt: on


def main() -> None:
    """Entry point of `dota-crops`."""
    run(cli, "dota-crops")
