"""ivl-bench tasks and models: list what there is, and print model cards."""

import json
from pathlib import Path

import click

from benchmark.commands.options import (
    JSON,
    NAMED,
    PATH,
    write_pages,
)
from benchmark.models.inductive_ocr import DESCRIPTION, INDUCTIVE_OCR
from benchmark.models.load import bundled_weights, find_weights
from benchmark.registry import MODELS, TASKS
from benchmark.results.cards import (
    RESULTS,
    bundled_cards,
    card_line,
    card_text,
    models_page,
    read_card,
    stored_results,
)
from ivl_shards.generation.recipe import format_counts, require


@click.command("tasks", epilog="Example: ivl-bench tasks")
@JSON
def tasks_command(as_json: bool) -> None:
    """List the tasks, and the content checksums of their standard test sets.

    `ivl-shards info` prints the checksum of a file.
    """
    if as_json:
        tasks = [
            {
                "name": task.name,
                "kind": task.kind,
                "train": task.train.counts,
                "test": task.test.counts,
                "metrics": [metric.name for metric in task.metrics],
                "standard_test_sets": dict(task.standard),
            }
            for task in TASKS.values()
        ]
        click.echo(json.dumps(tasks, indent=1))
        return
    for task in TASKS.values():
        click.echo(
            f"{task.name:<20} {task.kind} {task.unit}: trained on "
            f"{format_counts(task.train.counts)}, tested on {format_counts(task.test.counts)}; "
            f"{', '.join(metric.name for metric in task.metrics)}"
        )
        for checksum, what in task.standard.items():
            click.echo(f"    standard test set {checksum}\n    {what}")


@click.command("models")
@click.argument("weights", metavar="[RUN|WEIGHTS]", required=False)
@click.option(
    "--results",
    type=PATH,
    default=RESULTS,
    show_default="those of the project",
    help="Folder of the results that cards take their scores from.",
)
@click.option(
    "--out", type=PATH, metavar="FILE.md", help="Write the cards of all bundled weights to a page."
)
@NAMED
@JSON
def models_command(
    weights: str | None, results: Path, out: Path | None, named: tuple[str, ...], as_json: bool
) -> None:
    """List the models and the bundled weights, or print the card of some weights.

    A card states the training data and time, the scores, the limits and the terms of use.

    Example: ivl-bench models

    Example: ivl-bench models icdar-blocks-inductive-fast
    """
    require(weights is None or out is None, "--out: is for all bundled weights: leave the name out")
    if weights is not None:
        card = read_card(find_weights(weights), stored_results(results), named)
        click.echo(json.dumps(card.to_json(), indent=1) if as_json else card_text(card))
    elif out is not None:
        write_pages(out, {out.name: models_page(bundled_cards(results))})
    elif as_json:
        cards = {card.name: card.to_json() for card in bundled_cards(results)}
        click.echo(json.dumps({"models": _descriptions(), "trained": cards}, indent=1))
    else:
        for name, text in _descriptions().items():
            click.echo(f"{name:<13} {text}")
        click.echo("MODULE:CLASS a class of yours that derives from benchmark.Model")
        for path in bundled_weights():
            click.echo(card_line(read_card(path)))


def _descriptions() -> dict[str, str]:
    return {
        **{name: entry.description for name, entry in MODELS.items()},
        INDUCTIVE_OCR: DESCRIPTION,
    }
