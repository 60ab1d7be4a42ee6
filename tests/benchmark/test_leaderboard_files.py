"""The leaderboard as Markdown and for Hugging Face."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from huggingface_hub.repocard_data import model_index_to_eval_results

from benchmark.registry import find_task
from benchmark.results.leaderboard import all_leaderboards
from benchmark.results.leaderboard_files import evaluation_files, leaderboard_page
from benchmark.results.tables import read_results
from commands import ROOT

RESULTS = read_results(ROOT / "results")
PLAIN = replace(next(r for r in RESULTS if r.config is None), preset="", changes=())
"""A result of a model that was not trained here."""


def test_the_page_has_the_models_of_every_task_and_no_trials() -> None:
    page = leaderboard_page(all_leaderboards(RESULTS))
    for result in RESULTS:
        assert f"## {result.task.title}\n" in page
        assert not any(f"({change}" in page for change in result.changed_settings)
    assert "| *paper, inductive* |" in page and "\n| inductive | **" in page


def test_the_number_of_photographs_stands_beside_that_of_crops() -> None:
    boards = all_leaderboards([r for r in RESULTS if r.images is not None])
    assert boards
    files, page = evaluation_files(boards), leaderboard_page(boards)
    for standing in (s for board in boards for s in board.standings if s.row.images):
        assert f" | {standing.row.samples:,} of {standing.row.images:,} images |" in page
    for text in files.values():
        (result,) = yaml.safe_load(text)["model-index"][0]["results"]
        assert result["dataset"]["args"]["images"] > 1


def test_hugging_face_reads_the_scores_of_the_page() -> None:
    boards = all_leaderboards(RESULTS)
    files = evaluation_files(boards)
    models = [s for b in boards for s in b.standings if not (s.row.is_paper or s.row.is_trial)]
    assert len(files) == len(models)
    for text, standing in zip(files.values(), models, strict=True):
        name, found = model_index_to_eval_results(yaml.safe_load(text)["model-index"])
        assert name.endswith(standing.row.label)
        known = [cell.value for cell in standing.cells if cell.value is not None]
        assert [each.metric_value for each in found] == known
        assert {each.dataset_args["content_sha256"] for each in found} == {
            standing.row.results[0].test_data
        }


@pytest.mark.parametrize("name", ["a: b # c", 'quo"te\\', "- x", "ünï → 文", "../../etc", "|a|"])
def test_any_name_of_a_model_is_kept_and_stays_in_the_folder(name: str) -> None:
    result = replace(PLAIN, model=name)
    ((file, text),) = evaluation_files(all_leaderboards([result])).items()
    assert Path(file).name == file
    assert yaml.safe_load(text)["model-index"][0]["name"] == f"{result.task.name}, {name}"


def test_names_that_look_alike_have_a_file_each() -> None:
    alike = [replace(PLAIN, model=name) for name in ("a b", "a-b", "a/b")]
    assert len(evaluation_files(all_leaderboards(alike))) == 3


def test_a_row_says_where_its_encoder_comes_from() -> None:
    labels = {result.label for result in RESULTS if result.model == "end-to-end"}
    assert "end-to-end, encoder from coloured-shapes-inductive-fast" in labels
    assert "end-to-end" in labels  # that of toy shapes begins from nothing
    result = next(r for r in RESULTS if r.label.endswith("coloured-shapes-inductive-fast"))
    assert result.config is not None
    training = replace(result.config.training, encoder="/home/me/runs/mine")
    moved = replace(result, config=replace(result.config, training=training))
    assert moved.label == "end-to-end, encoder from mine"
    changed = replace(moved, changes=("encoder=/home/me/runs/mine",))
    assert changed.label == "end-to-end (encoder=/home/me/runs/mine)"


def test_a_third_party_gets_a_row(run, tmp_path: Path) -> None:
    """Predictions of any program → score → report, as docs/EXTEND.md says."""
    task, test = find_task("coloured-shapes"), tmp_path / "test.h5"
    assert (
        run("shapes-gen", "coloured", "--counts", "3-10", "--n", 200, "--quiet", test).returncode
        == 0
    )
    info = json.loads(run("ivl-shards", "info", test, "--json").stdout)
    about = {"format": "ivl-predictions-1", "task": task.name, "model": "always five"}
    lines = [{**about, "test_data": info["content_sha256"]}]
    lines += [{"row": row, "prediction": 5} for row in range(1600)]
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text("\n".join(map(json.dumps, lines)) + "\n")
    out = tmp_path / "board"
    assert run("ivl-bench", "score", predictions, "--test", test, "--results", out).returncode == 0
    assert run("ivl-bench", "report", out, "--out", out / "report.html").returncode == 0
    assert "| always five | 33.33 | 0.00 | 0.00 |" in (out / "leaderboard.md").read_text()
    stored = yaml.safe_load(
        (out / "eval-results/coloured-shapes-always-five.eval.yaml").read_text()
    )
    (result,) = stored["model-index"][0]["results"]
    assert [metric["value"] for metric in result["metrics"]] == [33.33, 0.0, 0.0]
