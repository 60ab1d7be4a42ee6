"""The report: what it is made of."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.registry import find_task
from benchmark.results.report import find_entries
from benchmark.results.report.picks import pick_rows
from benchmark.results.report.recording import map_sheet, record_loop
from benchmark.results.report.tables import row_hues, task_tables
from benchmark.results.result import Result
from commands import HELPERS, assert_one_line
from reports import FOUR, READER, THREE, copies, data_of, write
from threes import Endless, Three


def test_a_reader_off_the_shelf_has_a_row_and_is_not_played(here: Path, tmp_path: Path) -> None:
    """Results of `ivl-bench eval --model ocr --results` have no training."""
    result = json.loads((here / "results" / f"{READER}.json").read_text())
    for name in ("curve", "parameters", "training_seconds"):
        del result[name]
    result |= {
        "data": {"test": result["data"]["test"]},
        "config": {"task": "toy-shapes", "model": "ocr", "preset": "on blocks"},
    }
    (tmp_path / "evaluated").mkdir()
    (tmp_path / "evaluated" / "ocr.json").write_text(json.dumps(result))
    shutil.copy(here / "results" / f"{READER}.json", tmp_path)
    (task,) = data_of(write(here, tmp_path / "page.html", tmp_path))["tasks"]
    labels = [row["label"] for row in task["tables"][0]["rows"]]
    assert sorted(labels[2:]) == ["RapidOCR on blocks", "inductive"]
    seeds = {row["label"]: row["seeds"] for row in task["leaderboard"]["rows"]}
    assert (seeds["inductive"], seeds["RapidOCR on blocks"]) == (1, None)
    assert {run["run"]: run["steps"] for run in task["runs"]} == {
        READER: 2,
        "toy-shapes-RapidOCR on blocks": None,
    }
    assert not any("ocr" in line for line in task["player"]["absent"])


def test_results_of_other_test_sets_are_counted_and_left_out(here: Path, tmp_path: Path) -> None:
    copies(here, tmp_path, READER, range(1))
    path = tmp_path / READER / "result.json"
    result = json.loads(path.read_text())
    result["data"] |= {"test": "0" * 64, "test_differs": "seed 3 instead of 0"}
    path.write_text(json.dumps(result))
    places = (tmp_path / READER, here / "results" / f"{READER}.json")
    (task,) = data_of(write(here, tmp_path / "page.html", *places))["tasks"]
    board = task["leaderboard"]
    assert board["left_out"] == 1
    assert [row["test_set"] for row in board["rows"] if not row["paper"]] == ["standard"]
    shown = [row["test_set"] for row in task["tables"][0]["rows"] if not row["paper"]]
    assert shown == ["standard", "not standard: seed 3 instead of 0"]


def test_a_result_counts_once_and_seeds_are_averaged(here: Path, tmp_path: Path) -> None:
    entries, unfinished = find_entries([here / "results", here / "runs"])
    assert len(entries) == 4 and not unfinished
    assert all(entry.weights is not None for entry in entries)
    copies(here, tmp_path, READER, range(3))
    table, line_counts = task_tables(find_task("toy-shapes"), find_entries([tmp_path])[0])
    assert [row.label for row in line_counts.rows] == ["inductive"]  # not in the paper
    labels = ["paper, inductive", "paper, end-to-end", "inductive"]
    assert [row.label for row in table.rows] == labels
    assert table.rows[-1].seeds == 3
    assert row_hues([table]) == dict(zip(labels, (0, 1, 0), strict=True))


def test_a_run_that_cannot_be_played_is_explained(here: Path, tmp_path: Path) -> None:
    def why(page: Path) -> list[str]:
        tasks = data_of(page)["tasks"]
        assert all(task["tables"] and not task["player"]["runs"] for task in tasks)
        return [line for task in tasks for line in task["player"]["absent"]]

    page = write(here, tmp_path / "page.html", here / "results" / f"{THREE}.json")
    assert "not in its run's folder" in why(page)[0]
    page = write(here, tmp_path / "page.html", here / "runs" / THREE, data="elsewhere")
    assert "test set is not in" in why(page)[0]
    (here / "other").mkdir(exist_ok=True)
    other = here / "other" / "coloured-shapes-test.h5"
    other.write_bytes((here / "data" / "coloured-shapes-train.h5").read_bytes())
    page = write(here, tmp_path / "page.html", here / "runs" / THREE, data="other")
    assert "another test set" in why(page)[0]
    page = write(here, tmp_path / "page.html", here / "runs" / FOUR)
    assert why(page) == ["No run of an inductive model can be played."]
    copies(here, tmp_path, THREE, range(1))
    for path in (tmp_path / THREE / "config.json", tmp_path / THREE / "result.json"):
        path.write_text(path.read_text().replace("threes:Three", "nowhere:Three"))
    shutil.copy(
        here / "runs" / FOUR / "checkpoint.safetensors", tmp_path / THREE / "weights.safetensors"
    )
    page = write(here, tmp_path / "page.html", tmp_path / THREE)
    assert "a checkpoint, not weights" in why(page)[0]


def test_bundled_weights_belong_to_the_result_of_their_training(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = here / "runs" / THREE / "weights.safetensors"
    monkeypatch.setattr("benchmark.results.report.entries.bundled_weights", lambda: [bundled])
    path = tmp_path / "result.json.copy"
    path.write_text((here / "results" / f"{THREE}.json").read_text())
    assert find_entries([path])[0][0].weights == bundled
    other = json.loads(path.read_text())
    other["training_seconds"] += 100  # the same configuration, another training
    path.write_text(json.dumps(other))
    assert find_entries([path])[0][0].weights is None


def test_what_is_no_number_does_not_break_the_page(here: Path, tmp_path: Path) -> None:
    copies(here, tmp_path, THREE, range(1))
    path = tmp_path / THREE / "result.json"
    result = json.loads(path.read_text())
    result["curve"][0]["loss"] = float("nan")
    result["changes"] = ["note=</script><script>alert(1)</script>"]
    path.write_text(json.dumps(result))
    task = data_of(write(here, tmp_path / "page.html", tmp_path / THREE))["tasks"][0]
    assert len(task["curves"][0]["loss"]) == len(result["curve"]) - 1
    assert "</script><script>" in task["curves"][0]["label"]


def test_what_never_ends_is_cut_short(whole: Path) -> None:
    (sample, *_) = data_of(whole)["tasks"][0]["player"]["runs"][0]["samples"]
    own, same = sample["predictions"]
    assert not own["right"] and len(sample["outputs"]) == len(sample["stops"]) - 1
    # Of the hundred lines that were read, a few are shown.
    most = 2 * sample["length"] + 4
    assert same["prediction"] == ["sssss"] * (most - 1) + [f"… {100 - most + 1} more"]


def test_what_was_scored_otherwise_is_said(here: Path, tmp_path: Path) -> None:
    copies(here, tmp_path, THREE, range(1))
    path = tmp_path / THREE / "result.json"
    result = json.loads(path.read_text())
    result |= {"wrong": [], "wrong_total": 0}
    path.write_text(json.dumps(result))
    (task,) = data_of(write(here, tmp_path / "page.html", tmp_path / THREE))["tasks"]
    found = [
        (sample["scored_right"], sample["predictions"][0]["right"])
        for sample in task["player"]["runs"][0]["samples"]
    ]
    assert found == [(True, False)] * 2 + [(True, True)] * 2


def test_failures_come_first_and_from_all_lengths() -> None:
    lengths = np.array([3, 3, 3, 5, 5, 5, 8, 8])
    assert pick_rows(wrong_at(1, 6), lengths, 6) == [1, 6, 0, 3, 4, 7]
    assert pick_rows(wrong_at(*range(8)), lengths, 3) == [0, 3, 6]
    assert pick_rows(wrong_at(), lengths, 2) == [3, 6]


def wrong_at(*rows: int) -> Result:
    """Return a result whose predictions are wrong in these rows."""
    wrong = tuple((row, 0, 1) for row in rows)
    task = find_task("coloured-shapes")
    return Result(task, "inductive", "fast", None, (), {}, wrong, len(wrong), 0.0, "")


def test_a_recording_has_every_step_and_ends() -> None:
    task, image = find_task("coloured-shapes"), torch.zeros(1, 3, 32, 600)
    whole = record_loop(Three(task), image, 3)
    assert (len(whole.outputs), len(whole.deltas), whole.ended) == (3, 4, "stop")
    assert whole.stops == [0, 0, 0, 1]
    assert map_sheet(whole).shape == (4 * 14, 2 * 256)  # no side longer than 256 each
    endless = record_loop(Endless(task), image, 3)
    assert (len(endless.outputs), len(endless.deltas), endless.ended) == (10, 11, "limit")


def test_the_command_line(run, here: Path, tmp_path: Path) -> None:
    shutil.copytree(here / "runs", tmp_path / "runs")
    (tmp_path / "runs" / FOUR / "result.json").unlink()  # as if it were still trained
    tests = str(HELPERS)
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), tests]))
    command = ["report", "--data", here / "data", "--threads", 1]
    done = run("ivl-bench", *command, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    page = data_of(tmp_path / "report.html")
    # A class that only files name is not imported, and the page says what to do.
    assert [len(task["player"]["runs"]) for task in page["tasks"]] == [1, 0]
    assert any("--model threes:Three" in line for line in page["tasks"][1]["player"]["absent"])
    done = run("ivl-bench", *command, *THREES, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("report.html: written, 3 runs")
    page = data_of(tmp_path / "report.html")
    assert page["unfinished"] == [FOUR]
    assert [len(task["player"]["runs"]) for task in page["tasks"]] == [1, 1]


THREES = ["--model", "threes:Three", "--model", "threes:Same"]

BAD = [
    ([], "no results there"),
    (["nothing"], "nothing: no such run"),
    (["empty"], "no results there"),
    (["waiting"], "run-1: not finished"),
    (["broken.json"], "broken.json: cannot be read"),
    (["list.json"], "not a result"),
    (["half.json"], "not a result"),
    (["chess.json"], "no task 'chess'"),
    (["good.json", "--out", "nowhere/page.html"], "nowhere/page.html: cannot be written"),
    (["good.json", "--samples", "-1"], "--samples -1"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "says"), BAD, ids=lambda value: str(value)[-40:])
def test_bad_input_is_one_line(run, here: Path, tmp_path: Path, arguments, says: str) -> None:
    good = (here / "results" / f"{READER}.json").read_text()
    (tmp_path / "good.json").write_text(good)
    (tmp_path / "broken.json").write_text(good[:500])
    (tmp_path / "list.json").write_text("[1, 2]")
    half = {k: v for k, v in json.loads(good).items() if k != "metrics"}
    (tmp_path / "half.json").write_text(json.dumps(half))
    (tmp_path / "chess.json").write_text(good.replace('"toy-shapes"', '"chess"'))
    (tmp_path / "empty").mkdir()
    (tmp_path / "waiting" / "run-1").mkdir(parents=True)
    (tmp_path / "waiting" / "run-1" / "config.json").write_text("{}")
    assert_one_line(run("ivl-bench", "report", *arguments), 2, says)
