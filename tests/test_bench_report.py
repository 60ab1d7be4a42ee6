"""The report: what it is made of, and the page in a real browser."""

import base64
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.bench import run_one
from benchmark.decoding import Decoding
from benchmark.presets import training_for
from benchmark.processes import join_processes
from benchmark.report import find_entries, write_page
from benchmark.report.picks import pick_rows
from benchmark.report.recording import map_sheet, record_loop
from benchmark.report.tables import line_hues, task_tables
from benchmark.run import Config
from benchmark.tasks import find_task
from conftest import assert_one_line, complaints_of
from shapes_gen import ColouredRecipe, ToyRecipe, generate
from threes import Endless, Three

torch.set_num_threads(1)  # the models are tiny: more only wait for each other

THREE = "coloured-shapes-threes.Three-fast-seed0"
FOUR = "coloured-shapes-threes.Four-fast-seed0"
READER = "toy-shapes-inductive-fast-seed0"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `data`, `runs` and `results` of tiny models."""
    folder = tmp_path_factory.mktemp("report")
    data = folder / "data"
    data.mkdir()
    for split, counts in (("train", (3, 4)), ("test", (3, 5))):
        coloured = ColouredRecipe(counts, 20, split=split, size=48)
        generate(coloured, data / f"coloured-shapes-{split}.h5", workers=1)
        toy = ToyRecipe((2, 3), 20, split=split)
        generate(toy, data / f"toy-shapes-{split}.h5", workers=1)
    for task, model in (
        ("coloured-shapes", "threes:Three"), ("coloured-shapes", "threes:Four"),
        ("toy-shapes", "inductive"), ("toy-shapes", "threes:Same"),
    ):  # fmt: skip
        training = training_for(find_task(task), model, "fast", {"steps": 2, "batch": 2})
        config = Config(task, model, "fast", 0, training)
        with join_processes("cpu") as one:
            run_one(
                config, (), data, folder / "runs", folder / "results", one, 60, True, Decoding()
            )
    return folder


def write(here: Path, out: Path, *places: Path, samples: int = 4, data: str = "data") -> Path:
    entries, unfinished = find_entries(places)
    write_page(entries, unfinished, out, here / data, samples)
    return out


@pytest.fixture(scope="module")
def whole(here: Path) -> Path:
    """The page of all runs."""
    return write(here, here / "page.html", here / "runs")


def data_of(page: Path) -> dict[str, Any]:
    """What stands in a page."""
    text = page.read_text("utf-8").split('id="data">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(text)
    return found


def copies(here: Path, to: Path, name: str, seeds: range) -> None:
    """A run with other seeds."""
    for seed in seeds:
        copy = to / name.replace("seed0", f"seed{seed}")
        shutil.copytree(here / "runs" / name, copy)
        for path in (copy / "config.json", copy / "result.json"):
            values = json.loads(path.read_text())
            values.get("config", values)["seed"] = seed
            path.write_text(json.dumps(values))


def open_page(browser, path: Path, **options) -> tuple[Any, list[str]]:
    page = browser.new_page(**options)
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:0:0']")
    return page, complaints


def canvas(page, place: int) -> np.ndarray:
    """What a panel of the player of coloured shapes shows, (H, W, 3)."""
    stage = page.locator("#coloured-shapes .stage canvas").nth(place)
    url = stage.evaluate("canvas => canvas.toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB"))


def test_a_reader_off_the_shelf_has_a_row_and_is_not_played(here: Path, tmp_path: Path) -> None:
    """Its results, which `ivl-bench eval --model ocr --results` keeps, know of no training."""
    result = json.loads((here / "results" / f"{READER}.json").read_text())
    for name in ("curve", "parameters", "training_seconds"):
        del result[name]
    result |= {
        "data": "0" * 64,
        "config": {"task": "toy-shapes", "model": "ocr", "preset": "on blocks"},
    }
    (tmp_path / "evaluated").mkdir()
    (tmp_path / "evaluated" / "ocr.json").write_text(json.dumps(result))
    shutil.copy(here / "results" / f"{READER}.json", tmp_path)
    (task,) = data_of(write(here, tmp_path / "page.html", tmp_path))["tasks"]
    labels = [line["label"] for line in task["tables"][0]["lines"]]
    assert labels[2:] == ["inductive, fast", "ocr, on blocks"]
    assert {run["run"]: run["steps"] for run in task["runs"]} == {
        READER: 2, "toy-shapes-ocr, on blocks": None,
    }  # fmt: skip
    assert not any("ocr" in line for line in task["player"]["absent"])


@pytest.mark.browser
def test_the_page_shows_all_of_it(whole: Path, browser) -> None:
    page, complaints = open_page(browser, whole)
    assert "4 runs on 2 tasks" in page.inner_text("#summary")
    for name in ("toy-shapes", "coloured-shapes"):
        lengths, losses = page.locator(f"#{name} .chart").all()
        # The paper's two rows and our two, ours with their confidence bands.
        assert lengths.locator("path.series").count() == 4
        assert lengths.locator("path.band").count() == 2
        assert lengths.locator("rect.shade").count() == 1
        assert losses.locator("path.series").count() == 4
        assert page.locator(f"#{name} .legend button").count() == 6
    page.click("#coloured-shapes .legend button >> nth=0")
    assert page.locator("#coloured-shapes .chart >> nth=0 >> path.series").count() == 3
    ticks = page.locator("#toy-shapes .chart >> nth=0").locator("text")
    assert "0.1" not in ticks.all_text_contents()
    page.check("#toy-shapes input[type=checkbox]")
    assert "0.1" in ticks.all_text_contents()
    assert page.locator("#leaderboard tbody tr").count() == 8
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_the_player_steps_as_the_model_did(whole: Path, browser) -> None:
    page, complaints = open_page(browser, whole)
    player = page.locator("#coloured-shapes .player")
    # The model says three: samples of five are failures, and come first.
    assert [b.inner_text() for b in player.locator(".samples button").all()] == [
        "✗ 5 objects", "✗ 5 objects", "✗ 5 objects", "✓ 3 objects",
    ]  # fmt: skip
    assert player.locator(".answers tbody td").all_inner_texts() == ["count", "5", "3 ✗", "4 ✗"]
    player.focus()
    for step in range(4):
        page.wait_for_selector(f"#coloured-shapes .player[data-shown='0:0:{step}']")
        _, before, delta, picked, after = (canvas(page, k).any(2) for k in range(5))
        assert before.sum() == step and before[0, :step].all()
        assert delta.sum() == 3 - step
        assert picked.sum() == (step < 3) and after.sum() == min(step + 1, 3)
        said = page.inner_text("#coloured-shapes .stage output")
        assert said == str(step + 1) if step < 3 else said.startswith("end")
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:0:2']")
    assert page.locator(".otherwise:visible").count() == 0
    page.keyboard.press("Home")
    player.locator(".play").click()
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:0:1']")
    player.locator(".samples button").last.click()
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:3:0']")
    assert player.locator(".answers tbody td").all_inner_texts() == ["count", "3", "3", "4 ✗"]
    player.locator(".strip button").nth(3).click()
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:3:3']")
    assert player.locator(".next").is_disabled()
    # Without a click, keys reach the player that one looks at.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:3:2']")
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_tables_sort(whole: Path, browser) -> None:
    page, complaints = open_page(browser, whole)

    def column(k: int) -> list[str]:
        return page.locator(f"#leaderboard tbody td:nth-child({k})").all_inner_texts()

    page.click("#leaderboard thead button >> nth=3")
    assert page.locator("#leaderboard th >> nth=3").get_attribute("aria-sort") == "ascending"
    shown = [float(text) for text in column(4) if text != "–"]
    assert shown == sorted(shown) and column(4)[len(shown) :] == ["–"] * (8 - len(shown))
    page.focus("#leaderboard thead button >> nth=3")
    page.keyboard.press("Enter")
    again = [float(text) for text in column(4) if text != "–"]
    assert again == shown[::-1] and column(4)[len(shown) :] == ["–"] * (8 - len(shown))
    page.click("#leaderboard thead button >> nth=1")
    assert column(2) == sorted(column(2))
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_the_page_fits_a_phone_the_dark_and_paper(whole: Path, browser) -> None:
    phone, complaints = open_page(browser, whole, viewport={"width": 360, "height": 740})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    assert complaints == []
    phone.close()
    page, complaints = open_page(browser, whole, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(22, 22, 24)"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.is_visible("#coloured-shapes .stage")
    assert page.is_visible("#coloured-shapes .strip")
    # Whatever can be pressed says what it is.
    assert page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter(one => "
        "!one.textContent && !one.ariaLabel && !one.labels?.length).length"
    ) == 0  # fmt: skip
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_a_long_name_leaves_the_figures_in_sight(here: Path, browser, tmp_path: Path) -> None:
    copies(here, tmp_path / "runs", THREE, range(1))
    (result,) = (tmp_path / "runs").rglob("result.json")
    about = json.loads(result.read_text())
    about["changes"] = [f"option{k}=value" for k in range(12)]
    result.write_text(json.dumps(about))
    path = write(here, tmp_path / "page.html", tmp_path / "runs")
    page, _ = open_page(browser, path, viewport={"width": 1200, "height": 900})
    assert "option11=value" in page.inner_text("table.first")
    assert page.evaluate(
        "[...document.querySelectorAll('table.first')]"
        ".every(table => table.scrollWidth <= table.parentElement.clientWidth)"
    )
    page.close()


@pytest.mark.browser
def test_twenty_runs_are_small_and_quick(here: Path, browser, tmp_path: Path) -> None:
    for name, seeds in ((THREE, range(5)), (READER, range(10)), (FOUR, range(5))):
        copies(here, tmp_path / "runs", name, seeds)
    path = write(here, tmp_path / "page.html", tmp_path / "runs", samples=6)
    assert path.stat().st_size < 15e6
    seconds = []
    for _ in range(3):  # a busy machine may be slow once
        page, complaints = open_page(browser, path)
        seconds.append(
            page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
        )
        assert "20 runs on 2 tasks" in page.inner_text("#summary")
        assert page.locator("#toy-shapes select option").count() == 10
        page.select_option("#toy-shapes select", "7")
        page.wait_for_selector("#toy-shapes .player[data-shown='7:0:0']")
        assert complaints == []
        page.close()
    assert min(seconds) < 2


def test_a_result_counts_once_and_seeds_are_averaged(here: Path, tmp_path: Path) -> None:
    entries, unfinished = find_entries([here / "results", here / "runs"])
    assert len(entries) == 4 and not unfinished
    assert all(entry.weights is not None for entry in entries)
    copies(here, tmp_path, READER, range(3))
    (table,) = task_tables(find_task("toy-shapes"), find_entries([tmp_path])[0])
    assert [line.row.label for line in table.lines] == [
        "paper, end-to-end", "paper, inductive", "inductive, fast",
    ]  # fmt: skip
    assert len(table.lines[-1].entries) == 3
    assert line_hues(table.lines) == [1, 0, 0]


def test_without_weights_or_data_there_is_a_word_why(here: Path, tmp_path: Path) -> None:
    def why(page: Path) -> list[str]:
        tasks = data_of(page)["tasks"]
        assert all(task["tables"] and not task["player"]["runs"] for task in tasks)
        return [line for task in tasks for line in task["player"]["absent"]]

    page = write(here, tmp_path / "page.html", here / "results" / f"{THREE}.json")
    assert "without its run's folder" in why(page)[0]
    page = write(here, tmp_path / "page.html", here / "runs" / THREE, data="elsewhere")
    assert "test set is not in" in why(page)[0]
    (here / "other").mkdir(exist_ok=True)
    other = here / "other" / "coloured-shapes-test.h5"
    other.write_bytes((here / "data" / "coloured-shapes-train.h5").read_bytes())
    page = write(here, tmp_path / "page.html", here / "runs" / THREE, data="other")
    assert "another test set" in why(page)[0]
    page = write(here, tmp_path / "page.html", here / "runs" / FOUR)
    assert why(page) == ["There is no inductive run to be played."]
    copies(here, tmp_path, THREE, range(1))
    for path in (tmp_path / THREE / "config.json", tmp_path / THREE / "result.json"):
        path.write_text(path.read_text().replace("threes:Three", "nowhere:Three"))
    shutil.copy(here / "runs" / FOUR / "checkpoint.safetensors",
                tmp_path / THREE / "weights.safetensors")  # fmt: skip
    page = write(here, tmp_path / "page.html", tmp_path / THREE)
    assert "a checkpoint, not weights" in why(page)[0]


def test_weights_that_come_along_are_those_of_their_result(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = here / "runs" / THREE / "weights.safetensors"
    monkeypatch.setattr("benchmark.report.entries.packed_weights", lambda: [packed])
    path = tmp_path / "result.json.copy"
    path.write_text((here / "results" / f"{THREE}.json").read_text())
    assert find_entries([path])[0][0].weights == packed
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
    own, same = sample["answers"]
    assert not own["right"] and len(sample["outputs"]) == len(sample["stops"]) - 1
    # A hundred lines were said, of which a few are shown.
    most = 2 * sample["length"] + 4
    assert same["answer"] == ["sssss"] * (most - 1) + [f"… {100 - most + 1} more"]


def test_what_was_scored_otherwise_is_said(here: Path, tmp_path: Path) -> None:
    copies(here, tmp_path, THREE, range(1))
    path = tmp_path / THREE / "result.json"
    result = json.loads(path.read_text())
    result["evaluation"] |= {"wrong": [], "wrong_in_all": 0}
    path.write_text(json.dumps(result))
    (task,) = data_of(write(here, tmp_path / "page.html", tmp_path / THREE))["tasks"]
    found = [
        (s["scored_right"], s["answers"][0]["right"]) for s in task["player"]["runs"][0]["samples"]
    ]
    assert found == [(True, False)] * 2 + [(True, True)] * 2


def test_failures_come_first_and_from_all_lengths() -> None:
    lengths = np.array([3, 3, 3, 5, 5, 5, 8, 8])
    few = {"wrong": [[1, 2, 3], [6, 7, 8]], "wrong_in_all": 2}
    assert pick_rows(few, lengths, 6) == [1, 6, 0, 3, 4, 7]
    most = {"wrong": [[k, 0, 1] for k in range(8)], "wrong_in_all": 8}
    assert pick_rows(most, lengths, 3) == [0, 3, 6]
    none = {"wrong": [], "wrong_in_all": 0}
    assert pick_rows(none, lengths, 2) == [3, 6]


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
    tests = str(Path(__file__).parent)
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), tests]))
    done = run("ivl-bench", "report", "--data", here / "data", "--threads", 1, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("report.html: written, 3 runs")
    page = data_of(tmp_path / "report.html")
    assert page["unfinished"] == [FOUR]
    assert [len(task["player"]["runs"]) for task in page["tasks"]] == [1, 1]


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
    half = {k: v for k, v in json.loads(good).items() if k != "evaluation"}
    (tmp_path / "half.json").write_text(json.dumps(half))
    (tmp_path / "chess.json").write_text(good.replace('"toy-shapes"', '"chess"'))
    (tmp_path / "empty").mkdir()
    (tmp_path / "waiting" / "run-1").mkdir(parents=True)
    (tmp_path / "waiting" / "run-1" / "config.json").write_text("{}")
    assert_one_line(run("ivl-bench", "report", *arguments), 2, says)
