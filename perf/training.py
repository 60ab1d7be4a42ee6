"""Training and inference of the benchmark's models.

.venv/bin/python perf/training.py

For each task, model and preset: training samples per second, the share of this machine's peak
that its arithmetic reaches. For each task: what ten steps cost with the paper's scheme, which
encodes image and memory at every step, over what they cost with ours, which encodes once.

For the reader of text: blocks per second as it is trained now, in one process and in one for each
core, over those of the reader before it; and the same for a second of one core, which others that
use the machine disturb less. With `--text`, these figures only.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from measure import HEADER, Figure, at_least, stated
from torch.utils.flop_counter import FlopCounterMode

from benchmark.data.batches import FINDER_EVERY, Share, TrainingSet, make_batch, training_batches
from benchmark.data.datasets import DataFolder
from benchmark.models.build import build_model
from benchmark.models.contract import InductiveModel
from benchmark.models.load import bundled_weights, load_model
from benchmark.registry import find_task, find_training
from benchmark.tasks.task import Split, Task
from benchmark.training.checkpoints import State
from benchmark.training.loop import make_optimizer, one_step
from benchmark.training.processes import Processes
from benchmark.training.settings import Training

# By task: the one whose images are taken. Planes may not be had; those of shapes are as large.
_TASKS = {
    "toy-shapes": "toy-shapes",
    "coloured-shapes": "coloured-shapes",
    "dota-planes": "coloured-shapes",
}
_STEPS = 4
_LONGEST = 10  # lines or objects of the images that inference is timed with
# Blocks of a step, for the reader of text: as many for the old one as for the new.
_BLOCKS = 16


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


def training(name: str, model_name: str, preset: str, data: Path, best: float) -> list[Figure]:
    """Speed of training steps as a run makes them, batches made beforehand."""
    task, images = find_task(name), find_task(_TASKS[name])
    chosen = find_training(task, model_name, preset)
    torch.manual_seed(0)
    model = build_model(model_name, task, preset, chosen.model)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    dataset = DataFolder(data).open(images, Split("train", images.train.counts, 60))
    steps = range(_STEPS)
    batches = list(
        training_batches(images, TrainingSet(dataset), replace(chosen, augment=False), 0, steps)
    )
    state = State(model.train(), make_optimizer(chosen, model), None)
    objective = Processes(0, 1, torch.device("cpu")).shared(model)

    def step(k: int = 0) -> None:
        one_step(chosen, state, objective, batches[k])

    with FlopCounterMode(display=False) as counter:
        step()
    taken = seconds(lambda: [step(k) for k in steps], 4.0) / _STEPS
    label = f"{task.name}, {model_name}, {preset}"
    reached = counter.get_total_flops() / taken / 1e9 / best
    return [
        stated(f"{label}: training", chosen.batch_size / taken, "samples/s"),
        stated(f"{label}: share of the convolution peak", reached, ""),
    ]


def trained(task: Task, preset: str) -> InductiveModel:
    """Return the bundled model, or else an untrained one, which is as fast if it counts; one
    that reads would not know when to end a line."""
    bundled = {path.stem: path for path in bundled_weights()}
    name = f"{task.name}-inductive-{preset}"
    if name in bundled:
        model = load_model(bundled[name])[1]
    else:
        assert task.kind == "counting", f"{name}: no trained weights"
        options = find_training(task, "inductive", preset).model
        model = build_model("inductive", task, preset, options)
    assert isinstance(model, InductiveModel)
    return model.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def ten_steps(name: str, preset: str, data: Path, anew: bool = False) -> float:
    """Seconds an image of ten lines or objects, all read or counted: encoded once, or anew at
    each step."""
    model, images = trained(find_task(name), preset), find_task(_TASKS[name])
    dataset = DataFolder(data).open(images, Split("test", (_LONGEST,), 8))
    batch = make_batch(images, list(dataset), []).images

    @torch.no_grad()
    def work() -> None:
        encoded = model.encode(batch)
        memory = torch.zeros(len(batch), *batch.shape[2:])
        for k in range(_LONGEST):
            step = model.step(model.encode(batch) if anew and k else encoded, memory)
            memory = model.update(memory, step.delta)

    return seconds(work) / len(batch)


def inference(name: str, data: Path) -> list[Figure]:
    """What ten steps cost, against the paper's scheme."""
    ours, theirs = ten_steps(name, "fast", data), ten_steps(name, "paper", data)
    again = ten_steps(name, "fast", data, anew=True)
    return [
        stated(f"{name}, paper: ten steps of an image", 1000 * theirs, "ms"),
        stated(f"{name}, fast: ten steps of an image", 1000 * ours, "ms"),
        at_least(f"{name}: ten steps, paper over fast", theirs / ours, "times", 4),
        stated(f"{name}, fast: encoded at each step over once", again / ours, "times"),
    ]


def old_reader(training: Training) -> Training:
    """Training as it was with strips of 24 rows, all of it in float32, lines found in all steps."""
    options = {"momentum": 0.05, "alphabet": "letters"}
    return replace(training, precision="float32", finder_steps=0, model=options)


def block_seconds(
    training: Training,
    data: Path,
    processes: Processes,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds of training for each block, the mean over steps with and without lines to find."""
    task = find_task("text-blocks")
    torch.manual_seed(0)
    model = build_model("inductive", task, "fast", training.model)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    state = State(model.train(), make_optimizer(training, model), None)
    objective = processes.shared(model, partly=bool(training.finder_steps))
    dataset = DataFolder(data).open(task, Split("train", task.train.counts, 60))
    batch = next(
        training_batches(
            task,
            TrainingSet(dataset),
            Training(1, _BLOCKS, augment=False),
            0,
            range(1),
            Share(processes.rank, processes.world),
        )
    )

    def timed(find: bool) -> float:
        given = replace(batch, train_finder=find)  # type: ignore[call-arg]
        taken = []
        for _ in range(6):  # as many for all processes, which wait for each other
            start = clock()
            one_step(training, state, objective, given)
            taken.append(clock() - start)
        return min(taken[1:]) / _BLOCKS

    if not training.finder_steps:
        return timed(True)
    return (timed(True) + (FINDER_EVERY - 1) * timed(False)) / FINDER_EVERY


def _of_several(rank: int, training: Training, data: Path, world: int, out: Path) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    taken = block_seconds(training, data, Processes(rank, world, torch.device("cpu")))
    dist.destroy_process_group()
    if rank == 0:
        out.write_text(str(taken), "utf-8")


def reader_of_text(data: Path) -> list[Figure]:
    """Blocks per second before and after."""
    task, cores = find_task("text-blocks"), os.cpu_count() or 1
    chosen = find_training(task, "inductive", "fast")
    alone = Processes(0, 1, torch.device("cpu"))
    before = 1 / block_seconds(old_reader(chosen), data, alone)
    after = 1 / block_seconds(chosen, data, alone)
    torch.set_num_threads(1)
    work = [block_seconds(t, data, alone, time.process_time) for t in (old_reader(chosen), chosen)]
    torch.set_num_threads(cores)
    out = data / "seconds"
    multiprocessing.spawn(_of_several, (chosen, data, cores, out), nprocs=cores)
    shared = 1 / float(out.read_text("utf-8"))
    return [
        stated("text-blocks, the reader before: training", before, "blocks/s"),
        stated("text-blocks, fast: training", after, "blocks/s"),
        stated(f"text-blocks, fast: training in {cores} processes", shared, "blocks/s"),
        at_least("text-blocks: training, now over before", max(after, shared) / before, "times", 2),
        at_least("text-blocks: the same in seconds of one core", work[0] / work[1], "times", 2),
    ]


def figures(text_only: bool) -> list[Figure]:
    """All figures, presets within one run."""
    if text_only:
        with tempfile.TemporaryDirectory() as folder:
            return reader_of_text(Path(folder))
    best = peak()
    found = [stated("fp32 convolutions at their best", best, "GFLOP/s")]
    with tempfile.TemporaryDirectory() as folder:
        for name in _TASKS:
            for preset in ("fast", "paper"):
                for model in ("inductive", "end-to-end"):
                    found += training(name, model, preset, Path(folder), best)
            found += inference(name, Path(folder))
        found += reader_of_text(Path(folder))
    return found


if __name__ == "__main__":
    print(HEADER)
    for figure in figures("--text" in sys.argv):
        print(figure.row())
