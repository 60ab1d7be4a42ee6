"""Presets: the numbers of every training run, in one place.

`paper` is the paper's text to the letter; `fast` is ours, for two CPU cores. An option given
with `--set name=value` replaces the one that stands here.
"""

import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmark.options import Option, check_option, check_options, choice, flag, number, text, whole
from benchmark.tasks import Part, Task
from ivl_shards import UserError
from ivl_shards.errors import did_you_mean
from ivl_shards.generation.recipe import parse_counts

PRESETS = ("fast", "paper")


@dataclass(frozen=True)
class Training:
    """How a model is trained."""

    steps: int
    batch: int
    optimiser: str = "adamw"
    """`adamw`, with a learning rate that rises and falls, or `adadelta`."""
    rate: float = 3e-3
    """The highest learning rate."""
    warm_up: float = 0.1
    """Share of the steps in which the rate rises."""
    decay: float = 1e-4
    """Of the weights (adamw)."""
    clip: float = 1.0
    """Longest gradient; 0 for no limit."""
    average: float = 0.0
    """Weights are averaged over about 1 / (1 - average) steps; 0 for not at all."""
    augment: bool = True
    """Whether the task's own changes to images are made."""
    choose: bool = False
    """Whether the weights with the least validation loss are kept, not the last ones."""
    words: int = 0
    """Reading: steps at first in which single words are read, not lines, where the task knows
    them."""
    finding: int = 0
    """Reading: steps at first in which lines are found as well as read; later in one of eight.
    0: in all."""
    synthetic: float = 0.0
    """Share of the training samples that are synthetic, where the task has such."""
    locating: int = 0
    """Reading end to end: steps at first in which lines are looked for and not read."""
    precision: str = "float32"
    """Of the arithmetic in training: `float32`; `bfloat16`, where rounding does no harm, which is
    nearly twice as fast on CPUs that know it and three times slower on others; or `auto`, the
    faster of the two."""
    encoder: str = ""
    """Trained weights (a run, a file, or some that come along) whose encoder the model begins
    with."""
    lengths: str = ""
    """Lines or objects of the samples to train on, such as 1-3; nothing: those of the task."""
    samples: int = 0
    """How many samples there are to train on; 0: as many as the task has."""
    model: dict[str, Any] = field(default_factory=dict)
    """Options of the model itself."""

    def to_json(self) -> dict[str, Any]:
        """As it is stored beside results."""
        return asdict(self)


TRAINING_OPTIONS: dict[str, Option] = {
    "steps": whole(1, 1_000_000_000),
    "batch": whole(1, 65_536),
    "optimiser": choice("adamw", "adadelta"),
    "rate": number(0, 1000),
    "warm_up": number(0, 1),
    "decay": number(0, 100),
    "clip": number(0, 1e9),
    "average": number(0, 1),
    "augment": flag(),
    "choose": flag(),
    "words": whole(0, 1_000_000_000),
    "finding": whole(0, 1_000_000_000),
    "locating": whole(0, 1_000_000_000),
    "synthetic": number(0, 1),
    "precision": choice("float32", "bfloat16", "auto"),
    "encoder": text(),
    "lengths": text(),
    "samples": whole(0, 100_000_000),
}
"""What each option of `Training` takes; those of `model` are the model's own."""

_PAPER: dict[str, Any] = {
    # The paper's optimiser has no schedule; 1.0 and no decay are AdaDelta's own.
    "optimiser": "adadelta",
    "rate": 1.0,
    "decay": 0.0,
    "clip": 0.0,
    "augment": False,
}

# A small shape and a large one of the same form differ in their size alone, so a line is read at
# the scale of the image: 20 pixels are the room for one shape.
_TOY: dict[str, Any] = {
    "finder": 16,
    "step": 16,
    "extent": 20.0,
    "reader": [8, 16, 24, 32, 32],
    "hidden": 32,
    "jitter": 1.5,
}

# At a half, a quarter and an eighth of the resolution; eight times as many channels.
_FIELDS = [4, 6, 12]
# Which of the remaining planes are counted already is easier to tell than what a plane is.
# Tails and wings of large planes lie 15 pixels from the mark that says they are counted.
_PLANES: dict[str, Any] = {"fields": _FIELDS, "step": 4, "reach": 2}

# Statistics of eight blocks are noisy: the finder's normalisations follow them slowly.
_TEXT: dict[str, Any] = {
    "alphabet": "ascii",
    "momentum": 0.05,
    "error": 0.055,
    "along": 2.0,
    "layers": "residual",
    "rows": 32,
    "squeeze": 4 / 3,
    "reader": [32, 64, 96, 192, 256],
    "hidden": 192,
}
_READING: dict[str, Any] = {
    "rate": 2e-3,
    "warm_up": 1 / 60,
    "decay": 0.01,
    "clip": 5.0,
    "average": 0.999,
}
# Photographs: lines of any height. The strip reader goes on from that of synthetic blocks.
_PHOTOGRAPHS: dict[str, Any] = {**_TEXT, "scales": "many", "step": 24}
# Some 190 real blocks overfit soon: most samples are synthetic scenes, and the weights with the
# least validation loss are kept.
_TUNING: dict[str, Any] = {**_READING, "rate": 1e-3, "average": 0.998, "choose": True}
_PAPER_TUNING: dict[str, Any] = {**_PAPER, "augment": True, "choose": True}

# (task, model, preset)
TRAININGS: dict[tuple[str, str, str], Training] = {
    ("toy-shapes", "inductive", "fast"): Training(2000, 16, average=0.99, model=_TOY),
    ("toy-shapes", "end-to-end", "fast"): Training(2000, 16, average=0.99),
    ("toy-shapes", "inductive", "paper"): Training(20_000, 32, **_PAPER),
    ("toy-shapes", "end-to-end", "paper"): Training(20_000, 32, **_PAPER),
    ("coloured-shapes", "inductive", "fast"): Training(1200, 16, average=0.99),
    # From nothing, an end-to-end counter stays at chance for as long as its twin takes to learn:
    # whole sequences say little about where objects are. It is given the twin's eyes.
    ("coloured-shapes", "end-to-end", "fast"): Training(
        1200, 16, average=0.99, encoder="coloured-shapes-inductive-fast"
    ),
    ("coloured-shapes", "inductive", "paper"): Training(20_000, 16, **_PAPER),
    ("coloured-shapes", "end-to-end", "paper"): Training(20_000, 16, **_PAPER),
    ("dota-planes", "inductive", "fast"): Training(
        5400, 16, average=0.998, warm_up=0.05, decay=0.05, precision="auto", model=_PLANES
    ),
    ("dota-planes", "end-to-end", "fast"): Training(
        5400,
        16,
        average=0.998,
        warm_up=0.05,
        precision="auto",
        encoder="dota-planes-inductive-fast",
        model={"fields": _FIELDS},
    ),
    ("dota-planes", "inductive", "paper"): Training(40_000, 16, **_PAPER),
    ("dota-planes", "end-to-end", "paper"): Training(40_000, 16, **_PAPER),
    # 256,000 blocks: some three hours of two idle cores with bfloat16.
    ("text-blocks", "inductive", "fast"): Training(
        16_000, 16, words=300, finding=1000, precision="auto", model=_TEXT, **_READING
    ),
    ("text-blocks", "end-to-end", "fast"): Training(
        600,
        16,
        locating=400,
        precision="auto",
        encoder="text-blocks-inductive-fast",
        lengths="1-3",
        samples=12_000,
        model=_TEXT,
        **{**_READING, "rate": 1.5e-3, "warm_up": 0.05, "average": 0.99},
    ),
    ("text-blocks", "inductive", "paper"): Training(300_000, 16, **_PAPER),
    ("text-blocks", "end-to-end", "paper"): Training(300_000, 16, **_PAPER),
    # 19,200 samples: some 50 minutes of one idle core with bfloat16.
    ("icdar-blocks", "inductive", "fast"): Training(
        1200,
        16,
        synthetic=0.85,
        precision="auto",
        encoder="text-blocks-inductive-fast",
        model=_PHOTOGRAPHS,
        **_TUNING,
    ),
    ("icdar-blocks", "end-to-end", "fast"): Training(1200, 8, model=_TEXT, **_TUNING),
    ("icdar-blocks", "inductive", "paper"): Training(5000, 16, **_PAPER_TUNING),
    ("icdar-blocks", "end-to-end", "paper"): Training(5000, 16, **_PAPER_TUNING),
}


def training_for(
    task: Task, model: str, preset: str, changes: dict[str, Any] | None = None
) -> Training:
    """The training of a built-in model; a third party's gets that of `inductive`."""
    if preset not in PRESETS:
        hint = did_you_mean(preset, PRESETS)
        raise UserError(f"no preset '{preset}'{hint}: there are {', '.join(PRESETS)}")
    known = (task.name, model, preset)
    training = TRAININGS.get(known, TRAININGS[task.name, "inductive", preset])
    if known not in TRAININGS:
        training = replace(training, model={})
    return change(training, changes or {})


def training_part(task: Task, training: Training) -> Part:
    """Return the samples to train on.

    >>> from benchmark.tasks import find_task
    >>> training_part(find_task("text-blocks"), Training(1, 1, lengths="1-3", samples=900))
    Part(split='train', counts=(1, 2, 3), total=900, made_by='')
    """
    if not task.train.total and (training.lengths or training.samples):
        raise UserError(f"{task.name} is trained on all there is: leave lengths and samples out")
    counts = parse_counts(training.lengths) if training.lengths else task.train.counts
    return replace(task.train, counts=counts, total=training.samples or task.train.total)


def change(training: Training, changes: dict[str, Any]) -> Training:
    """Replace options; what is no option of training is one of the model, which checks it when
    it is built."""
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
    """Return the training that a file holds; options that it does not name have their defaults."""
    if not isinstance(values, dict) or not {"steps", "batch"} <= values.keys():
        raise UserError("no training with steps and batch")
    given = {"model": {}, **values}
    if not isinstance(given["model"], dict):
        raise UserError("the options of the model are no list of names and values")
    own = {name: value for name, value in given.items() if name != "model"}
    check_options(own, TRAINING_OPTIONS, "training")
    return Training(**given)


def parse_change(text: str) -> tuple[str, Any]:
    """An option as written on the command line.

    >>> parse_change("steps=100"), parse_change("init=scaled"), parse_change("rate=1e-3")
    (('steps', 100), ('init', 'scaled'), ('rate', 0.001))
    >>> parse_change("fields=4,6,12")
    ('fields', [4, 6, 12])
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"'{text}' is not an option: write name=value, for example steps=100")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    if re.fullmatch(r"\d{1,9}(,\d{1,9})+", value):
        return name, [int(each) for each in value.split(",")]
    return name, {"true": True, "false": False}.get(value.lower(), value)
