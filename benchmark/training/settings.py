"""Training settings: every hyperparameter of a training run, and how `--set` changes it."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmark.old_files import OLD_SETTINGS, upgrade_settings
from benchmark.options import Option, check_option, check_options, choice, flag, number, text, whole
from benchmark.tasks.task import Split, Task
from ivl_shards import UserError
from ivl_shards.generation.recipe import parse_counts


@dataclass(frozen=True)
class Training:
    """How a model is trained."""

    steps: int
    batch_size: int
    optimizer: str = "adamw"
    """`adamw`, with warm-up and cosine decay of the learning rate, or `adadelta`."""
    learning_rate: float = 3e-3
    """The highest learning rate."""
    warmup: float = 0.1
    """Fraction of the steps in which the learning rate rises."""
    weight_decay: float = 1e-4
    """Weight decay of adamw."""
    grad_clip: float = 1.0
    """Largest norm of the gradient; 0 for no clipping."""
    ema: float = 0.0
    """Decay of the exponential moving average of the weights, which is what is kept; 0 for none."""
    augment: bool = True
    """Whether samples are augmented as the task says."""
    keep_best: bool = False
    """Keep the weights with the lowest validation loss, not the last ones."""
    word_steps: int = 0
    """Reading: number of first steps that train on single words instead of lines, where the task
    knows them."""
    finder_steps: int = 0
    """Reading: number of first steps that train the line finder in every batch; later it is
    trained in every eighth. 0: always in every batch."""
    locate_steps: int = 0
    """End-to-end reading: number of first steps that train the location of lines only."""
    synthetic: float = 0.0
    """Fraction of the training samples that are synthetic, where the task has such."""
    precision: str = "float32"
    """`float32`; `bfloat16` mixed precision, nearly twice as fast on CPUs that support it and three
    times slower on others; or `auto`, the faster of the two."""
    encoder: str = ""
    """Trained weights (a run, a file, or bundled weights) to initialise the encoder with."""
    lengths: str = ""
    """Lines or objects of the training samples, such as 1-3; empty: those of the task."""
    samples: int = 0
    """Number of training samples; 0: as many as the task has."""
    model: dict[str, Any] = field(default_factory=dict)
    """Options of the model itself."""

    def to_json(self) -> dict[str, Any]:
        """Return the settings as they are stored in results and weights."""
        return asdict(self)


TRAINING_OPTIONS: dict[str, Option] = {
    "steps": whole(1, 1_000_000_000),
    "batch_size": whole(1, 65_536),
    "optimizer": choice("adamw", "adadelta"),
    "learning_rate": number(0, 1000),
    "warmup": number(0, 1),
    "weight_decay": number(0, 100),
    "grad_clip": number(0, 1e9),
    "ema": number(0, 1),
    "augment": flag(),
    "keep_best": flag(),
    "word_steps": whole(0, 1_000_000_000),
    "finder_steps": whole(0, 1_000_000_000),
    "locate_steps": whole(0, 1_000_000_000),
    "synthetic": number(0, 1),
    "precision": choice("float32", "bfloat16", "auto"),
    "encoder": text(),
    "lengths": text(),
    "samples": whole(0, 100_000_000),
}
"""The values that each field of `Training` takes; those of `model` are the model's own."""


def training_split(task: Task, training: Training) -> Split:
    """Return the samples to train on.

    >>> from benchmark import find_task
    >>> training_split(find_task("text-blocks"), Training(1, 1, lengths="1-3", samples=900))
    Split(name='train', counts=(1, 2, 3), total=900, dataset='')
    """
    if not task.train.total and (training.lengths or training.samples):
        raise UserError(f"{task.name} is trained on all there is: leave lengths and samples out")
    counts = parse_counts(training.lengths) if training.lengths else task.train.counts
    return replace(task.train, counts=counts, total=training.samples or task.train.total)


def change_training(training: Training, changes: Mapping[str, Any]) -> Training:
    """Return the settings with some replaced. Names that are none of `Training` are options of
    the model, which checks them when it is built."""
    for name in changes:
        if name in OLD_SETTINGS:
            raise UserError(f"--set {name}: is called {OLD_SETTINGS[name]} now")
    own = {name: value for name, value in changes.items() if name in TRAINING_OPTIONS}
    if isinstance(counts := own.get("lengths"), int | list):  # 2 and 1,2 look like other values
        own["lengths"] = ",".join(map(str, counts if isinstance(counts, list) else [counts]))
    for name, value in own.items():
        check_option(name, value, TRAINING_OPTIONS[name])
        if isinstance(getattr(training, name), float):
            own[name] = float(value)
    model = {**training.model, **{k: v for k, v in changes.items() if k not in own}}
    return replace(training, model=model, **own)


def training_from_json(values: Any) -> Training:
    """Return the settings that a file holds; those that it does not name have their defaults."""
    if isinstance(values, dict):
        values = upgrade_settings(values)
    if not isinstance(values, dict) or not {"steps", "batch_size"} <= values.keys():
        raise UserError("no training with steps and batch_size")
    given = {"model": {}, **values}
    if not isinstance(given["model"], dict):
        raise UserError("the options of the model are no list of names and values")
    own = {name: value for name, value in given.items() if name != "model"}
    check_options(own, TRAINING_OPTIONS, "training")
    return Training(**given)


def parse_change(text: str) -> tuple[str, Any]:
    """Return the name and value of an option as written on the command line.

    >>> parse_change("steps=100"), parse_change("init=scaled"), parse_change("learning_rate=1e-3")
    (('steps', 100), ('init', 'scaled'), ('learning_rate', 0.001))
    >>> parse_change("fields=4,6,12"), parse_change("thresholds=0.4,0.2")
    (('fields', [4, 6, 12]), ('thresholds', [0.4, 0.2]))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"'{text}' is not an option: write name=value, for example steps=100")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    for pattern, kind in ((r"\d{1,9}", int), (r"\d{0,9}\.?\d{1,9}", float)):
        if re.fullmatch(f"{pattern}(,{pattern})+", value):
            return name, [kind(each) for each in value.split(",")]
    return name, {"true": True, "false": False}.get(value.lower(), value)
