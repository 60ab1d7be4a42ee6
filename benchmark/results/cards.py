"""Model cards: what weights were trained on and for how long, what they reach, and their limits.

Training and size are read from the weights themselves, scores and machine from results of theirs;
trained/notes.toml holds what no file knows: data, limits and terms.
"""

import hashlib
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmark.models.load import bundled_weights, load_model
from benchmark.options import is_line, is_number
from benchmark.registry import find_task
from benchmark.results.result import Result
from benchmark.results.tables import Row, in_table, markdown_table, read_results, result_row
from benchmark.tasks.task import Task
from benchmark.training.run_folder import Config
from benchmark.training.weights import read_metadata
from ivl_shards.generation.recipe import format_counts

RESULTS = Path(__file__).parents[2] / "results"
"""Results of the bundled weights, where the project is a repository."""
_NOTES = Path(__file__).parents[1] / "trained" / "notes.toml"
_UNKNOWN = "not stated"


@dataclass(frozen=True)
class Notes:
    """What no file of a training knows."""

    about: str = ""
    """What the weights do, in a few words."""
    data: str = _UNKNOWN
    training: str = ""
    """What the file of weights does not say about its training, if anything."""
    limits: Sequence[str] = ()
    terms: str = _UNKNOWN
    """Under which terms the weights may be used, and why."""
    use: str = _UNKNOWN
    """The terms in a few words, for lists."""


@dataclass(frozen=True)
class Card:
    """All there is to say about a file of weights."""

    name: str
    size: int
    """In bytes."""
    sha256: str
    """Checksum of the file."""
    config: Config
    parameters: int
    seconds: float | None
    """Of the training; None: the file does not say it."""
    machine: str
    notes: Notes
    results: Sequence[Result]
    """Those of these weights, the one of the training first."""

    @property
    def task(self) -> Task:
        """The task that the weights were trained on."""
        return find_task(self.config.task)

    @property
    def train_data(self) -> str:
        """Content checksum of the training set, as the configuration or the result of the training
        states it; empty: neither does."""
        stated = [result.train_data for result in self.results if result.curve]
        return next(filter(None, [self.config.train_data, *stated]), "")

    def to_json(self) -> dict[str, Any]:
        """Everything, without the training curves and the wrong answers of the results."""
        scores = [
            {key: value for key, value in result.to_json().items() if key in ("changes", "metrics")}
            for result in self.results
        ]
        return {
            "size": self.size,
            "sha256": self.sha256,
            "train_data": self.train_data,
            "parameters": self.parameters,
            "config": self.config.to_json(),
            "seconds": self.seconds,
            "machine": self.machine,
            **asdict(self.notes),
            "scores": scores,
        }


def read_card(path: Path, results: Sequence[Result] = (), named: Collection[str] = ()) -> Card:
    """Return the card of a file of weights, with those of some results that are of it.

    `named` are models of third parties whose code may be imported; see `load_model`.
    """
    config, model = load_model(path, named)
    metadata = read_metadata(path)
    seconds = metadata["seconds"] if is_number(metadata.get("seconds"), 0, 1e12) else None
    own = [result for result in results if _is_same_training(result, config, seconds)]
    own.sort(key=lambda result: (not result.curve, bool(result.changes)))
    return Card(
        name=path.stem if _is_bundled(path) else config.name,
        size=path.stat().st_size,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        config=config,
        parameters=sum(p.numel() for p in model.parameters()),
        seconds=seconds,
        machine=_machine(metadata, own),
        notes=bundled_notes(path, config.task),
        results=own,
    )


def bundled_cards(folder: Path = RESULTS) -> list[Card]:
    """Return the cards of the bundled weights, with the results in a folder."""
    results = stored_results(folder)
    return [read_card(path, results) for path in bundled_weights()]


def stored_results(folder: Path) -> list[Result]:
    """Return the results in a folder; none where there is no such folder, as once installed."""
    return read_results(folder) if any(folder.rglob("*.json")) else []


def bundled_notes(path: Path, task: str = "") -> Notes:
    """Return what is noted about a task's data, and about weights if they are bundled ones."""
    notes = _noted()
    own = notes["weights"].get(path.stem, {}) if _is_bundled(path) else {}
    return Notes(**{**notes["tasks"].get(task, {}), **own})


def _is_bundled(path: Path) -> bool:
    return path.resolve() in {packed.resolve() for packed in bundled_weights()}


@cache
def _noted() -> dict[str, Any]:
    return tomllib.loads(_NOTES.read_text("utf-8"))


def _is_same_training(result: Result, config: Config, seconds: float | None) -> bool:
    """Tell whether a result belongs to weights: it has their configuration and, where both state
    it, the same training time."""
    took = result.training_seconds
    if took is not None and seconds is not None and abs(took - seconds) > 0.1:
        return False
    return result.config == config


def _machine(metadata: dict[str, Any], results: Sequence[Result]) -> str:
    """Return the machine that weights were trained on, as they or their result state it."""
    found = metadata.get("environment")
    stated = [found] if isinstance(found, dict) else []
    for environment in [*stated, *(result.environment for result in results if result.curve)]:
        machine, threads = environment.get("machine"), environment.get("threads")
        if is_line(machine) and is_number(threads, 1, 1e6):  # what files say is not relied on
            return f"{machine}, {threads} thread{'s' * (threads != 1)}"
    scored = [result.environment.get("machine") for result in results]
    where = next((f"; scored on {machine}" for machine in scored if machine), "")
    return f"not stated by the weights{where}"


def card_text(card: Card, heading: str = "#") -> str:
    """Return a card as Markdown."""
    task, config = card.task, card.config
    lengths = f"{format_counts(task.train.counts)} {task.unit}"
    facts = {
        "Task": f"{task.title} (`{task.name}`): {task.kind} {task.unit}",
        "Model": f"`{in_table(config.model)}`, preset `{in_table(config.preset)}`, "
        f"seed {config.seed}; {card.parameters:,} parameters",
        "Size": f"{card.size / 1e6:.1f} MB; SHA-256 `{card.sha256}`",
        "Data": f"{card.notes.data} The task's training samples have {lengths}.",
        "Data checksum": _data_checksum(card),
        "Training": f"{_training(config)} {card.notes.training}".strip(),
        "Hours": _hours(card),
        "Machine": in_table(card.machine),
        "Terms": card.notes.terms,
    }
    about = card.notes.about
    lines = [f"{heading} {in_table(card.name)}", ""]
    lines += [f"{about[:1].upper()}{about[1:]}.", ""] if about else []
    lines += ["| | |", "|---|---|", *(f"| {name} | {fact} |" for name, fact in facts.items())]
    lines += ["", f"{heading}# Scores", "", *_scores(card)]
    lines += ["", f"{heading}# Limits", "", *(f"- {limit}" for limit in card.notes.limits)]
    return "\n".join(lines if card.notes.limits else [*lines, f"Limits are {_UNKNOWN}."])


def _training(config: Config) -> str:
    """Say how weights were trained."""
    training = config.training
    said = [
        f"{training.steps:,} steps of {training.batch_size} samples "
        f"({training.steps * training.batch_size:,} in all)",
        f"{training.optimizer}, highest learning rate {training.learning_rate:g}",
        f"precision {training.precision}",
    ]
    if training.synthetic:
        said.append(f"{training.synthetic:.0%} of the samples synthetic")
    if training.keep_best:
        said.append("the weights with the lowest validation loss")
    if training.encoder:
        said.append(f"encoder initialised with that of `{in_table(training.encoder)}`")
    if config.init:
        said.append(f"started from the weights of {in_table(config.init)}")
    return "; ".join(said) + "."


def _data_checksum(card: Card) -> str:
    """Return the content checksum of the training set, to compare with `ivl-shards info`."""
    if not card.train_data:
        return f"{_UNKNOWN} by the weights or a result of their training"
    return f"`content_sha256` {in_table(card.train_data)}"


def _hours(card: Card) -> str:
    if card.seconds is None:
        return _UNKNOWN
    begun = card.config.init or card.config.training.encoder
    without = ", without the training of the initial weights" if begun else ""
    return f"{card.seconds / 3600:.2f}{without}"


def _scores(card: Card) -> list[str]:
    rows = _rows(card.task, card.results)
    if not rows:
        return ["No result of these weights is stored."]
    head = f"Per cent by number of {card.task.unit}, with 95 % confidence intervals."
    return [head, "", *markdown_table(rows, "metric", with_samples=True)]


def _rows(task: Task, results: Iterable[Result]) -> list[Row]:
    """Return a row for each metric of each result; those of one metric stand together."""
    rows: list[Row] = []
    for metric in task.metrics:
        for result in results:
            label = ", ".join([metric.name, *result.decoding])
            if label in (row.label for row in rows):
                label += ", another test set"
            row = result_row(label, [result], metric)
            rows += [row] if row.figures else []
    return rows


def card_line(card: Card) -> str:
    """Return a card in two lines for a terminal: task, parameters, size and terms; what it does."""
    return (
        f"{card.name:<32} {card.task.name:<15} {card.parameters:>9,} parameters "
        f"{card.size / 1e6:4.1f} MB  {card.notes.use}\n    {card.notes.about}"
    )


def models_page(cards: Sequence[Card]) -> str:
    """Return docs/MODELS.md."""
    lines = [
        "# Bundled models",
        "",
        "Written by `ivl-bench models --out docs/MODELS.md` (`make readme`) from the weights in",
        "`benchmark/trained/`, the files in `results/`, and the notes on data, limits and terms in",
        "`benchmark/trained/notes.toml`. `ivl-bench models NAME` prints one card.",
        "",
        "| weights | | parameters | size | hours | terms |",
        "|---|---|---|---|---|---|",
    ]
    for card in cards:
        hours = f"{card.seconds / 3600:.2f}" if card.seconds is not None else "–"
        lines.append(
            f"| [{card.name}](#{card.name}) | {card.notes.about} | {card.parameters:,} "
            f"| {card.size / 1e6:.1f} MB "
            f"| {hours} | {card.notes.use} |"
        )
    return "\n".join([*lines, "", *(card_text(card, "##") + "\n" for card in cards)])
