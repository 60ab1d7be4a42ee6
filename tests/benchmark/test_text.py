"""Reading text: the data of its tasks, its scores, and its tables."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import textblocks_gen
from benchmark.data.alphabets import LETTERS
from benchmark.data.batches import make_batch, spell
from benchmark.data.datasets import DataFolder, split_validation
from benchmark.data.letterbox import SIZE, apply_homography, warp_onto_canvas
from benchmark.evaluation.evaluate import Evaluation, Predicted, score
from benchmark.evaluation.metrics import (
    LINE_COUNT,
    WordCounts,
    f_score,
    match_words,
    precision,
    recall,
    score_tally,
    spot_words,
)
from benchmark.registry import find_task
from benchmark.results.result import Result, result_from_json, scores_of
from benchmark.results.results_page import results_page
from benchmark.results.tables import paper_rows, text_tables
from benchmark.tasks.icdar_blocks import find_scenes, preprocess
from benchmark.tasks.task import Split
from benchmark.training.run_folder import Config
from benchmark.training.settings import Training
from icdar_tree import make_tree
from ivl_shards import UserError, open_dataset
from ivl_shards.format.memory import step_map
from textblocks_gen import TextRecipe

REAL = Path(os.environ.get("IVL_DATA", "")) / "icdar13"

blocks = st.lists(st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4).map(" ".join), max_size=4)


@given(blocks, blocks)
def test_words_are_matched_once_each(said: list[str], there: list[str]) -> None:
    found = match_words(said, there)
    left, right = " ".join(there).split(), 0
    for word in " ".join(said).split():
        if word in left:
            left.remove(word)
            right += 1
    assert found == WordCounts(right, len(" ".join(said).split()), len(" ".join(there).split()))


def test_words_are_those_of_the_icdar_protocol() -> None:
    # In any case; short words and words with marks are neither asked for nor held against.
    assert spot_words(["FOOTPATH to"], ["Footpath to"]) == WordCounts(1, 1, 1)
    assert spot_words(["Kohlen 24 its"], ["Kohlen- 24 it's"]) == WordCounts(0, 0, 0)
    assert spot_words(["exit exit"], ["exit"]) == WordCounts(1, 2, 1)
    assert spot_words(["exit exit"], ["exit", "exit!"]) == WordCounts(1, 1, 1)
    assert spot_words(["A12"], ["a12", "9x9"]) == WordCounts(1, 1, 2)
    assert spot_words([], ["Mind the gap"]) == WordCounts(0, 0, 3)


def test_f_is_the_harmonic_mean() -> None:
    samples = [WordCounts(3, 4, 6), WordCounts(0, 2, 0), WordCounts(1, 1, 1)]
    p, r = precision(samples), recall(samples)
    assert (p.value, r.value) == (57.14, 57.14) and f_score(samples).value == 57.14
    score = score_tally(p)
    assert score.low <= p.value <= score.high and score.samples == 3
    nothing = [WordCounts(0, 0, 2)]
    assert precision(nothing).value == recall(nothing).value == f_score(nothing).value == 0


PREDICTIONS = [
    Predicted(0, ["red house"], ["red house"]),
    Predicted(1, ["blue"], ["blue", "sky line"]),
    Predicted(2, ["a", "bee", "sea"], ["a", "bee", "see"]),
]


def test_text_is_scored_by_length_and_over_all() -> None:
    scored = score(find_task("text-blocks"), [1, 2, 3], PREDICTIONS)
    assert {n: s.value for n, s in scored["word recall"].items()} == {
        1: 100.0,
        2: 33.33,
        3: 66.67,
        "all": 62.5,
        "2+": 50.0,
    }
    assert scored["word precision"][2].value == 100.0
    assert scored["edit distance"][3].value == pytest.approx(100 / 9, abs=0.01)
    assert scored["edit distance"]["all"].samples == 3
    assert "2+" not in score(find_task("text-blocks"), [1], PREDICTIONS[:1])["word recall"]


def result(task_name: str, lengths: list[int]) -> Result:
    task = find_task(task_name)
    init = "text-blocks-inductive-fast-seed0 sha256:00"
    return Result(
        task=task,
        model="inductive",
        preset="fast",
        config=Config(task_name, "inductive", "fast", 0, Training(1, 1), init),
        changes=(),
        test_data="00",
        parameters=1,
        training_seconds=1.0,
        environment={"machine": "abacus", "threads": 1},
        curve=({"step": 1, "loss": 1.0},),
        **scores_of(Evaluation(score(task, lengths, PREDICTIONS), PREDICTIONS, 1.0)),
    )


def test_all_metrics_stand_beside_the_paper_s() -> None:
    task, found = find_task("icdar-blocks"), result("icdar-blocks", [1, 2, 3])
    table = text_tables(task, "ours", [found])
    for text in ("word F in %", "word precision in %", "word recall in %", "81.65", "95.94", "2+"):
        assert text in table
    heads = [line.split() for line in table.splitlines() if line.startswith("   ")]
    assert heads[0] == ["1", "2", "3", "4", "5", "2+", "all"]
    page = results_page([found], {})
    assert page.count("| inductive |") == 3
    assert "Word F in % by number of lines" in page


def test_results_are_read_back_as_they_were_written() -> None:
    for name in ("text-blocks", "icdar-blocks"):
        written = result(name, [1, 2, 3])
        stored = json.loads(json.dumps(written.to_json()))
        again = result_from_json(stored, Path("result.json"))
        assert again.to_json() == written.to_json() and again.config == written.config


@pytest.mark.parametrize("name", ["text-blocks", "icdar-blocks"])
def test_the_paper_s_tables_are_whole(name: str) -> None:
    task = find_task(name)
    assert paper_rows(task, LINE_COUNT) == [], "which the paper does not state"
    for metric in [metric for metric in task.metrics if metric != LINE_COUNT]:
        first, second = paper_rows(task, metric)
        assert len(second.figures) in (10, 6) and len(first.figures) in (4, 6)
    if name == "icdar-blocks":  # F follows from the other two
        f, p, r = (paper_rows(task, metric)[1].figures for metric in task.metrics)
        for n in p:
            assert f[n] == pytest.approx(2 * p[n] * r[n] / (p[n] + r[n]), abs=0.02)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory):
    """Four small synthetic blocks."""
    path = tmp_path_factory.mktemp("text") / "text-blocks-train.h5"
    textblocks_gen.generate(TextRecipe((2, 3), 4, height=160, width=256), path, workers=1)
    task = find_task("text-blocks")
    return task, open_dataset(path)


def test_blocks_become_batches(text) -> None:
    task, dataset = text
    samples = [dataset[k] for k in range(4)]
    rngs = [np.random.default_rng(k) for k in range(4)]
    batch = make_batch(task, samples, rngs, words=True)
    assert batch.images.shape == (4, 3, 160, 256) and batch.lengths.tolist() == [2, 3, 2, 3]
    assert batch.texts == [[t.decode() for t in s["line_text"]] for s in samples]
    for k, sample in enumerate(samples):
        assert " ".join(batch.word_texts[k]) == " ".join(batch.texts[k])
        np.testing.assert_array_equal(
            batch.word_quads[k, : len(batch.word_texts[k])], sample["word_quad"]
        )
    assert make_batch(task, samples, rngs).word_texts is None


def test_the_alphabet_has_all_that_is_written() -> None:
    task = find_task("text-blocks")
    stream = textblocks_gen.stream(TextRecipe((5,), 1))
    seen = Counter("".join(t.decode() for k in range(20) for t in stream[k]["line_text"]))
    assert set(seen) <= set(LETTERS) <= set(task.alphabet) and len(task.alphabet) == 95
    assert spell("Abfahrt: 12½ Uhr", task.alphabet) == "Abfahrt: 12 Uhr"
    assert spell("Abfahrt: 12½ Uhr", LETTERS) == "Abfahrt Uhr"
    assert spell("& 24", LETTERS) == ""


def test_what_is_tested_on_is_drawn_otherwise(tmp_path: Path) -> None:
    task = find_task("text-blocks")
    made = [DataFolder(tmp_path).open(task, Split(split, (1,), 1)) for split in ("train", "test")]
    assert [m.recipe["split"] for m in made] == ["train", "test"]
    assert [m.recipe["seed"] for m in made] == [0, 1]
    assert made[0].recipe["backgrounds"] != made[1].recipe["backgrounds"]


def test_step_maps_are_those_of_the_generator(text) -> None:
    for sample in text[1]:
        np.testing.assert_array_equal(step_map(sample["line_quad"], (160, 256)), sample["steps"])


@given(st.integers(0, 10**6))
def test_a_block_is_laid_where_its_quads_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = np.zeros((90, 150, 3), np.uint8)
    image[20:50, 30:120] = 255
    quads = np.array([[[30.0, 20], [120, 20], [120, 50], [30, 50]]])
    warp = np.eye(3) + rng.normal(0, 0.05, (3, 3)) * [[1, 1, 0], [1, 1, 0], [0.01, 0.01, 0]]
    pixels, moved = warp_onto_canvas(image, quads, rng.uniform(0.5, 4), warp, rng.uniform(-1, 1, 2))
    assert pixels.shape == (*SIZE, 3)
    assert moved.min() >= 0 and (moved <= SIZE[::-1]).all()
    inside = step_map(moved, SIZE) == 1
    off = (pixels[..., 0] > 127) != inside
    around = np.linalg.norm(moved[0] - np.roll(moved[0], 1, 0), axis=1).sum()
    assert off.sum() <= 0.6 * around  # less than a pixel along the edge


def test_points_go_through_a_homography() -> None:
    matrix = np.array([[2.0, 0, 1], [0, 2, 0], [0, 0, 2]])
    assert apply_homography(matrix, np.array([[3.0, 4.0]])).tolist() == [[3.5, 4.0]]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of data with tiny scenes of ICDAR in it."""
    data = tmp_path_factory.mktemp("icdar")
    for split in ("train", "test"):
        make_tree(data / "icdar2013", split, scenes=9)
    return data


def test_icdar_blocks_are_cut_and_laid_on_the_canvas(scenes: Path) -> None:
    task = find_task("icdar-blocks")
    dataset = DataFolder(scenes).open(task, task.train)
    samples = [dataset[k] for k in range(len(dataset))]
    rngs = [np.random.default_rng(k) for k in range(len(samples))]
    batch = make_batch(task, samples, rngs)
    assert batch.images.shape == (len(samples), 3, *SIZE)
    assert all(set(line) <= set(task.alphabet) for lines in batch.texts for line in lines)
    changed = make_batch(task, samples, rngs, dataset)
    for one in (batch, changed):
        for k, sample in enumerate(samples):
            lines = one.steps[k].unique().tolist()
            assert lines == list(range(sample.length + 1))
    assert not torch.equal(batch.images, changed.images)
    kept, held = split_validation(task, dataset)
    here, there = (set(map(bytes, part.column("source_image"))) for part in (kept, held))
    assert here and there and not here & there


def test_colours_lie_where_the_boxes_say(scenes: Path) -> None:
    """Every word of the tiny scenes is a rectangle of a colour of its own."""
    dataset = DataFolder(scenes).open(find_task("icdar-blocks"), find_task("icdar-blocks").test)
    for sample in dataset:
        laid = preprocess(sample, None)
        x, y = sample["word_box"][0].reshape(2, 2).mean(0)
        colour = sample.image[int(y), int(x)].astype(int)
        line = laid["steps"] == 1 + int(sample["word_line"][0])
        near = np.abs(laid.image.astype(int) - colour).max(-1) < 12
        assert (near & line).sum() > 0.2 * line.sum()


def test_missing_scenes_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IVL_DATA", raising=False)
    monkeypatch.delenv("ICDAR_ROOT", raising=False)
    with pytest.raises(UserError, match="ICDAR_ROOT"):
        find_scenes(tmp_path)
    make_tree(tmp_path / "elsewhere", scenes=1)
    monkeypatch.setenv("ICDAR_ROOT", str(tmp_path / "elsewhere"))
    assert find_scenes(tmp_path) == tmp_path / "elsewhere"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="set IVL_DATA to a folder with icdar13/ in it")
def test_lines_of_real_blocks_are_high_enough_to_be_read(tmp_path: Path) -> None:
    task = find_task("icdar-blocks")
    heights = []
    for sample in DataFolder(tmp_path).open(task, task.train):
        quads = preprocess(sample, None)["line_quad"]
        heights += (quads[:, 3, 1] - quads[:, 0, 1]).tolist()
    low, middle, high = np.percentile(heights, [10, 50, 90])
    assert low > 20 and 40 < middle < 65 and high < 130
