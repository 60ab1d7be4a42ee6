"""ivl-bench and files that are damaged, foreign or crafted, and a disk that is full."""

import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save

import benchmark.cli
from benchmark.data.datasets import DataFolder
from benchmark.models.build import build_model
from benchmark.models.load import bundled_weights, load_model
from benchmark.registry import find_task, find_training
from benchmark.results.tables import read_results
from benchmark.run import Run, run_one
from benchmark.training.processes import join_processes
from benchmark.training.run_folder import Config
from benchmark.training.weights import FORMAT, load_tensors, save_tensors
from commands import ROOT, assert_one_line, own_data, tool
from fuzzing import LONG, Outcome, cases, watched
from shapes_gen import ColouredRecipe, ToyRecipe, generate

# No torch operation runs in this process before a case is forked off: the threads of OpenMP would
# not be there in the copy, and it would wait for them for ever.
torch.set_num_threads(1)

RUN = "coloured-shapes-inductive-fast-seed0"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny datasets of the two tasks with shapes."""
    folder = tmp_path_factory.mktemp("data")
    for split, counts, total in (("train", (1, 2), 40), ("test", (1, 2), 4)):
        recipe = ColouredRecipe(counts, total, split=split, size=48)
        generate(recipe, folder / f"coloured-shapes-{split}.h5", workers=1)
        generate(ToyRecipe((2,), total, split=split), folder / f"toy-shapes-{split}.h5", workers=1)
    return folder


def ivl_bench(*arguments: object) -> Callable[[], None]:
    """The command in this process, for `watched`."""

    def called() -> None:
        sys.argv = ["ivl-bench", *map(str, arguments)]
        benchmark.cli.main()

    return called


def counting(data: Path, out: Path, steps: int, *more: object) -> list[str]:
    """A run of a tiny counter."""
    options = ["--set", f"steps={steps}", "--set", "batch_size=4", "--set", "width=8"]
    return [
        "run",
        "--model",
        "inductive",
        "--task",
        "coloured-shapes",
        *own_data(data, "coloured-shapes"),
        "--out",
        str(out),
        *options,
        "--quiet",
        "--threads",
        "1",
        *map(str, more),
    ]


# --- crafted files -----------------------------------------------------------------------------

# What must never be imported because a file names it.
TRAPS = (
    "canary:Canary",
    "distributed:LocalCluster",
    "antigravity:geohash",
    "this:d",
    ":",
    "x" * 300,
)
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    10**9,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\ud800",
    "a\x1b[2Jb",
    "<!--<script>",
    "../../etc/passwd",
    "x" * 5000,
    [],
    [[]],
    {},
    {"a": {}},
    [1, 2, 3],
    "1",
    "NaN",
    *TRAPS,
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a JSON value something stands."""
    if isinstance(value, dict):
        return [path, *(p for k, v in value.items() for p in places(v, (*path, k)))]
    if isinstance(value, list):
        return [path, *(p for k, v in enumerate(value[:5]) for p in places(v, (*path, k)))]
    return [path]


def spoil(value: Any, draw: random.Random) -> Any:
    """A JSON value with one thing replaced, removed or added."""
    path = draw.choice(places(value))
    if not path:
        return draw.choice(VALUES)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    how = draw.randrange(4)
    if how == 0:
        del holder[path[-1]]
    elif how == 1 and isinstance(holder, dict):
        holder[draw.choice(["stepz", "preload", "width", "1" * 30, "²", "\ud800"])] = draw.choice(
            VALUES
        )
    else:
        holder[path[-1]] = draw.choice(VALUES)
    return value


def flip(data: bytes, draw: random.Random) -> bytes:
    """A file with some bytes flipped, or cut off, or added."""
    damaged = bytearray(data)
    for _ in range(draw.choice([1, 1, 3, 50])):
        # Half of them in the header, where they do most harm.
        end = draw.choice([min(len(damaged), 2000), len(damaged)])
        damaged[draw.randrange(end)] ^= 1 << draw.randrange(8)
    if draw.random() < 0.2:
        del damaged[draw.randrange(len(damaged)) :]
    if draw.random() < 0.1:
        damaged += draw.randbytes(20)
    return bytes(damaged)


def imported_by(outcome: Outcome) -> set[str]:
    return {name.partition(".")[0] for name in outcome.imported}


def assert_nothing_imported(outcome: Outcome) -> None:
    assert not imported_by(outcome) & {"canary", "distributed", "antigravity", "this"}


def weights_file(task_name: str, name: str, path: Path) -> dict[str, Any]:
    """Small weights of a model, in a process of its own; what they say about themselves."""
    task = find_task(task_name)
    options = {"hidden": 4, "reader": [2, 2, 2, 2, 2], "finder": 4, "step": 2}
    changes = {"width": 4} if task.kind == "counting" else options if name == "inductive" else {}
    training = find_training(task, name, "fast", changes)
    config = Config(task.name, name, "fast", 0, training).to_json()
    about: dict[str, Any] = json.loads(json.dumps({"config": config, "seconds": 1.0}))

    def made() -> None:
        torch.manual_seed(0)
        tensors = build_model(name, task, "fast", training.model).state_dict()
        save_tensors(path, tensors, about)

    outcome = watched(made)
    assert outcome.code == 0, outcome.stderr
    return about


def spoilt_weights(case: int, whole: Path, about: dict[str, Any]) -> bytes:
    """Weights that are damaged in one of several ways."""
    draw = random.Random(case)
    how = case % 4
    if how == 0:
        return flip(whole.read_bytes(), draw)
    if how == 3 and draw.random() < 0.3:
        return draw.randbytes(draw.choice([0, 7, 8, 100, 5000]))
    changed = json.loads(json.dumps(about))
    for _ in range(draw.choice([1, 1, 2, 4])):
        changed = spoil(changed, draw) if isinstance(changed, dict) else changed
    tensors = load_file(whole)
    if how == 2:
        name = draw.choice(list(tensors))
        other = torch.zeros(draw.choice([(), (0,), (1, 2), (3, 0, 10**6), (7, 7, 7)]))
        tensors[name] = draw.choice(
            [other, other.double(), other.bool(), tensors[name] + torch.nan]
        )
    elif how == 3 and isinstance(changed, dict) and isinstance(changed.get("config"), dict):
        changed["config"]["model"] = draw.choice(TRAPS)
    text = json.dumps(changed) if draw.random() > 0.05 else "[" * 10**5
    return save(tensors, {"format": FORMAT, "about": text})


@pytest.mark.fuzz
def test_weights_from_anyone(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`read`, `eval` and `report` of crafted weights: one line, or scores; no code of theirs."""
    (tmp_path / "canary.py").write_text("raise SystemExit(99)")
    monkeypatch.chdir(tmp_path)
    small = tmp_path / "block.png"
    Image.effect_noise((120, 80), 80).save(small)
    made = {
        task: (
            tmp_path / f"{task}.safetensors",
            weights_file(task, model, tmp_path / f"{task}.safetensors"),
        )
        for task, model in (("coloured-shapes", "inductive"), ("toy-shapes", "inductive"))
    }
    good = tiny_result(data)
    tests = {task: data / f"{task}-test.h5" for task in made}
    for case in cases(24, 2000):
        task = ("coloured-shapes", "toy-shapes")[case // 4 % 2]
        run = tmp_path / "run"
        run.mkdir(exist_ok=True)
        weights = run / "weights.safetensors"

        def spoilt(case: int = case, task: str = task, weights: Path = weights) -> None:
            weights.write_bytes(spoilt_weights(case, *made[task]))

        assert watched(spoilt).code == 0
        (run / "config.json").write_text(json.dumps(made[task][1]["config"]))
        (run / "result.json").write_text(json.dumps({**good, "config": made[task][1]["config"]}))
        command = case % 3
        if command == 0:
            arguments: list[object] = ["read", small, "--weights", weights, "--quiet"]
        elif command == 1:
            arguments = ["eval", weights, "--test", tests[task], "--threads", 1, "--quiet"]
        else:
            arguments = ["report", run, "--data", data, "--threads", 1, "--quiet", "--samples", 1]
        outcome = watched(ivl_bench(*arguments))
        outcome.check()
        assert_nothing_imported(outcome)


def tiny_result(data: Path) -> dict[str, Any]:
    """A result as `ivl-bench run` writes it, but for its configuration."""
    from ivl_shards import open_dataset

    score = {"value": 50.0, "low": 1.0, "high": 99.0, "samples": 2}
    tested = {
        split: open_dataset(data / f"coloured-shapes-{split}.h5").attributes["content_sha256"]
        for split in ("train", "test")
    }
    return {
        "format": "ivl-result-2",
        "changes": ["steps=2"],
        "parameters": 1000,
        "training_seconds": 1.5,
        "processes": 1,
        "data": tested,
        "environment": {"machine": "x86_64, 2 CPU cores", "threads": 1, "commit": None},
        "metrics": {"exact counts": {"1": score, "2": score}},
        "wrong": [[1, 3, 1], [2, 0, 2]],
        "wrong_total": 2,
        "seconds": 1.0,
        "curve": [{"step": k, "loss": 3.0 / k, "seconds": 1.0} for k in (1, 2, 3)],
    }


@pytest.mark.fuzz
def test_results_from_anyone(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`results` and `report` of crafted results: one line, or a page; no code of theirs."""
    (tmp_path / "canary.py").write_text("raise SystemExit(99)")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    task = find_task("coloured-shapes")
    config = Config(task.name, "inductive", "fast", 0, find_training(task, "inductive", "fast"))
    good = json.dumps({"config": config.to_json(), **tiny_result(data)})
    for case in cases(24, 2000):
        draw = random.Random(case)
        if case % 4 == 0:
            text = flip(good.encode(), draw)
        else:
            result = json.loads(good)
            for _ in range(draw.choice([1, 1, 2])):
                result = spoil(result, draw) if isinstance(result, dict) else result
            text = json.dumps(result).encode()
        if draw.random() < 0.02:
            text = b"[" * 10**5
        (folder / "result.json").write_bytes(text)
        if case % 2:
            arguments: list[object] = ["results", folder, "--out", "page.md"]
        else:
            arguments = ["report", folder, "--data", data, "--threads", 1, "--quiet"]
        outcome = watched(ivl_bench(*arguments))
        outcome.check()
        assert_nothing_imported(outcome)


def test_text_of_a_result_stays_text_on_the_page(data: Path, tmp_path: Path) -> None:
    task = find_task("coloured-shapes")
    config = Config(
        task.name, "x|y:<b>&[a](b)", "fast", 0, find_training(task, "inductive", "fast")
    )
    (tmp_path / "results").mkdir()
    result = {"config": config.to_json(), **tiny_result(data), "changes": ["<!--<script>"]}
    (tmp_path / "results" / "one.json").write_text(json.dumps(result))
    outcome = watched(ivl_bench("results", tmp_path / "results", "--out", tmp_path / "page.md"))
    outcome.check(codes=(0,))
    page = (tmp_path / "page.md").read_text()
    assert "<b>" not in page and "<script" not in page and "[a](b)" not in page
    row = next(line for line in page.splitlines() if "x&#124;y" in line)
    assert row.count("|") == next(x for x in page.splitlines() if "| model |" in x).count("|")
    written = watched(
        ivl_bench(
            "report",
            tmp_path / "results",
            "--out",
            tmp_path / "page.html",
            "--data",
            data,
            "--quiet",
        )
    )
    written.check(codes=(0,))
    assert "<!--<script>" not in (tmp_path / "page.html").read_text()


def test_our_own_files_stay_readable() -> None:
    for path in bundled_weights():
        outcome = watched(lambda path=path: load_model(path))
        outcome.check(codes=(0,))
    outcome = watched(lambda: read_results(ROOT / "results"))
    outcome.check(codes=(0,))


# --- training ----------------------------------------------------------------------------------


def bench(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tool("ivl-bench"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=250,
        **options,
    )


def content_of(run: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What a run came to, without how long it took."""
    result = json.loads((run / "result.json").read_text())
    curve = {line["step"]: line["loss"] for line in result["curve"] if "validation" in line}
    kept = {name: result[name] for name in ("config", "metrics", "wrong")}
    return {**kept, "curve": curve}, load_tensors(run / "weights.safetensors")[0]


def assert_same(one: Path, other: Path) -> None:
    (a, first), (b, second) = content_of(one), content_of(other)
    assert a == b
    assert first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def assert_files_are_whole(run: Path) -> None:
    """Nothing under a final name is half-written, whenever a process was ended."""
    for path in run.glob("*.json"):
        json.loads(path.read_text())
    for path in run.glob("*.safetensors"):
        load_tensors(path)


@pytest.mark.slow
@pytest.mark.fuzz
def test_killed_at_any_moment_nothing_is_lost(data: Path, tmp_path: Path) -> None:
    steps = 30
    choose = ["--set", "keep_best=true"]
    whole = bench(*counting(data, tmp_path / "whole", steps, *choose))
    assert whole.returncode == 0, whole.stderr
    command = [
        tool("ivl-bench"),
        *counting(data, tmp_path / "killed", steps, "--save-every", 0, *choose),
    ]
    run, draw, kills = tmp_path / "killed" / RUN, random.Random(0), 0
    for _ in range(10 if LONG else 3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        changed = run.stat().st_mtime_ns if run.exists() else 0
        begun = time.monotonic()
        while process.poll() is None and time.monotonic() - begun < 60:
            if run.exists() and run.stat().st_mtime_ns != changed:
                break
            time.sleep(0.005)
        time.sleep(draw.random() * 0.3)
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert_files_are_whole(run)
    again = bench(*counting(data, tmp_path / "killed", steps, *choose))
    assert again.returncode == 0, again.stderr
    assert kills
    assert again.stdout == whole.stdout
    assert_same(tmp_path / "whole" / RUN, run)
    assert not list(run.glob("*.tmp"))


def in_process(config: Config, data: Path, out: Path) -> None:
    """A run in this process, every step of which is saved."""
    with join_processes("cpu") as one:
        paths = (data / f"{config.task}-{split}.h5" for split in ("train", "test"))
        run_one(Run(config, DataFolder(data, *paths), out, one, save_every=0, quiet=True))


def tiny_config(**changes: Any) -> Config:
    task = find_task("coloured-shapes")
    tiny = {"steps": 4, "batch_size": 2, "width": 4, **changes}
    return Config(task.name, "inductive", "fast", 0, find_training(task, "inductive", "fast", tiny))


def trained(config: Config, data: Path, out: Path) -> Outcome:
    return watched(lambda: in_process(config, data, out), seconds=60)


def limit_files(size: int) -> None:
    """Let files be no larger than so many bytes, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_full_disk_stops_a_run_which_then_goes_on(data: Path, tmp_path: Path) -> None:
    assert trained(tiny_config(), data, tmp_path / "whole").code == 0
    run = tmp_path / "full" / RUN

    def full(size: int) -> None:
        limit_files(size)
        in_process(tiny_config(), data, tmp_path / "full")

    checkpoint = (tmp_path / "whole" / RUN / "checkpoint.safetensors").stat().st_size
    for size in (100, 2000, checkpoint - 1):
        stopped = watched(lambda size=size: full(size), seconds=60)
        assert (
            "Stopped" in stopped.stderr and "larger than the limit on file sizes" in stopped.stderr
        )
        assert not list(run.glob("*.tmp")) and not list(run.glob("*.safetensors"))
    assert trained(tiny_config(), data, tmp_path / "full").code == 0
    assert_same(tmp_path / "whole" / RUN, run)


def test_a_full_disk_is_one_line_on_the_command_line(data: Path, tmp_path: Path) -> None:
    arguments = counting(data, tmp_path, 2)

    def full() -> None:
        limit_files(3000)
        ivl_bench(*arguments)()

    outcome = watched(full, seconds=60)
    outcome.check(codes=(1,), lines=1)
    assert "larger than the limit on file sizes" in outcome.stderr


def test_few_files_and_little_memory_are_one_line(data: Path, tmp_path: Path) -> None:
    weights, test = str(bundled_weights()[0]), data / "coloured-shapes-test.h5"

    def few_files() -> None:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())), 4096)
        )
        ivl_bench("eval", weights, "--test", test, "--quiet", "--threads", 1)()

    outcome = watched(few_files)
    outcome.check(codes=(1, 2), lines=1)

    def little_memory() -> None:
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + 20_000_000, resource.RLIM_INFINITY))
        ivl_bench(
            "run",
            "--model",
            "inductive",
            *own_data(data, "toy-shapes"),
            "--out",
            tmp_path,
            "--quiet",
            "--set",
            "hidden=4096",
            "--threads",
            1,
        )()

    outcome = watched(little_memory)
    outcome.check(codes=(1,), lines=1)
    assert "out of memory" in outcome.stderr


def test_two_runs_do_not_share_a_folder(data: Path, tmp_path: Path) -> None:
    from benchmark.training.run_folder import hold_folder

    config = tiny_config()
    with hold_folder(tmp_path / RUN, config):
        second = watched(lambda: in_process(config, data, tmp_path))
    assert "another ivl-bench run is at work there" in second.stderr
    assert trained(config, data, tmp_path).code == 0


def test_a_half_written_line_of_the_log_is_cut(data: Path, tmp_path: Path) -> None:
    assert trained(tiny_config(), data, tmp_path / "whole").code == 0
    run = tmp_path / "cut" / RUN
    shutil.copytree(tmp_path / "whole" / RUN, run)
    for name in ("weights.safetensors", "result.json", "checkpoint.safetensors"):
        (run / name).unlink()
    log = run / "log.jsonl"
    log.write_bytes(log.read_bytes()[:-9])
    assert trained(tiny_config(), data, tmp_path / "cut").code == 0
    assert_same(tmp_path / "whole" / RUN, run)
    for line in log.read_text().splitlines():
        json.loads(line)


def test_a_loss_that_is_no_number_ends_the_run(data: Path, tmp_path: Path) -> None:
    run = tmp_path / RUN
    arguments = counting(
        data,
        tmp_path,
        50,
        "--save-every",
        0,
        "--set",
        "learning_rate=1000",
        "--set",
        "grad_clip=0",
        "--set",
        "warmup=0",
    )
    outcome = watched(ivl_bench(*arguments), seconds=60)
    outcome.check(codes=(1,), lines=1)
    assert " at step " in outcome.stderr and "is kept" in outcome.stderr
    step = int(outcome.stderr.split(" at step ")[1].split(":")[0])
    tensors, about = load_tensors(run / "checkpoint.safetensors")
    assert about["step"] == step - 1
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
    assert not (run / "weights.safetensors").exists()


@pytest.mark.fuzz
def test_a_damaged_checkpoint_is_one_line(data: Path, tmp_path: Path) -> None:
    assert trained(tiny_config(), data, tmp_path).code == 0
    run = tmp_path / RUN
    whole = (run / "checkpoint.safetensors").read_bytes()
    for name in ("weights.safetensors", "result.json"):
        (run / name).unlink()
    for case in cases(12, 300):
        draw = random.Random(case)
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        (run / "checkpoint.safetensors").write_bytes(damaged)
        outcome = trained(tiny_config(), data, tmp_path)
        assert "UserError" in outcome.stderr or "Damage" in outcome.stderr, (case, outcome)
        assert not (run / "weights.safetensors").exists()


def test_a_checkpoint_of_another_training_is_refused(data: Path, tmp_path: Path) -> None:
    assert trained(tiny_config(), data, tmp_path / "small").code == 0
    assert trained(tiny_config(width=8), data, tmp_path / "large").code == 0
    run = tmp_path / "small" / RUN
    for name in ("weights.safetensors", "result.json"):
        (run / name).unlink()
    shutil.copy(tmp_path / "large" / RUN / "checkpoint.safetensors", run)
    outcome = trained(tiny_config(), data, tmp_path / "small")
    assert "UserError" in outcome.stderr and "another" in outcome.stderr


def test_a_class_of_dota_s_is_suggested(run) -> None:
    done = run("dota-crops", "x.h5", "--category", "plan", "--n", 1)
    assert_one_line(done, 2, "did you mean 'plane'?")
