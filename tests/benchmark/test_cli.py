"""ivl-bench as a user types it, and what it says when something is wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import shapes_gen
from benchmark.cli import main
from benchmark.models.build import build_model
from benchmark.registry import find_task
from benchmark.training.weights import save_tensors
from commands import assert_one_line, own_data
from ivl_shards import UserError
from shapes_gen import ColouredRecipe, ToyRecipe

TINY = ["--set", "steps=2", "--set", "batch_size=2", "--threads", "1"]

MODEL = '''
import torch
from benchmark.models.contract import Model


class Mean(Model):
    """Counts by the mean brightness alone."""

    kind = "counting"

    def __init__(self, task, bias=3.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.bias = torch.nn.Parameter(torch.tensor(bias))

    def guess(self, images):
        return self.weight * images.mean((1, 2, 3)) + self.bias

    def loss(self, batch):
        return (self.guess(batch.images) - batch.lengths) ** 2

    def predict(self, images):
        return self.guess(images).round().int().tolist()
'''


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Tiny datasets of the two tasks with shapes."""
    folder = tmp_path / "data"
    folder.mkdir()
    for split, counts in (("train", (3, 4)), ("test", (3, 5))):
        shapes_gen.generate(
            ColouredRecipe(counts, 24, split=split),
            folder / f"coloured-shapes-{split}.h5",
            workers=1,
        )
        shapes_gen.generate(
            ToyRecipe((2,), 24, split=split), folder / f"toy-shapes-{split}.h5", workers=1
        )
    return folder


@pytest.mark.slow
def test_a_model_is_trained_scored_and_scored_again(run, data: Path, tmp_path: Path) -> None:
    own = own_data(data, "toy-shapes")
    trained = run("ivl-bench", "run", "--model", "inductive", *own, *TINY, "--results", "results")
    assert trained.returncode == 0, trained.stderr
    assert "paper, inductive" in trained.stdout and "95 % interval" in trained.stdout
    assert "loss" in trained.stderr  # progress
    name = "toy-shapes-inductive-fast-seed0"
    result = json.loads((tmp_path / "results" / f"{name}.json").read_text())
    assert result["config"]["training"]["steps"] == 2
    assert result["metrics"]["edit distance"]["2"]["samples"] == 24
    assert result["curve"][-1]["validation"] > 0 and result["parameters"] > 1000
    again = run("ivl-bench", "eval", f"runs/{name}", "--json", "--quiet", *own[:2], *own[4:])
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["metrics"] == result["metrics"]
    longer = run(
        "ivl-bench",
        "eval",
        f"runs/{name}/weights.safetensors",
        "--lines",
        "1,3",
        "--n",
        "2",
        "--results",
        "results",
    )
    assert longer.returncode == 0, longer.stderr
    (tmp_path / "results" / "toy-shapes.md").write_text("Notes are added.\n")
    assert (data / "toy-shapes-test-1,3-4.h5").exists()
    page = run("ivl-bench", "results", "results", "--out", "page.md")
    assert page.returncode == 0, page.stderr
    text = (tmp_path / "page.md").read_text()
    assert "| inductive (steps=2, batch_size=2) |" in text
    assert "| inductive |" in text  # the weights at other lengths
    assert "\nNotes are added.\n" in text


@pytest.mark.slow
def test_data_is_made_where_there_is_none_yet(run, tmp_path: Path) -> None:
    """As on a new machine: not even the folder is there."""
    scored = run("ivl-bench", "eval", "toy-shapes-inductive-fast", "--lines", 2, "--n", 2)
    assert scored.returncode == 0, scored.stderr
    assert list((tmp_path / "data").glob("toy-shapes-*.h5"))


@pytest.mark.slow
def test_a_model_of_one_s_own_over_several_seeds(run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODEL)
    own = own_data(data, "coloured-shapes")
    arguments = ["run", "--model", "mine:Mean", "--task", "coloured-shapes", *own, *TINY]
    done = run("ivl-bench", *arguments, "--seeds", "2", "--json", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [r["config"]["seed"] for r in json.loads(done.stdout)] == [0, 1]
    assert (tmp_path / "runs" / "coloured-shapes-mine.Mean-fast-seed1" / "result.json").exists()
    other = run(
        "ivl-bench", *arguments, "--out", "other", "--set", "bias=4.0", PYTHONPATH=str(tmp_path)
    )
    assert other.returncode == 0, other.stderr
    assert "mine:Mean (steps=2" in other.stdout


CANARY = """
from pathlib import Path

from mine import Mean as Canary

Path("sung").touch()
"""


@pytest.mark.slow
def test_a_name_in_a_file_imports_nothing(run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODEL)
    (tmp_path / "canary.py").write_text(CANARY)
    own = own_data(data, "coloured-shapes")
    trained = ["run", "--model", "canary:Canary", "--task", "coloured-shapes", *own, *TINY]
    done = run("ivl-bench", *trained, "--quiet")
    assert done.returncode == 0, done.stderr
    (tmp_path / "sung").unlink()
    folder = "runs/coloured-shapes-canary.Canary-fast-seed0"
    refused = run("ivl-bench", "eval", folder, "--quiet")
    assert_one_line(refused, 2, "weights of 'canary:Canary'", "--model canary:Canary")
    other = run("ivl-bench", "eval", folder, "--model", "mine:Mean", "--quiet")
    assert_one_line(other, 2, "--model canary:Canary")
    reported = run("ivl-bench", "report", "runs")
    assert reported.returncode == 0, reported.stderr
    assert not (tmp_path / "sung").exists()
    named = run("ivl-bench", "eval", folder, "--model", "canary:Canary", "--quiet", *own[4:])
    assert named.returncode == 0, named.stderr
    assert (tmp_path / "sung").exists()


def test_options_of_one_s_own_model_are_checked_by_name_and_type(
    tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "mine_too.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    task = find_task("coloured-shapes")
    assert build_model("mine_too:Mean", task, "fast", {"bias": 4}).bias == 4
    with pytest.raises(UserError, match=r"'biass' \(did you mean 'bias'\?\)"):
        build_model("mine_too:Mean", task, "fast", {"biass": 4})
    with pytest.raises(UserError, match="bias takes a number"):
        build_model("mine_too:Mean", task, "fast", {"bias": "four"})


def test_there_are_tasks_and_models(run) -> None:
    tasks = run("ivl-bench", "tasks").stdout
    assert all(name in tasks for name in ("toy-shapes", "coloured-shapes", "dota-planes"))
    (checksum,) = find_task("toy-shapes").standard
    assert checksum in tasks
    models = run("ivl-bench", "models").stdout
    assert "inductive" in models and "end-to-end" in models
    listed = json.loads(run("ivl-bench", "tasks", "--json").stdout)
    assert {task["name"]: task["train"] for task in listed}["toy-shapes"] == [3]
    assert checksum in listed[0]["standard_test_sets"]
    known = json.loads(run("ivl-bench", "models", "--json").stdout)
    assert "inductive" in known["models"]
    card = known["trained"]["toy-shapes-inductive-fast"]
    assert card["config"]["task"] == "toy-shapes" and card["seconds"] > 0 and card["limits"]
    assert card["scores"][0]["metrics"]["edit distance"]["3"]["value"] < 1

    name = "dota-planes-inductive-fast"
    (line,) = [line for line in models.splitlines() if line.startswith(f"{name} ")]
    shown = ("dota-planes", "118,807 parameters", "0.5 MB", "academic use only (DOTA)")
    assert all(fact in line for fact in shown)
    assert run("ivl-bench", "models", name).stdout.startswith(f"# {name}\n")
    typo = run("ivl-bench", "models", "dota-planes-inductive-fats")
    assert typo.returncode == 2 and name in typo.stderr


def test_starting_imports_no_compiler_and_no_generator_of_text() -> None:
    code = """import sys, benchmark.cli
print({"numba", "textblocks_gen", "dota_crops"} & {*sys.modules})"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


BAD = [
    (["run", "--model", "inductive", "--task", "chess"], "no task 'chess'"),
    (["run", "--model", "magic"], "no model 'magic'"),
    (["run", "--model", "nowhere:Model"], "nowhere"),
    (["run", "--model", "json:loads"], "json:loads"),
    (["run", "--model", "inductive", "--preset", "slow"], "no preset 'slow'"),
    (["run", "--model", ":"], "no model ':'"),
    (["run", "--model", ".json:loads"], "no model '.json:loads'"),
    (["run", "--model", "inductiv"], "did you mean 'inductive'?"),
    (["run", "--model", "inductive", "--task", "toy-shape"], "did you mean 'toy-shapes'?"),
    (["run", "--model", "inductive", "--preset", "papper"], "did you mean 'paper'?"),
    (["eval", "toy-shapes-inductive-fasst"], "did you mean 'toy-shapes-inductive-fast'?"),
    (["eval", "--model", "tesseract5"], "did you mean 'tesseract'?"),
    (["run", "--model", "inductive", "--set", "colour=red"], "colour"),
    (["run", "--model", "inductive", "--set", "stepz=4"], "'stepz' (did you mean 'steps'?)"),
    (["run", "--model", "inductive", "--set", "hiden=4"], "'hiden' (did you mean 'hidden'?)"),
    (["run", "--model", "inductive", "--set", "hidden=-1"], "hidden takes a whole number from 1"),
    (["run", "--model", "inductive", "--set", "hidden=1e9"], "hidden takes a whole number from 1"),
    (
        ["run", "--model", "inductive", "--set", "learning_rate=nan"],
        "learning_rate takes a number",
    ),
    (["run", "--model", "inductive", "--set", "rate=0.1"], "rate: is called learning_rate now"),
    (["run", "--model", "inductive", "--data", "data"], "toy-shapes-train.h5: not the dataset of"),
    (["run", "--model", "inductive", "--train", "nothing.h5"], "nothing.h5"),
    (["eval", "toy-shapes-inductive-fast", "--test", "data/coloured-shapes-test.h5"], "holds"),
    (["--plugin", "no_such_module", "tasks"], "--plugin no_such_module: cannot be imported"),
    (["run", "--model", "inductive", "--set", "augment=maybe"], "augment takes true or false"),
    (["run", "--model", "inductive", "--set", "rows=23"], "rows takes a multiple of 8"),
    (["run", "--model", "end-to-end", "--set", "hidden=5"], "no option 'hidden'"),
    (["run", "--model", "inductive", "--seed", "-1"], "--seed -1"),
    (["eval", "wide.safetensors"], "wide.safetensors: width=1000000000: width takes"),
    (["eval", "flipped.safetensors"], "flipped.safetensors: damaged"),
    (["eval", "."], "no finished run"),
    (["eval", "x" * 300], "cannot be read"),
    (["run", "--model", "inductive", "--set", "steps"], "name=value"),
    (["run", "--model", "inductive", "--set", "steps=soon"], "steps=soon"),
    (["run", "--model", "inductive", "--device", "abacus"], "device 'abacus'"),
    (["run", "--model", "inductive", "--seeds", "0"], "--seeds 0"),
    (["run", "--model", "inductive", "--out", "file"], "file"),
    (["run", "--model", "inductive", "--task", "coloured-shapes", "--data", "mixed"], "holds"),
    (["run", "--model", "inductive", "--data", "damaged"], "damaged"),
    (["run", "--model", "inductive", "--data", "file/data"], "file/data: cannot be created"),
    (["run", "--model", "inductive", "--task", "dota-planes", "--data", "empty"], "DOTA_ROOT"),
    (["eval", "nothing"], "nothing: no such run"),
    (["eval", "pickle.safetensors"], "not a whole safetensors file"),
    (["eval", "strange.safetensors"], "none that ivl-bench has written"),
    (["eval", "other.safetensors"], "weights of another model"),
    (["eval", "empty"], "no finished run"),
    (["results", "empty"], "no results"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=lambda value: str(value)[-40:])
def test_bad_input_is_one_line(
    data: Path, tmp_path: Path, monkeypatch, capsys, arguments, says: str
) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    whole = (data / "toy-shapes-train.h5").read_bytes()
    (tmp_path / "mixed" / "coloured-shapes-train.h5").write_bytes(whole)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "toy-shapes-train.h5").write_bytes(whole[: len(whole) // 2])
    torch.save({"a": torch.zeros(1)}, tmp_path / "pickle.safetensors")
    save_file({"a": torch.zeros(1)}, tmp_path / "strange.safetensors")
    config = {
        "task": "toy-shapes",
        "model": "inductive",
        "preset": "paper",
        "seed": 0,
        "training": {"steps": 1, "batch": 1},
    }
    save_tensors(
        tmp_path / "other.safetensors", {"a": torch.zeros(1)}, {"config": config, "seconds": 1}
    )
    wide = {**config, "task": "coloured-shapes", "preset": "fast"}
    wide["training"] = {"steps": 1, "batch": 1, "model": {"width": 10**9}}
    save_tensors(tmp_path / "wide.safetensors", {"a": torch.zeros(1)}, {"config": wide})
    flipped = bytearray((tmp_path / "other.safetensors").read_bytes())
    flipped[-1] ^= 1
    (tmp_path / "flipped.safetensors").write_bytes(flipped)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOTA_ROOT", "")
    monkeypatch.setenv("IVL_DATA", "")
    monkeypatch.setattr("sys.argv", ["ivl-bench", *arguments])
    with pytest.raises(SystemExit) as end:  # in this process: a new one needs seconds for torch
        main()
    complaint = capsys.readouterr().err
    assert end.value.code == 2, complaint
    assert len(complaint.strip().splitlines()) == 1 and says in complaint


@pytest.mark.slow
def test_a_run_is_not_mixed_with_another(run, data: Path) -> None:
    own = own_data(data, "toy-shapes")
    first = run("ivl-bench", "run", "--model", "inductive", *own, *TINY)
    assert first.returncode == 0, first.stderr
    changed = [*TINY, "--set", "learning_rate=0.1"]
    other = run("ivl-bench", "run", "--model", "inductive", *own, *changed)
    assert other.returncode == 2 and "another configuration" in other.stderr
