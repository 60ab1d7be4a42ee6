"""Command line of the benchmark.

ivl-bench run --model inductive
ivl-bench run --model end-to-end --task coloured-shapes
ivl-bench crossval --task dota-planes --set steps=1000
ivl-bench eval runs/toy-shapes-inductive-fast-seed0 --counts 1-100
ivl-bench predict toy-shapes-inductive-fast --out predictions.jsonl
ivl-bench score predictions.jsonl --test test.h5
ivl-bench compare a.jsonl b.jsonl --test test.h5
ivl-bench report --out report.html
ivl-bench read photo.jpg --out steps.html
ivl-bench tasks
ivl-bench models icdar-blocks-inductive-fast
"""

import importlib
import sys
from typing import Any

import click

from benchmark.commands.compare import compare_command
from benchmark.commands.crossval import crossval_command
from benchmark.commands.eval import eval_command
from benchmark.commands.pages import report_command, results_command
from benchmark.commands.predictions import predict_command, score_command
from benchmark.commands.read import read_command
from benchmark.commands.run import run_command
from benchmark.commands.tasks_and_models import models_command, tasks_command
from ivl_shards import UserError
from ivl_shards.options import run, version_option


class _Limits(click.Group):
    """Commands that end in one line where torch finds no more memory."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except RuntimeError as error:
            if "memory" not in str(error):
                raise  # a bug
            raise MemoryError from None


@click.group(cls=_Limits, epilog="Example: ivl-bench run --model inductive")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE",
    help="Import this module first: it registers tasks, models or metrics.",
)
@version_option()
def cli(plugins: tuple[str, ...]) -> None:
    """Train models on short visual sequences and score them on long ones."""
    for name in plugins:
        import_plugin(name)


def import_plugin(name: str) -> None:
    """Import a module of the user's, from the current folder too."""
    if "" not in sys.path:
        sys.path.append("")  # last: a folder fonts/ of the user's must not hide our own
    try:
        importlib.import_module(name)
    except (ImportError, SyntaxError, ValueError) as error:
        raise UserError(f"--plugin {name}: cannot be imported ({error})") from None


for _command in (
    run_command,
    crossval_command,
    eval_command,
    predict_command,
    score_command,
    compare_command,
    read_command,
    tasks_command,
    models_command,
    results_command,
    report_command,
):
    cli.add_command(_command)


def main() -> None:
    """Entry point of `ivl-bench`."""
    run(cli, "ivl-bench")
