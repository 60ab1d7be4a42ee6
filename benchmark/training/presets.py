"""Presets: the hyperparameters of every training run, in one place.

`paper` follows the paper's text to the letter; `fast` is ours, for two CPU cores; `demo` is `fast`
with fewer steps, to see a trained model soon. A single setting is replaced by `--set name=value`.
"""

from dataclasses import replace
from typing import Any

from benchmark.training.settings import Training

_PAPER: dict[str, Any] = {
    # The paper's optimiser has no schedule; 1.0 and no decay are AdaDelta's own.
    "optimizer": "adadelta",
    "learning_rate": 1.0,
    "weight_decay": 0.0,
    "grad_clip": 0.0,
    "augment": False,
    "precision": "auto",
}

# A small shape and a large one of the same form differ in their size alone, so a line is read at
# the scale of the image: 20 pixels are the room for one shape. For the same reason the ground goes
# on outside of the image: a small shape at its edge would look large otherwise.
_TOY: dict[str, Any] = {
    "finder": 16,
    "step": 16,
    "extent": 20.0,
    "padding": "zeros",
    "reader": [8, 16, 24, 32, 32],
    "hidden": 32,
    "jitter": 1.5,
    "views": 8,
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
    "learning_rate": 2e-3,
    "warmup": 1 / 60,
    "weight_decay": 0.01,
    "grad_clip": 5.0,
    "ema": 0.999,
}
# Photographs: lines of any height. The strip reader goes on from that of synthetic blocks.
_PHOTOGRAPHS: dict[str, Any] = {**_TEXT, "scales": "many", "step": 24}
# Some 190 real blocks overfit soon: most samples are synthetic scenes, and the weights with the
# least validation loss are kept.
_TUNING: dict[str, Any] = {**_READING, "learning_rate": 1e-3, "ema": 0.998, "keep_best": True}
_PAPER_TUNING: dict[str, Any] = {**_PAPER, "augment": True, "keep_best": True}

# (task, model, preset)
TRAININGS: dict[tuple[str, str, str], Training] = {
    ("toy-shapes", "inductive", "fast"): Training(6000, 16, ema=0.99, model=_TOY),
    # Fewer steps and views: chosen by two seeds each on samples that are neither trained on nor
    # tested (docs/experiments.md).
    ("toy-shapes", "inductive", "demo"): Training(500, 16, ema=0.99, model={**_TOY, "views": 3}),
    ("toy-shapes", "end-to-end", "fast"): Training(2000, 16, ema=0.99),
    ("toy-shapes", "inductive", "paper"): Training(20_000, 32, **_PAPER),
    ("toy-shapes", "end-to-end", "paper"): Training(20_000, 32, **_PAPER),
    ("coloured-shapes", "inductive", "fast"): Training(1200, 16, ema=0.99),
    # From nothing, an end-to-end counter stays at chance for as long as its twin takes to learn:
    # whole sequences say little about where objects are. So it starts with the twin's encoder.
    ("coloured-shapes", "end-to-end", "fast"): Training(
        1200, 16, ema=0.99, encoder="coloured-shapes-inductive-fast"
    ),
    ("coloured-shapes", "inductive", "paper"): Training(20_000, 16, **_PAPER),
    ("coloured-shapes", "end-to-end", "paper"): Training(20_000, 16, **_PAPER),
    ("dota-planes", "inductive", "fast"): Training(
        5400, 16, ema=0.998, warmup=0.05, weight_decay=0.05, precision="auto", model=_PLANES
    ),
    # A third of the steps: it starts with a trained encoder, which a higher learning rate destroys.
    ("dota-planes", "end-to-end", "fast"): Training(
        1800,
        16,
        learning_rate=1e-3,
        ema=0.998,
        warmup=0.05,
        precision="auto",
        encoder="dota-planes-inductive-fast",
        model={"fields": _FIELDS},
    ),
    ("dota-planes", "inductive", "paper"): Training(40_000, 16, **_PAPER),
    ("dota-planes", "end-to-end", "paper"): Training(40_000, 16, **_PAPER),
    # 256,000 blocks: some three hours of two idle cores with bfloat16.
    ("text-blocks", "inductive", "fast"): Training(
        16_000, 16, word_steps=300, finder_steps=1000, precision="auto", model=_TEXT, **_READING
    ),
    ("text-blocks", "end-to-end", "fast"): Training(
        600,
        16,
        locate_steps=400,
        precision="auto",
        encoder="text-blocks-inductive-fast",
        lengths="1-3",
        samples=12_000,
        model=_TEXT,
        **{**_READING, "learning_rate": 1.5e-3, "warmup": 0.05, "ema": 0.99},
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


# Variants of a task are trained as the task itself, but for these settings.
_VARIANTS: dict[str, tuple[str, dict[tuple[str, str], dict[str, Any]]]] = {
    "coloured-shapes-hard": (
        "coloured-shapes",
        {
            ("inductive", "fast"): {"steps": 1600},
            ("end-to-end", "fast"): {
                "steps": 1600,
                "encoder": "coloured-shapes-hard-inductive-fast",
            },
        },
    ),
    # Lines lie anywhere on a canvas of twenty lines, so whether one is the next depends on what is
    # far above it: the finder needs a wide receptive field. Images are five times as high as those
    # of toy shapes, hence the smaller batches of the end-to-end model.
    "toy-shapes-fixed": (
        "toy-shapes",
        {
            ("inductive", "fast"): {"steps": 3000, "model": {**_TOY, "scales": "many"}},
            ("end-to-end", "fast"): {"batch_size": 8},
        },
    ),
}


def task_presets(task: str) -> dict[tuple[str, str], Training]:
    """Return the presets of a built-in task, by model and preset."""
    base, changes = _VARIANTS.get(task, (task, {}))
    return {
        (model, preset): replace(training, **changes.get((model, preset), {}))
        for (name, model, preset), training in TRAININGS.items()
        if name == base
    }
