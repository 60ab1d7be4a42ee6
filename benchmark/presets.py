"""Presets: the numbers of every training run, in one place.

`paper` is the paper's text to the letter; `fast` is ours, for two CPU cores. An option given
with `--set name=value` replaces the one that stands here.
"""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from benchmark.tasks import Task
from ivl_shards import UserError

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
    precision: str = "float32"
    """Of the arithmetic in training: `float32`; `bfloat16`, where rounding does no harm, which is
    nearly twice as fast on CPUs that know it and three times slower on others; or `auto`, the
    faster of the two."""
    encoder: str = ""
    """Trained weights (a run, a file, or some that come along) whose encoder the model begins
    with."""
    model: dict[str, Any] = field(default_factory=dict)
    """Options of the model itself."""

    def to_json(self) -> dict[str, Any]:
        """As it is stored beside results."""
        return asdict(self)


_PAPER: dict[str, Any] = {
    # The paper's optimiser has no schedule; 1.0 and no decay are AdaDelta's own.
    "optimiser": "adadelta", "rate": 1.0, "decay": 0.0, "clip": 0.0, "augment": False,
}  # fmt: skip

# A small shape and a large one of the same form differ in their size alone, so a line is read at
# the scale of the image: 20 pixels are the room for one shape.
_TOY: dict[str, Any] = {
    "finder": 16, "step": 16, "extent": 20.0, "reader": [8, 16, 24, 32, 32], "hidden": 32,
    "jitter": 1.5,
}  # fmt: skip

# At a half, a quarter and an eighth of the resolution; eight times as many channels.
_FIELDS = [4, 6, 12]
# Which of the remaining planes are counted already is easier to tell than what a plane is.
# Tails and wings of large planes lie 15 pixels from the mark that says they are counted.
_PLANES: dict[str, Any] = {"fields": _FIELDS, "step": 4, "reach": 2}

# Statistics of eight blocks are noisy: the finder's normalisations follow them slowly.
_TEXT: dict[str, Any] = {"momentum": 0.05}
_READING: dict[str, Any] = {
    "rate": 2e-3, "warm_up": 200 / 12_000, "decay": 0.01, "clip": 5.0, "average": 0.999,
}  # fmt: skip
# Fine-tuning: some 190 blocks, seen fifty times, and learnt by heart if one goes on for too long.
_TUNING: dict[str, Any] = {
    **_READING, "rate": 3e-4, "warm_up": 0.1, "average": 0.99, "choose": True,
}  # fmt: skip
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
    ("text-blocks", "inductive", "fast"): Training(12_000, 8, words=300, model=_TEXT, **_READING),
    ("text-blocks", "end-to-end", "fast"): Training(12_000, 8, **_READING),
    ("text-blocks", "inductive", "paper"): Training(300_000, 16, **_PAPER),
    ("text-blocks", "end-to-end", "paper"): Training(300_000, 16, **_PAPER),
    ("icdar-blocks", "inductive", "fast"): Training(1200, 8, model=_TEXT, **_TUNING),
    ("icdar-blocks", "end-to-end", "fast"): Training(1200, 8, **_TUNING),
    ("icdar-blocks", "inductive", "paper"): Training(5000, 16, **_PAPER_TUNING),
    ("icdar-blocks", "end-to-end", "paper"): Training(5000, 16, **_PAPER_TUNING),
}


def training_for(
    task: Task, model: str, preset: str, changes: dict[str, Any] | None = None
) -> Training:
    """The training of a built-in model; a third party's gets that of `inductive`."""
    if preset not in PRESETS:
        raise UserError(f"no preset '{preset}': there are {', '.join(PRESETS)}")
    known = (task.name, model, preset)
    training = TRAININGS.get(known, TRAININGS[task.name, "inductive", preset])
    if known not in TRAININGS:
        training = replace(training, model={})
    return change(training, changes or {})


def change(training: Training, changes: dict[str, Any]) -> Training:
    """Replace options; what is no option of training is one of the model."""
    own = {f.name: f.type for f in fields(Training) if f.name != "model"}
    for name, value in changes.items():
        if name in own and type(value) is not type(getattr(training, name)):
            wanted = type(getattr(training, name))
            try:
                changes = {**changes, name: wanted(value)}
            except (TypeError, ValueError):
                raise UserError(
                    f"{name}={value}: wants a value of type {wanted.__name__}"
                ) from None
    model = {**training.model, **{k: v for k, v in changes.items() if k not in own}}
    changed = replace(training, model=model, **{k: v for k, v in changes.items() if k in own})
    if changed.steps < 1 or changed.batch < 1:
        raise UserError("steps and batch must be 1 or more")
    if changed.optimiser not in ("adamw", "adadelta"):
        raise UserError(f"optimiser '{changed.optimiser}': adamw or adadelta")
    if changed.precision not in ("float32", "bfloat16", "auto"):
        raise UserError(f"precision '{changed.precision}': float32, bfloat16 or auto")
    return changed


def parse_change(text: str) -> tuple[str, Any]:
    """An option as written on the command line.

    >>> parse_change("steps=100"), parse_change("init=scaled"), parse_change("rate=1e-3")
    (('steps', 100), ('init', 'scaled'), ('rate', 0.001))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"'{text}' is not an option: write name=value, for example steps=100")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    return name, {"true": True, "false": False}.get(value.lower(), value)
