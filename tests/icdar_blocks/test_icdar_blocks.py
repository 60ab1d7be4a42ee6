"""Cutting blocks: on scenes whose words are coloured rectangles, and on the real ones."""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from commands import ROOT, assert_one_line
from icdar_blocks import LITERAL, PUBLISHED, generate, group_split, plan_dataset, search
from icdar_blocks.search import count_readings, readings
from icdar_tree import make_tree, pack
from ivl_shards import Dataset, Sample, UserError, open_dataset

REAL = Path(os.environ.get("IVL_DATA", "")) / "icdar13"
DOCS = ROOT / "docs" / "ICDAR.md"
real = pytest.mark.skipif(
    "IVL_DATA" not in os.environ or not REAL.is_dir(),
    reason="set IVL_DATA to a folder with icdar13/ in it",
)


def make(
    root: Path, out: Path, split: str = "test", rule=PUBLISHED, workers=1, shard_size=None, **knobs
) -> Dataset:
    plan = plan_dataset(group_split(root, split, rule), **knobs)
    generate(plan, out, workers=workers, shard_size=shard_size)
    return open_dataset(out)


def painted_words(sample: Sample, painted: dict) -> Iterator[tuple[np.ndarray, tuple]]:
    """The middle pixels of each word's box, and the colour they were painted in."""
    words = {word.text: word for word in painted[sample["source_image"].item().decode()]}
    for (x0, y0, x1, y1), text in zip(sample["word_box"], sample["word_text"], strict=True):
        inset_x, inset_y = (x1 - x0) // 4 + 1, (y1 - y0) // 4 + 1
        inner = sample.image[y0 + inset_y : y1 - inset_y, x0 + inset_x : x1 - inset_x]
        yield inner.reshape(-1, 3), words[text.decode()].colour


@pytest.mark.parametrize(
    "knobs",
    [{}, {"longest": 90}, {"canvas": (128, 160)}, {"canvas": (400, 900)}, {"margin": 20.0}],
)
def test_boxes_lie_on_their_words(tmp_path, knobs) -> None:
    painted = make_tree(tmp_path / "root")
    dataset = make(tmp_path / "root", tmp_path / "out.h5", **knobs)
    assert len(dataset) == 24
    for sample in dataset:
        height, width = sample["image_size"]
        assert sample.image.shape == (height, width, 3)
        if "canvas" in knobs:
            assert (height, width) == knobs["canvas"]
        assert max(height, width) <= max(knobs.get("longest", 1024), *knobs.get("canvas", (0,)))
        assert (sample["word_box"] >= 0).all()
        assert (sample["word_box"][:, 2:] <= (width, height)).all()
        for pixels, colour in painted_words(sample, painted):
            assert np.abs(pixels.astype(int) - colour).mean() < 8


def test_lines_words_and_steps_agree(tmp_path) -> None:
    make_tree(tmp_path / "root", "train")
    for sample in make(tmp_path / "root", tmp_path / "out.h5", "train"):
        assert sorted(set(sample["word_line"].tolist())) == list(range(sample.length))
        for k in range(sample.length):
            here = sample["word_line"] == k
            boxes = sample["word_box"][here]
            x0, y0, x1, y1 = sample["line_box"][k]
            assert (boxes[:, :2].min(0) == (x0, y0)).all() and (
                boxes[:, 2:].max(0) == (x1, y1)
            ).all()
            assert b" ".join(sample["word_text"][here]) == sample["line_text"][k]
            assert sample.memory(k + 1)[y0:y1, x0:x1].all()
        assert sample.memory(sample.length).sum() == (sample["steps"] > 0).sum()
        assert sample["counted_lines"] == sample.length


def test_the_window_says_where_the_block_was(tmp_path) -> None:
    painted = make_tree(tmp_path / "root")
    for sample in make(tmp_path / "root", tmp_path / "out.h5", canvas=(100, 300)):
        words = {word.text: word.box for word in painted[sample["source_image"].item().decode()]}
        corner, scale = sample["window"][:2], sample["scale"]
        for box, text in zip(sample["word_box"], sample["word_text"], strict=True):
            there = np.reshape(words[text.decode()], (2, 2))
            here = (there - corner) * scale + sample["offset"]
            assert np.abs(here - box.reshape(2, 2)).max() <= 1
        inner = (sample["window"][2:] - corner) * scale
        assert np.abs(2 * sample["offset"] + inner - (300, 100)).max() <= 1.5  # in the middle


def test_the_content_depends_on_nothing_but_the_data(tmp_path) -> None:
    make_tree(tmp_path / "root", scenes=20)
    contents = set()
    for k, (workers, shard_size) in enumerate([(1, None), (2, 9), (1, 5)]):
        dataset = make(
            tmp_path / "root", tmp_path / f"{k}.h5", workers=workers, shard_size=shard_size
        )
        contents.add((dataset.attributes["content_sha256"], dataset.attributes["recipe"]))
    (tmp_path / "root").rename(tmp_path / "elsewhere")
    pack(tmp_path / "elsewhere")
    packed = make(tmp_path / "elsewhere", tmp_path / "packed.h5", workers=2, shard_size=9)
    contents.add((packed.attributes["content_sha256"], packed.attributes["recipe"]))
    assert len(contents) == 1
    assert str(tmp_path) not in packed.attributes["recipe"]


def test_another_picture_or_word_is_another_recipe(tmp_path) -> None:
    make_tree(tmp_path, scenes=3)
    before = plan_dataset(group_split(tmp_path, "test")).recipe
    image = tmp_path / "Challenge2_Test_Task12_Images" / "img_2.jpg"
    image.write_bytes(image.read_bytes() + b"\0")
    after = plan_dataset(group_split(tmp_path, "test")).recipe
    assert before.fingerprint != after.fingerprint


def test_missing_pictures_are_counted_listed_and_left_out(tmp_path, run) -> None:
    make_tree(tmp_path / "root", missing=(2, 11))
    result = run("icdar-blocks", "--root", "root", "out.h5")
    assert result.returncode == 0, result.stderr
    assert "2 scenes have no picture; their 4 blocks" in result.stdout
    assert "img_2, img_11" in result.stdout
    dataset = open_dataset(tmp_path / "out.h5")
    assert len(dataset) == 20 and dataset.recipe["missing"] == ["img_2", "img_11"]
    assert b"img_2.jpg" not in dataset.column("source_image")


def test_pictures_without_ground_truth_are_listed(tmp_path, run) -> None:
    make_tree(tmp_path / "root", scenes=3)
    (tmp_path / "root" / "Challenge2_Test_Task1_GT" / "gt_img_2.txt").unlink()
    result = run("icdar-blocks", "--root", "root", "out.h5")
    assert "1 pictures have no ground truth: img_2" in result.stdout
    assert len(open_dataset(tmp_path / "out.h5")) == 4


def test_without_any_picture_there_are_still_numbers_but_no_dataset(tmp_path, run) -> None:
    make_tree(tmp_path / "root", scenes=3, missing=(1, 2, 3))
    result = run("icdar-blocks", "--root", "root")
    assert "3 scenes have no picture; their 6 blocks" in result.stdout
    assert_one_line(run("icdar-blocks", "--root", "root", "out.h5"), 2, "none of the pictures")


def test_dense_memory_is_what_the_steps_say(tmp_path) -> None:
    make_tree(tmp_path, scenes=3)
    for sample in make(tmp_path, tmp_path / "out.h5", dense_memory=True):
        height, width = sample["image_size"]
        for t in sample.times:
            assert (sample["memory"][t, :height, :width] == sample.memory(t)).all()


def test_words_that_do_not_count_are_kept_and_marked(tmp_path) -> None:
    make_tree(tmp_path, scenes=1)
    truth = tmp_path / "Challenge2_Test_Task1_GT" / "gt_img_1.txt"
    truth.write_text(
        '10, 10, 90, 40, "Mind"\n100, 10, 130, 40, "a"\n10, 50, 90, 80, "24"\n'
        '400, 300, 430, 330, "&"\n'
    )
    (sample,) = make(tmp_path, tmp_path / "out.h5")
    assert sample["line_text"].tolist() == [b"Mind a", b"24"]
    assert sample["word_counted"].tolist() == [1, 0, 0]
    assert (sample.length, int(sample["counted_lines"])) == (2, 1)


# --- the command line --------------------------------------------------------------------


def test_without_a_dataset_only_the_table_is_printed(tmp_path, run) -> None:
    make_tree(tmp_path / "root")
    result = run("icdar-blocks", "--root", "root", "--rule", "literal")
    assert result.returncode == 0 and "rule literal, split test: 12 scenes" in result.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "root"]


def test_any_boxes_are_grouped_as_json(tmp_path, run) -> None:
    (tmp_path / "boxes.txt").write_text("60,0,90,20,gap\n0,1,50,21,Mind\n0 30 80 50\n")
    result = run("icdar-blocks", "--words", "boxes.txt", "--group")
    (block,) = json.loads(result.stdout)["blocks"]
    assert [line["text"] for line in block["lines"]] == ["Mind gap", ""]
    assert block["lines"][0]["words"][0] == {"box": [0, 1, 50, 21], "text": "Mind"}


def test_whole_scenes_are_grouped_as_json(tmp_path, run) -> None:
    make_tree(tmp_path / "root", scenes=3, missing=(1, 2, 3))
    scenes = json.loads(run("icdar-blocks", "--root", "root", "--group").stdout)
    assert list(scenes) == ["img_1", "img_2", "img_3"]
    assert [len(block["lines"]) for block in scenes["img_2"]["blocks"]] == [3, 1]


def test_sheet_and_page_are_written(tmp_path, run) -> None:
    make_tree(tmp_path / "root", missing=(2,))
    result = run("icdar-blocks", "--root", "root", "out.h5", "--sheet", "s.png", "--page", "p.html")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "s.png").stat().st_size > 1000
    page = (tmp_path / "p.html").read_text()
    assert '"name": "img_12"' in page and "http" not in page.replace("http://www.w3.org/", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--root or --words"]),
        (["--root", "nowhere"], ["nowhere: no such folder"]),
        (["--root", "root", "--split", "val"], ["val"]),
        (["--root", "root", "--rule", "best"], ["best"]),
        (["--root", "root", "--choice", "growth=0", "out.h5"], ["growth"]),
        (["--root", "root", "out.txt"], ["must end in .h5"]),
        (["--root", "root", "--canvas", "x1", "out.h5"], ["--canvas x1", "448x320"]),
        (["--root", "root", "--canvas", "1x1", "out.h5"], ["--canvas 1x1: must be between 8"]),
        (["--root", "root", "--margin", "nan", "out.h5"], ["margin"]),
        (["--root", "root", "--sheet", "s.png"], ["give OUT"]),
        (["--root", "root", "--page", "no/p.html", "--quiet"], ["no/p.html: cannot be written"]),
        (["--words", "boxes.txt", "--group"], ["boxes.txt: cannot be read"]),
        (["--words", "bad.txt", "--group"], ["bad.txt, line 2: "]),
        (["--words", "bad.txt"], ["--group"]),
    ],
)
def test_what_a_user_can_put_right_ends_in_one_line(tmp_path, run, arguments, words) -> None:
    make_tree(tmp_path / "root", scenes=2)
    (tmp_path / "bad.txt").write_text("1,2,3,4\noops\n")
    assert_one_line(run("icdar-blocks", *arguments), 2, *words)


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"noise", lambda data: b""]
)
def test_a_damaged_picture_is_named_and_nothing_is_left(tmp_path, run, damage) -> None:
    make_tree(tmp_path / "root", scenes=2)
    image = tmp_path / "root" / "Challenge2_Test_Task12_Images" / "img_2.jpg"
    image.write_bytes(damage(image.read_bytes()))
    result = run("icdar-blocks", "--root", "root", "out.h5")
    assert_one_line(result, 2, "img_2.jpg: not a readable picture")
    assert list(tmp_path.iterdir()) == [tmp_path / "root"]


def test_a_word_outside_its_picture_is_named(tmp_path) -> None:
    make_tree(tmp_path, scenes=2)
    truth = tmp_path / "Challenge2_Test_Task1_GT" / "gt_img_2.txt"
    truth.write_text('900, 10, 990, 40, "outside"\n')
    with pytest.raises(UserError, match=r"gt_img_2\.txt: the word 'outside' .* 640×480"):
        plan_dataset(group_split(tmp_path, "test"))


# --- the real data -----------------------------------------------------------------------


@real
def test_the_tables_of_both_rules_are_those_in_the_docs() -> None:
    begun = time.monotonic()
    published = group_split(REAL, "test", PUBLISHED)
    assert time.monotonic() - begun < 2
    assert published.table.distance == (19, 92)
    assert published.table.blocks == {1: 169, 2: 79, 3: 34, 4: 15, 5: 8, 6: 5}
    assert group_split(REAL, "test", LITERAL).table.distance == (494, 1040)
    train = group_split(REAL, "train", PUBLISHED).table
    assert train.blocks == {1: 161, 2: 55, 3: 37, 4: 9, 5: 3, 6: 2}


@real
def test_no_other_reading_is_closer_to_the_paper() -> None:
    split = group_split(REAL, "test").split
    tables = count_readings(split, readings())
    distances = {rule: table.distance for rule, table in tables.items()}
    best = distances.pop(PUBLISHED)
    assert all(best[0] < blocks and best[1] < words for blocks, words in distances.values())


@real
@pytest.mark.slow
def test_the_real_blocks_are_cut_and_sound(tmp_path, run) -> None:
    result = run("icdar-blocks", "--root", REAL, "--split", "test", "out.h5")
    assert result.returncode == 0, result.stderr
    assert "differs from the paper's by 19 blocks and 92 words" in result.stdout
    assert "2 scenes have no picture; their 6 blocks" in result.stdout
    assert "img_17, img_27" in result.stdout
    assert run("ivl-shards", "verify", "out.h5").returncode == 0
    dataset = open_dataset(tmp_path / "out.h5")
    assert len(dataset) == 310 - 6
    first = dataset[0]
    assert first["source_image"].item() == b"img_1.jpg"
    assert first["line_text"].tolist() == [
        b"Tiredness",
        b"kills",
        b"A short break",
        b"could save",
        b"your life",
    ]


@real
def test_the_docs_show_what_the_search_prints() -> None:
    shown = CliRunner().invoke(search.cli, ["--root", str(REAL), "--top", "8"]).output
    assert shown.rstrip() in DOCS.read_text("utf-8")


def test_the_docs_list_the_fields_that_are_stored(tmp_path) -> None:
    make_tree(tmp_path, scenes=1)
    dataset = make(tmp_path, tmp_path / "out.h5")
    text = DOCS.read_text("utf-8")
    documented = set(re.findall(r"^\| `(\w+)` \| (?:u?int|float|text|JPEG)", text, re.MULTILINE))
    assert documented == {field.name for field in dataset.schema} - {"digest"}
