"""The word-level baseline: words that were found go to the right blocks, and are counted."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import icdar_blocks
from benchmark.baselines import ocr
from benchmark.baselines.association import associate, lines_of, scene_lines, share
from benchmark.baselines.engines import ENGINES, parse_tsv, split_piece
from benchmark.decoding import Decoding
from benchmark.tasks import find_task
from conftest import assert_one_line
from icdar_blocks import Word
from icdar_tree import make_tree
from ivl_shards import UserError, open_dataset

TASK = find_task("icdar-blocks")
boxes = st.tuples(*[st.integers(0, 50)] * 2, *[st.integers(51, 99)] * 2)


@given(st.lists(boxes, max_size=6), st.lists(st.lists(boxes, max_size=3), max_size=4))
def test_a_word_goes_to_one_block_at_most_and_to_the_best(words, blocks) -> None:
    found = associate([Word(*box, str(k)) for k, box in enumerate(words)], blocks)
    assert len(found) == len(blocks)
    places = {word.text: k for k, block in enumerate(found) for word in block}
    assert len(places) == sum(map(len, found))
    for k, box in enumerate(words):
        shares = [share(box, lines) for lines in blocks]
        assert all(0 <= value <= 1 for value in shares)
        if str(k) in places:
            assert shares[places[str(k)]] == max(shares)


@given(st.text("ab ", max_size=20))
def test_a_piece_is_split_at_its_spaces(text: str) -> None:
    words = split_piece([[10, 0], [50, 2], [50, 12], [10, 10]], text)
    assert [word.text for word in words] == text.split()
    assert all(10 <= a.x0 < a.x1 <= 50.001 for a in words)
    assert all(a.x1 < b.x0 for a, b in zip(words, words[1:], strict=False))


def test_the_table_of_tesseract() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf"
    rows = ["1\t1\t0\t0\t0\t0\t0\t0\t99\t50\t-1\t", '5\t1\t1\t1\t1\t1\t10\t20\t30\t9\t91.5\t"Mind']
    assert parse_tsv("\n".join([f"{head}\ttext", *rows])) == [Word(10, 20, 40, 29, '"Mind')]


def test_the_nearest_word_of_a_lexicon() -> None:
    lexicon = ["tiredness", "kills", "cat", "to"]
    words = [Word(0, 0, 9, 9, t) for t in ("T1REDNESS", "kill", "car", "tx", "2013", "to", "!")]
    assert [w.text for w in ocr.correct(words, lexicon)] == ["tiredness", "kills", "cat", "to"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Scenes, and the blocks that are cut from them."""
    make_tree(tmp_path / "data" / "icdar2013", scenes=6)
    grouped = icdar_blocks.group_split(tmp_path / "data" / "icdar2013", "test")
    plan = icdar_blocks.plan_dataset(grouped)
    icdar_blocks.generate(plan, tmp_path / "data" / "icdar-blocks-test.h5", workers=1)
    return tmp_path / "data"


def true_words(data: Path):
    """An engine that knows the truth of the scenes."""
    grouped = icdar_blocks.group_split(data / "icdar2013", "test")

    # By content: an engine is given pictures under numbers, not under names from a file.
    images = {path.name: path.read_bytes() for path in (data / "icdar2013").rglob("*.jpg")}
    words = {images[scene.image]: list(scene.words) for scene in grouped.split.scenes}

    def engine(folder: Path, found) -> None:
        for path in folder.iterdir():
            found(path.name, words[path.read_bytes()])

    return engine


def test_whoever_reads_all_words_of_the_scenes_is_right(data: Path, monkeypatch) -> None:
    samples = list(open_dataset(data / "icdar-blocks-test.h5"))
    for sample in samples:
        assert len(scene_lines(sample)) == sample.length
    monkeypatch.setitem(ENGINES, "truth", true_words(data))
    result = ocr.evaluate_ocr("truth", "scenes", TASK, data, Decoding(), quiet=True)
    metrics = result["evaluation"]["metrics"]
    assert metrics["word recall"]["all"]["value"] >= 99
    assert metrics["word precision"]["all"]["value"] >= 99
    assert json.dumps(result)
    with pytest.raises(UserError, match="icdar-blocks"):
        ocr.evaluate_ocr("truth", "scenes", find_task("text-blocks"), data, Decoding(), True)
    with pytest.raises(UserError, match="--beam"):
        ocr.evaluate_ocr("truth", "scenes", TASK, data, Decoding(beam=3), True)


def test_blocks_are_handed_over_as_pictures(data: Path, monkeypatch) -> None:
    seen = []

    def engine(folder: Path, found) -> None:
        for path in sorted(folder.iterdir()):
            seen.append(path.read_bytes()[:4])
            found(path.name, [Word(0, 0, 9, 9, "the")])

    monkeypatch.setitem(ENGINES, "the", engine)
    result = ocr.evaluate_ocr("the", "blocks", TASK, data, Decoding(), quiet=True)
    assert set(seen) == {b"\x89PNG"}
    assert result["config"]["preset"] == "on blocks"


def test_words_become_lines() -> None:
    assert lines_of([]) == []
    assert lines_of([Word(50, 1, 80, 11, "gap"), Word(0, 0, 40, 10, "the")]) == ["the gap"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["eval"], "give RUN|WEIGHTS or --model"),
        (["eval", "weights", "--model", "ocr"], "give either"),
        (["eval", "--model", "ocr", "--task", "toy-shapes"], "is run on icdar-blocks"),
        (["eval", "--model", "ocr", "--data", "empty"], "ICDAR_ROOT"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path: Path, arguments: list[str], says: str) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_line(run("ivl-bench", *arguments, ICDAR_ROOT="", IVL_DATA=""), 2, says)


@pytest.mark.slow
def test_rapidocr_reads_real_scenes(tmp_path: Path) -> None:
    root = Path(os.environ.get("IVL_DATA", "/nonexistent")) / "icdar13"
    if not root.is_dir():
        pytest.skip("IVL_DATA is not set: no photographs to read")
    image = next((root / "Challenge2_Test_Task12_Images").glob("img_1.jpg"))
    (tmp_path / "img_1.jpg").write_bytes(image.read_bytes())
    words: dict[str, list[Word]] = {}
    try:
        ENGINES["ocr"](tmp_path, words.__setitem__)
    except UserError as error:
        pytest.skip(str(error))
    assert "tiredness" in " ".join(word.text.lower() for word in words["img_1.jpg"])
