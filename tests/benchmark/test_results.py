"""Results: old files, labels that tell models apart, and the order of the leaderboard."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.evaluation.metrics import Score
from benchmark.evaluation.step_scores import StepScores
from benchmark.registry import find_task, find_training
from benchmark.results.leaderboard import Leaderboard, leaderboard
from benchmark.results.report.entries import Entry
from benchmark.results.report.step_charts import steps_json
from benchmark.results.result import Result, read_result, write_result
from benchmark.results.results_page import results_page
from benchmark.results.tables import read_results, task_rows, task_spans, text_tables
from benchmark.training.run_folder import Config
from commands import ROOT

TOY, TEXT = find_task("toy-shapes"), find_task("text-blocks")
OLD, RESULTS = Path(__file__).parent / "old_results", ROOT / "results"
# Each kind of file that earlier versions wrote. Beside it lies the same result in today's format.
KINDS = ("run-several-metrics", "run-one-metric", "run-dota-splits", "eval", "ocr")


def made(values: dict[int, float], task=TOY, model: str = "inductive", **options) -> Result:
    """Return a result with these scores by length."""
    config = Config(task.name, model, "fast", 0, find_training(task, model, "fast"))
    scores = {n: Score(v, v - 1, v + 1, 10) for n, v in values.items()}
    facts = {
        "preset": "fast",
        "config": config,
        "changes": (),
        "scores": {task.metric.name: scores},
        "test_data": next(iter(task.standard)),
    }
    return Result(task, model, wrong=(), wrong_total=0, seconds=0.0, **{**facts, **options})


def labels_of(board: Leaderboard, trials: bool = True) -> list[str]:
    return [s.row.label for s in board.standings if trials or not s.row.is_trial]


def best_of(board: Leaderboard, column: int) -> list[str]:
    return [s.row.label for s in board.standings if board.is_best(s, column)]


@pytest.mark.parametrize("name", KINDS)
def test_an_old_file_reads_as_the_same_result(name: str) -> None:
    old = read_result(OLD / f"{name}.json")
    new = read_result(OLD / f"{name}-upgraded.json")
    assert old.scores == new.scores
    assert old == new


def test_changed_settings_of_old_files_have_names_of_today() -> None:
    old = read_result(OLD / "run-one-metric.json")
    assert old.changes == (
        "steps=500",
        "optimizer=adadelta",
        "learning_rate=1.0",
        "weight_decay=0.0",
    )


def test_where_lower_is_better_the_lowest_comes_first() -> None:
    assert TOY.metric.lower_is_better and not TEXT.metric.lower_is_better
    lengths = TOY.test.counts
    good, bad = made(dict.fromkeys(lengths, 0.01)), made(dict.fromkeys(lengths, 99.0), model="a:B")
    board = leaderboard(TOY, [bad, good])
    order = ["paper, inductive", "inductive", "paper, end-to-end", "a:B"]
    assert labels_of(board) == order
    assert best_of(board, 1) == ["paper, inductive"]


def test_where_higher_is_better_the_highest_comes_first() -> None:
    lengths = TEXT.test.counts
    good = made(dict.fromkeys(lengths, 99.0), TEXT)
    bad = made(dict.fromkeys(lengths, 0.5), TEXT, "a:B")
    board = leaderboard(TEXT, [bad, good])
    assert labels_of(board)[0] == "inductive"
    # The paper has no figures of its end-to-end model beyond four lines: it comes last.
    assert labels_of(board)[-2:] == ["a:B", "paper, end-to-end"]
    assert best_of(board, 0) == best_of(board, 1) == best_of(board, 2) == ["inductive"]


def test_the_score_at_longer_lengths_decides() -> None:
    trained = {n: 100.0 if n <= 5 else 10.0 for n in TEXT.test.counts}
    longer = {n: 50.0 for n in TEXT.test.counts}
    board = leaderboard(TEXT, [made(trained, TEXT, "a:Short"), made(longer, TEXT, "a:Long")])
    labels = labels_of(board)
    assert labels.index("a:Long") < labels.index("a:Short")
    (cells,) = (s.cells for s in board.standings if s.row.label == "a:Short")
    assert [cell.value for cell in cells] == [100.0, 10.0, 10.0]
    assert [span.title for span in board.columns] == ["3–5 lines", "6–10 lines", "10 lines"]


def test_a_model_that_was_tested_at_few_lengths_is_not_the_best() -> None:
    few = made({5: 100.0, 10: 100.0}, TEXT, "a:Few")
    every = made(dict.fromkeys(TEXT.test.counts, 90.0), TEXT)
    board = leaderboard(TEXT, [few, every])
    assert labels_of(board)[0] == "a:Few"
    assert [cell.only for cell in board.standings[0].cells] == ["5", "10", ""]
    assert best_of(board, 1) == ["inductive"]
    assert best_of(board, 2) == ["a:Few"]  # at ten lines both were tested


def test_trials_and_other_test_sets_are_no_models_of_the_leaderboard() -> None:
    lengths = TOY.test.counts
    own = made(dict.fromkeys(lengths, 5.0))
    trial = made(dict.fromkeys(lengths, -1.0), changes=("steps=9",))
    long = made({20: 0.0, 100: 0.0}, test_data="1" * 64)
    board = leaderboard(TOY, [own, trial, long])
    assert labels_of(board, trials=False) == ["paper, inductive", "inductive", "paper, end-to-end"]
    assert labels_of(board)[0] == "inductive (steps=9)"
    assert best_of(board, 1) == ["paper, inductive"]
    page = results_page([own, trial, long], {})
    before, after = page.split("<details>")
    assert "steps=9" not in before and "inductive (steps=9)" in after
    assert "inductive, tested on 20, 100 lines" in before


def test_seeds_and_samples_are_counted() -> None:
    lengths = TOY.test.counts
    first = made(dict.fromkeys(lengths, 2.0))
    assert first.config is not None
    second = made(dict.fromkeys(lengths, 4.0), config=replace(first.config, seed=1))
    (row,) = (r for r in task_rows(TOY, [first, second], TOY.metric) if not r.is_paper)
    assert (row.seeds, row.samples, row.figures[20]) == (2, 10 * len(lengths), 3.0)


def test_several_seeds_have_a_mean_and_a_standard_deviation() -> None:
    lengths = TOY.test.counts
    runs = [made(dict.fromkeys(lengths, value)) for value in (2.0, 4.0, 6.0)]
    configs = [replace(run.config, seed=k) for k, run in enumerate(runs) if run.config]
    seeds = [replace(run, config=config) for run, config in zip(runs, configs, strict=True)]
    (row,) = (r for r in task_rows(TOY, seeds, TOY.metric) if not r.is_paper)
    assert (row.figures[20], row.spread[20]) == (4.0, 2.0)
    (cells,) = (s.cells for s in leaderboard(TOY, seeds).standings if not s.row.is_paper)
    assert [(cell.value, cell.spread) for cell in cells] == [(4.0, 2.0)] * 3
    assert "4.00 ± 2.00" in results_page(seeds, {})
    printed = text_tables(TOY, "mine", seeds)
    assert "std over seeds" in printed and "±2.00" in printed
    assert "std over seeds" not in text_tables(TOY, "mine", seeds[:1])


def test_the_leaderboard_has_standard_test_sets_alone() -> None:
    lengths = TOY.test.counts
    own = made(dict.fromkeys(lengths, 5.0))
    other = made(dict.fromkeys(lengths, 0.0), model="a:B", test_data="1" * 64)
    theirs = made(dict.fromkeys(lengths, 4.0), model="mine", config=None, preset="")
    board = leaderboard(TOY, [own, other, theirs])
    assert [s.row.label for s in board.standings if not s.row.is_paper] == ["mine", "inductive"]
    assert board.left_out == 1


def test_without_a_standard_test_set_all_of_the_same_lengths_compare() -> None:
    task = replace(TOY, standard={})
    own = replace(made(dict.fromkeys(task.test.counts, 5.0)), task=task, test_data="1" * 64)
    longer = replace(made({100: 5.0}), task=task, test_data="2" * 64)
    board = leaderboard(task, [own, longer])
    assert len([s for s in board.standings if not s.row.is_paper]) == 1
    assert board.left_out == 1
    assert "no standard one is on record" in text_tables(task, "mine", [own])


def test_every_table_says_whether_the_test_set_is_the_standard_one() -> None:
    own = made(dict.fromkeys(TOY.test.counts, 5.0))
    other = replace(own, test_data="1" * 64, test_differs="seed 3 instead of 0")
    assert "Test set: standard\n" in text_tables(TOY, "mine", [own])
    assert "Test set: not standard: seed 3 instead of 0\n" in text_tables(TOY, "mine", [other])
    # A file of an earlier version does not say it: what its scores show is said instead.
    unsaid = replace(own, test_data="1" * 64)
    assert "n 10 instead of 200" in text_tables(TOY, "mine", [unsaid])
    page = results_page([own, other], {})
    assert "| standard |" in page and "| not standard: seed 3 instead of 0 |" in page


def test_the_number_of_photographs_stands_beside_that_of_the_samples(tmp_path: Path) -> None:
    icdar = find_task("icdar-blocks")
    scores = {n: Score(50.0, 40.0, 60.0, 12, 7) for n in (1, 2)}
    own = made({1: 50.0}, icdar, scores={icdar.metric.name: scores}, images=9)
    write_result(tmp_path / "result.json", own)
    again = read_result(tmp_path / "result.json")
    assert again == own and again.scores[icdar.metric.name][1].images == 7
    printed = text_tables(icdar, "mine", [own])
    assert [line.split() for line in printed.splitlines() if "source images" in line] == [
        ["source", "images", "7", "7"]
    ]
    assert "| 24 of 9 images |" in results_page([own], {})


def made_with_steps(seed: int, survival: float) -> Result:
    """Return a result whose first t steps are all right in the same share for t = 1 … 4."""
    table = {t: Score(survival, survival, survival, 10) for t in range(1, 5)}
    one = Score(1.25, 1.0, 2.0, 10)
    return made(
        dict.fromkeys(TOY.test.counts, 1.0),
        config=replace(made({}).config, seed=seed),
        steps=StepScores(table, table, one, one, one, one, one, one, one),
    )


def test_the_page_has_the_steps_of_models_on_the_standard_test_set() -> None:
    seeds = [made_with_steps(0, 90.0), made_with_steps(1, 80.0)]
    other = made({1: 1.0}, model="other", config=None, test_data="0" * 64, steps=seeds[0].steps)
    page = results_page([*seeds, other], {})
    row = " | ".join(["85.00<br><sub>80.0–90.0</sub>"] * 4)
    assert "trained to t = 3.\n\n| model | 1 | 2 | 3 | 4 |" in page
    assert f"| inductive, 2 seeds | {row} |" in page
    assert "| inductive, 2 seeds | 1.25<br><sub>1.0–2.0</sub> |" in page
    assert page.count("| other") == 1  # its score alone
    guided = replace(seeds[0].steps, true_survival={1: Score(99.0, 98.0, 100.0, 10)})
    page = results_page([*seeds, replace(seeds[0], curve=(), steps=guided)], {})
    row = "99.00<br><sub>98.0–100.0</sub> | – | – | –"
    assert f"| inductive, with the true memory, 1 of 2 seeds | {row} |" in page
    assert page.count("| inductive, 2 seeds |") == 3  # scores, survival, stopping
    page = results_page([seeds[0], replace(seeds[1], steps=None)], {})
    assert page.count("| inductive, 1 of 2 seeds |") == 2  # survival, stopping
    assert "first t steps" not in results_page([made({3: 1.0})], {})


def test_the_chart_of_steps_has_the_true_memory_of_the_seeds_that_were_given_it() -> None:
    own, other = made_with_steps(0, 90.0), made_with_steps(1, 80.0)
    guided = replace(own.steps, true_survival={1: Score(99.0, 98.0, 100.0, 10)})
    results = [own, other, replace(own, curve=(), steps=guided)]
    rows = task_rows(TOY, results, TOY.metric)
    [chart] = steps_json(rows, [Entry(each, None) for each in results], {"inductive": 0})
    assert [point[:2] for point in chart["survival"]] == [[t, 85.0] for t in range(1, 5)]
    assert chart["true_survival"] == [[1, 99.0, 98.0, 100.0]]
    assert chart["true_label"] == "inductive, true memory, 1 of 2 seeds"


def test_labels_are_short_and_tell_models_apart() -> None:
    config = made({3: 1.0}).config
    assert config is not None
    paper = replace(config, preset="paper")
    alike = [
        made({3: 1.0}),
        made({3: 2.0}, changes=("lexicon small",)),
        made({3: 3.0}, changes=("lexicon large",)),
        made({3: 4.0}, config=paper, preset="paper"),
        made({3: 5.0}, config=paper, preset="paper", changes=("steps=9", "beam 4")),
        made({3: 6.0}, config=replace(config, init="other-run sha256:00")),
        made({3: 7.0}, config=replace(config, train_data="f" * 64)),
        made({3: 8.0}, test_data="1" * 64),
        made({3: 9.0}, test_data="2" * 64),
        made({100: 1.0}, test_data="3" * 64),
        made({3: 1.0}, model="ocr", config=None, preset="on blocks"),
    ]
    labels = [row.label for row in task_rows(TOY, alike, TOY.metric) if not row.is_paper]
    assert len(labels) == len(set(labels)) == len(alike)
    assert "RapidOCR on blocks" in labels and "inductive, paper preset" in labels
    assert "inductive, paper preset, beam 4 (steps=9)" in labels
    for detail in ("lexicon small", "lexicon large", "other-run", "ffffffff", "100 lines"):
        assert sum(detail in label for label in labels) == 1, detail
    alone = task_rows(TOY, alike[1:2], TOY.metric)
    assert "inductive, with lexicon" in [row.label for row in alone]


def test_stored_results_have_labels_without_jargon() -> None:
    results = read_results(ROOT / "results")
    for task in {result.task.name: result.task for result in results}.values():
        labels = [s.row.label for s in leaderboard(task, results).standings]
        assert len(labels) == len(set(labels))
        for jargon in ("seed0", "lexicon_", "sha256", "_"):
            models = labels_of(leaderboard(task, results), trials=False)
            assert not any(jargon in label for label in models)


def test_every_task_is_summed_up() -> None:
    assert [span.role for span in task_spans(TOY)] == ["trained", "longer", "longest"]
    icdar = task_spans(find_task("icdar-blocks"))
    assert [span.title for span in icdar] == ["1 line", "2 and more lines"]
