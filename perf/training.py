"""Training and inference of the benchmark's models.

.venv/bin/python perf/training.py

For each task, model and preset: training samples per second, the share of this machine's peak
that its arithmetic reaches. For each task: what ten steps cost with the paper's scheme, which
encodes image and memory at every step, over what they cost with ours, which encodes once.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from measure import HEADER, Figure, at_least, stated
from torch.utils.flop_counter import FlopCounterMode

from benchmark.data import make_batch, open_part, training_batches
from benchmark.models import InductiveModel, build_model
from benchmark.presets import PRESETS, training_for
from benchmark.tasks import Part, Task, find_task

_TASKS = ("toy-shapes", "coloured-shapes")  # airplanes are counted by the same model
_STEPS = 4
_LONGEST = 10  # lines or objects of the images that inference is timed with


def seconds(work: Callable[[], object], least: float = 2.0) -> float:
    """The shortest time that some work takes, over a few seconds of trying."""
    work()
    times, begun = [], time.perf_counter()
    while time.perf_counter() - begun < least or len(times) < 3:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def peak() -> float:
    """GFLOP/s of a convolution that suits the machine: 64 channels, 3×3, in fp32."""
    layer = torch.nn.Conv2d(64, 64, 3, padding=1).to(memory_format=torch.channels_last)
    x = torch.randn(16, 64, 64, 64).to(memory_format=torch.channels_last)
    with torch.no_grad():
        return 2 * 16 * 64**2 * 64**2 * 9 / seconds(lambda: layer(x)) / 1e9


def training(task: Task, model_name: str, preset: str, data: Path, best: float) -> list[Figure]:
    """Speed of training steps as a run makes them."""
    chosen = training_for(task, model_name, preset)
    torch.manual_seed(0)
    model = build_model(model_name, task, preset, chosen.model)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    dataset = open_part(task, Part("train", task.train.counts, 60), data)
    steps = range(_STEPS)
    batches = list(training_batches(task, dataset, 0, chosen.batch, steps, 0, 1, chosen.augment))
    optimiser = torch.optim.AdamW(model.parameters())

    def step(k: int = 0) -> None:
        optimiser.zero_grad()
        model.loss(batches[k]).mean().backward()
        optimiser.step()

    with FlopCounterMode(display=False) as counter:
        step()
    taken = seconds(lambda: [step(k) for k in steps], 4.0) / _STEPS
    label = f"{task.name}, {model_name}, {preset}"
    reached = counter.get_total_flops() / taken / 1e9 / best
    return [
        stated(f"{label}: training", chosen.batch / taken, "samples/s"),
        stated(f"{label}: share of the convolution peak", reached, ""),
    ]


def ten_steps(task: Task, preset: str, data: Path, anew: bool = False) -> float:
    """Seconds an image of ten steps, its encoding included: once, or anew at each step."""
    model = build_model("inductive", task, preset, training_for(task, "inductive", preset).model)
    assert isinstance(model, InductiveModel)
    model.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    dataset = open_part(task, Part("test", (_LONGEST,), 8), data)
    images = make_batch(task, list(dataset), []).images
    memory = torch.zeros(len(images), *images.shape[2:])

    @torch.no_grad()
    def work() -> None:
        encoded = model.encode(images)
        for k in range(_LONGEST):
            model.step(model.encode(images) if anew and k else encoded, memory)

    return seconds(work) / len(images)


def inference(task: Task, data: Path) -> list[Figure]:
    """What ten steps cost, against the paper's scheme."""
    ours, theirs = ten_steps(task, "fast", data), ten_steps(task, "paper", data)
    again = ten_steps(task, "fast", data, anew=True)
    return [
        stated(f"{task.name}, paper: ten steps of an image", 1000 * theirs, "ms"),
        stated(f"{task.name}, fast: ten steps of an image", 1000 * ours, "ms"),
        at_least(f"{task.name}: ten steps, paper over fast", theirs / ours, "times", 4),
        stated(f"{task.name}, fast: encoded at each step over once", again / ours, "times"),
    ]


def figures() -> list[Figure]:
    """All figures, presets within one run."""
    best = peak()
    found = [stated("fp32 convolutions at their best", best, "GFLOP/s")]
    with tempfile.TemporaryDirectory() as folder:
        for name in _TASKS:
            task = find_task(name)
            for preset in PRESETS:
                for model in ("inductive", "end-to-end"):
                    found += training(task, model, preset, Path(folder), best)
            found += inference(task, Path(folder))
    return found


if __name__ == "__main__":
    print(HEADER)
    for figure in figures():
        print(figure.row())
