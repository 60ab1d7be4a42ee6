"""Training: it learns, it goes on where it was stopped, and several processes are as one."""

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from benchmark.data.batches import (
    Share,
    TrainingSet,
    image_batch,
    make_batch,
    training_batches,
)
from benchmark.data.datasets import DataFolder, split_validation
from benchmark.models.build import build_model
from benchmark.models.counter import FastCounter, PaperCounter
from benchmark.registry import find_task, find_training
from benchmark.tasks.task import Split
from benchmark.training.checkpoints import State
from benchmark.training.loop import (
    learning_rate_factor,
    make_optimizer,
    one_step,
    supports_bfloat16,
)
from benchmark.training.settings import Training, change_training
from benchmark.training.weights import load_tensors
from commands import hear_ctrl_c, own_data, tool
from ivl_shards import UserError, open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe, generate

torch.set_num_threads(1)  # the models are tiny: more only wait for each other

TINY = ["--set", "batch_size=4", "--set", "width=8", "--quiet", "--threads", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Datasets of 40 training and 16 test samples."""
    folder = tmp_path_factory.mktemp("data")
    for split, counts, total in (("train", (1, 2), 40), ("test", (1, 2, 3, 4), 16)):
        recipe = ColouredRecipe(counts, total, split=split, size=48)
        generate(recipe, folder / f"coloured-shapes-{split}.h5", workers=1)
        toy = ToyRecipe((2,), total, split=split)  # of one size, as in the paper
        generate(toy, folder / f"toy-shapes-{split}.h5", workers=1)
    return folder


def bench(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tool("ivl-bench"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=250,
        **options,
    )


def counting(data: Path, out: Path, steps: int, *more: object) -> list[object]:
    return [
        "run",
        "--model",
        "inductive",
        "--task",
        "coloured-shapes",
        *own_data(data, "coloured-shapes"),
        "--out",
        out,
        "--set",
        f"steps={steps}",
        *TINY,
        *more,
    ]


def losses(run: Path) -> dict[int, float]:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return {line["step"]: line["loss"] for line in lines}


def losses_of_one_and_two(
    folder: Path, name: str, arguments: list[object]
) -> tuple[dict[int, float], dict[int, float]]:
    """Losses of the same run with one process and with two."""
    torchrun = [tool("torchrun"), "--nproc-per-node", "2", "--standalone", "--no-python"]
    one = bench(*arguments, "--out", folder / "one")
    two = subprocess.run(
        [*torchrun, tool("ivl-bench"), *map(str, arguments), "--out", str(folder / "two")],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert one.returncode == 0, one.stderr
    assert two.returncode == 0, two.stderr
    return losses(folder / "one" / name), losses(folder / "two" / name)


def overfitted(model, batch, steps: int, rate: float = 3e-3) -> list[float]:
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    seen = []
    for _ in range(steps):
        loss = model.loss(batch).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seen.append(float(loss.detach()))
    return seen


def batch_of(task_name: str, data: Path, rows: list[int]):
    task = find_task(task_name)
    dataset = open_dataset(data / f"{task_name}-train.h5")
    samples = [dataset[row] for row in rows]
    return task, make_batch(task, samples, [np.random.default_rng(row) for row in rows])


@pytest.mark.slow
def test_a_fast_counter_counts_what_it_was_shown(data: Path) -> None:
    torch.manual_seed(0)
    _, batch = batch_of("coloured-shapes", data, [0, 1])  # one object and two
    model = FastCounter(3, width=16)
    seen = overfitted(model, batch, 150, rate=1e-2)
    assert seen[-1] < 0.1 * seen[0]
    assert model.eval().predict(batch.images) == [1, 2]


@pytest.mark.slow
def test_a_paper_counter_learns(data: Path) -> None:
    torch.manual_seed(0)
    _, batch = batch_of("coloured-shapes", data, [0, 1])
    model = PaperCounter(3)
    seen = overfitted(model, batch, 60)
    assert np.mean(seen[-10:]) < 0.5 * np.mean(seen[:10])


@pytest.mark.slow
def test_a_fast_reader_learns(data: Path) -> None:
    """That it reads without error once it has learnt is tested with the weights that come along."""
    torch.manual_seed(0)
    task, batch = batch_of("toy-shapes", data, [0, 1])
    model = build_model("inductive", task, "fast", find_training(task, "inductive", "fast").model)
    seen = overfitted(model, batch, 120, rate=1e-2)
    assert seen[-1] < 0.2 * seen[0]


@pytest.mark.slow
def test_an_end_to_end_reader_reads_what_it_was_shown(data: Path) -> None:
    torch.manual_seed(0)
    task, batch = batch_of("toy-shapes", data, [0, 2])
    model = build_model("end-to-end", task, "paper", {"init": "scaled"})
    seen = overfitted(model, batch, 150)
    assert seen[-1] < 0.2 * seen[0]
    assert model.eval().predict(batch.images) == batch.texts


@pytest.mark.slow
def test_a_stopped_run_ends_in_the_same_weights(data: Path, tmp_path: Path) -> None:
    name = "coloured-shapes-inductive-fast-seed0"
    whole = bench(*counting(data, tmp_path / "whole", 40))
    assert whole.returncode == 0, whole.stderr
    killed = counting(data, tmp_path / "killed", 40, "--save-every", "0")
    command = [tool("ivl-bench"), *map(str, killed)]
    for _ in range(3):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _wait_for_progress(tmp_path / "killed" / name, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    again = bench(*counting(data, tmp_path / "killed", 40))
    assert again.returncode == 0, again.stderr
    a = load_file(tmp_path / "whole" / name / "weights.safetensors")
    b = load_file(tmp_path / "killed" / name / "weights.safetensors")
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert again.stdout == whole.stdout
    # And what is finished is not done again.
    before = (tmp_path / "whole" / name / "result.json").stat().st_mtime_ns
    assert bench(*counting(data, tmp_path / "whole", 40)).stdout == whole.stdout
    assert (tmp_path / "whole" / name / "result.json").stat().st_mtime_ns == before


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "coloured-shapes-inductive-fast-seed0"
    command = [tool("ivl-bench"), *map(str, counting(data, tmp_path, 2000, "--save-every", "1000"))]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=hear_ctrl_c)
    _wait_for_progress(run, process)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert load_tensors(run / "checkpoint.safetensors")[1]["step"] >= 1


def _wait_for_progress(run: Path, process: subprocess.Popen) -> None:
    """Until a few more steps are in the log."""
    log, begun = run / "log.jsonl", time.monotonic()
    size = log.stat().st_size if log.exists() else 0
    while process.poll() is None and time.monotonic() - begun < 60:
        if log.exists() and log.stat().st_size > size + 200:
            return
        time.sleep(0.02)


@pytest.mark.slow
def test_two_processes_are_as_one(data: Path, tmp_path: Path) -> None:
    arguments = [
        "run",
        "--model",
        "inductive",
        "--task",
        "coloured-shapes",
        *own_data(data, "coloured-shapes"),
        "--set",
        "steps=6",
        "--set",
        "batch_size=4",
        "--threads",
        "1",
        "--quiet",
    ]
    first, second = losses_of_one_and_two(
        tmp_path, "coloured-shapes-inductive-fast-seed0", arguments
    )
    assert first.keys() == second.keys() and len(first) >= 3
    for step in first:
        assert second[step] == pytest.approx(first[step], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "preset"), [("toy-shapes", "fast"), ("coloured-shapes", "paper")])
def test_batches_are_normalised_over_all_processes(
    data: Path, tmp_path: Path, task: str, preset: str
) -> None:
    arguments = [
        "run",
        "--model",
        "inductive",
        "--task",
        task,
        "--preset",
        preset,
        *own_data(data, task),
        "--set",
        "steps=3",
        "--set",
        "batch_size=4",
        "--set",
        "precision=float32",
        "--threads",
        "1",
        "--quiet",
    ]
    name = f"{task}-inductive-{preset}-seed0"
    first, second = losses_of_one_and_two(tmp_path, name, arguments)
    # After the first step the optimisers, which divide gradients by their size, have made large
    # steps out of the rounding errors of weights that hardly matter.
    assert second[1] == pytest.approx(first[1], rel=1e-5)
    for step in first:
        assert second[step] == pytest.approx(first[step], rel=1e-2)


@pytest.mark.slow
def test_two_processes_are_as_one_in_bfloat16_too(data: Path, tmp_path: Path) -> None:
    arguments = [
        "run",
        "--model",
        "inductive",
        "--task",
        "coloured-shapes",
        "--preset",
        "paper",
        *own_data(data, "coloured-shapes"),
        "--set",
        "steps=2",
        "--set",
        "batch_size=4",
        "--set",
        "precision=bfloat16",
        "--threads",
        "1",
        "--quiet",
    ]
    name = "coloured-shapes-inductive-paper-seed0"
    first, second = losses_of_one_and_two(tmp_path, name, arguments)
    assert second[1] == pytest.approx(first[1], rel=2e-2)  # it has three digits


def test_processes_share_a_batch_without_loss(data: Path) -> None:
    task = find_task("coloured-shapes")
    dataset = open_dataset(data / "coloured-shapes-train.h5")
    training, step = Training(10, 4, augment=False), range(7, 8)
    whole = next(iter(training_batches(task, TrainingSet(dataset), training, 0, step)))
    halves = [
        next(iter(training_batches(task, TrainingSet(dataset), training, 0, step, Share(r, 2))))
        for r in (0, 1)
    ]
    for k in range(4):
        assert torch.equal(whole.images[k], halves[k % 2].images[k // 2])
        assert whole.rngs[k].random() == halves[k % 2].rngs[k // 2].random()


def test_an_epoch_has_every_sample_once(data: Path) -> None:
    task = find_task("coloured-shapes")
    dataset = open_dataset(data / "coloured-shapes-train.h5")
    orders = []
    for epoch in (0, 1):
        steps = range(epoch * 10, epoch * 10 + 10)
        training = Training(20, 4, augment=False)
        batches = training_batches(task, TrainingSet(dataset), training, 3, steps)
        seen = [batch.images for batch in batches]
        orders.append([hash(image.numpy().tobytes()) for image in torch.cat(seen)])
        assert len(set(orders[-1])) == 40
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]


def test_validation_samples_are_not_trained_on(data: Path) -> None:
    task = find_task("coloured-shapes")
    dataset = open_dataset(data / "coloured-shapes-train.h5")
    kept, held = split_validation(task, dataset)
    assert len(held) == 2 and len(kept) + len(held) == len(dataset)
    digests = {bytes(d) for d in kept.column("digest")}
    assert not any(bytes(d) in digests for d in held.column("digest"))


def test_missing_data_is_made_and_is_there_the_next_time(tmp_path: Path) -> None:
    task, part = find_task("toy-shapes"), Split("test", (1, 2), 4)
    made = DataFolder(tmp_path).open(task, part)
    assert [p.name for p in tmp_path.iterdir()] == ["toy-shapes-test-1-2-4.h5"]
    changed = made.path.stat().st_mtime_ns
    assert DataFolder(tmp_path).open(task, part).path.stat().st_mtime_ns == changed


def test_options_can_be_changed_but_not_to_nonsense() -> None:
    training = Training(10, 4)
    assert change_training(training, {"learning_rate": 1, "width": 8}) == Training(
        10, 4, learning_rate=1.0, model={"width": 8}
    )
    for wrong in ({"steps": "many"}, {"steps": 0}, {"optimizer": "sgd"}, {"precision": "int8"}):
        with pytest.raises(UserError):
            change_training(training, wrong)


def test_the_rate_rises_and_falls() -> None:
    training = Training(100, 4, warmup=0.2)
    shares = [learning_rate_factor(training, step) for step in range(100)]
    assert shares.index(max(shares)) == 20 and max(shares) == 1
    assert 0 < shares[0] < 0.1 and 0 <= shares[-1] < 0.01
    assert {
        learning_rate_factor(Training(100, 4, optimizer="adadelta"), step) for step in (0, 99)
    } == {1.0}


@pytest.mark.parametrize("able", [True, False])
def test_bfloat16_is_chosen_where_the_machine_knows_it(
    able: bool, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere it is three times slower than float32, not faster."""
    _, batch = batch_of("coloured-shapes", data, [0, 1])
    model = FastCounter(3, width=8)
    seen = []
    hook = lambda _, inputs, output: seen.append(output.dtype)  # noqa: E731
    model.join.register_forward_hook(hook)
    state = State(model, make_optimizer(Training(1, 2), model), None)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": able})
    supports_bfloat16.cache_clear()
    one_step(Training(1, 2, precision="auto"), state, model.loss, batch)
    supports_bfloat16.cache_clear()
    assert seen == [torch.bfloat16 if able else torch.float32]


def test_the_demo_trains_the_fast_model_for_fewer_steps_and_reads_fewer_views() -> None:
    task = find_task("toy-shapes")
    demo, fast = (find_training(task, "inductive", preset) for preset in ("demo", "fast"))
    assert demo.steps < fast.steps and demo.model["views"] < fast.model["views"]
    assert change_training(demo, {"steps": fast.steps, "views": fast.model["views"]}) == fast


def test_images_are_prepared_as_values_from_0_to_1() -> None:
    """Without torch: its threads in the thread that prepares batches slow the training down."""
    shades = np.arange(256, dtype=np.uint8).reshape(2, 8, 16)
    assert torch.equal(image_batch(shades), torch.from_numpy(shades)[:, None].float() / 255)
    colours = np.stack([shades] * 3, 3)
    assert torch.equal(image_batch(colours), torch.from_numpy(colours).movedim(3, 1).float() / 255)
