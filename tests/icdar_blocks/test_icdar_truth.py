"""Reading ICDAR's ground truth: both dialects as they come, and any damage by file and line."""

import re
import zipfile

import numpy as np
import pytest

from icdar_blocks.archive import Archive
from icdar_blocks.scenes import read_split
from icdar_blocks.truth import parse_boxes, parse_truth
from icdar_tree import make_tree, pack
from ivl_shards import UserError

TEST = b'38, 43, 920, 215, "Tiredness"\n275, 264, 665, 450, "kills"\n0, 699, 77, 830, "A"\n'
TRAIN = b'158 128 411 181 "Footpath"\n443 128 501 169 "To"\n64 200 363 243 "Colchester"\n'


def texts(data: bytes) -> list[str]:
    return [word.text for word in parse_truth(data, "gt.txt")]


@pytest.mark.parametrize("data", [TEST, TRAIN])
def test_byte_order_mark_line_ends_and_empty_lines_change_nothing(data: bytes) -> None:
    plain = parse_truth(data, "gt.txt")
    assert len(plain) == 3
    for other in (
        b"\xef\xbb\xbf" + data,
        data.replace(b"\n", b"\r\n"),
        data.replace(b"\n", b"\r"),
        data.rstrip(),
        b"\n \t\n" + data + b"\r\n\r\n",
        data.replace(b" ", b"\t"),
        data.replace(b", ", b","),
    ):
        assert parse_truth(other, "gt.txt") == plain


def test_both_dialects_give_the_same_words() -> None:
    assert parse_truth(TEST.replace(b", ", b" "), "gt.txt") == parse_truth(TEST, "gt.txt")
    first = parse_truth(TRAIN, "gt.txt")[0]
    assert (first.box, first.text) == ((158, 128, 411, 181), "Footpath")


@pytest.mark.parametrize(
    "word", ["4,000", "XML,", 'say "yes"', '"quoted"', '"', "a, b", "1 2 3 4", "£5", "café", "字"]
)
def test_words_may_hold_commas_quotes_spaces_and_any_script(word: str) -> None:
    assert texts(f'1, 2, 3, 4, "{word}"'.encode()) == [word]
    assert texts(f'1 2 3 4 "{word}"\r\n'.encode()) == [word]


def test_an_empty_file_is_a_scene_without_text() -> None:
    assert parse_truth(b"", "gt.txt") == parse_truth(b"\xef\xbb\xbf\r\n", "gt.txt") == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"hello", "not of the form"),
        (b"1, 2, 3", "not of the form"),
        (b'1, 2, x, 4, "a"', "not of the form"),
        (b'1;2;3;4;"a"', "not of the form"),
        (b"1, 2, 3, 4", "not in quotes"),
        (b'1, 2, 3, 4, "a', "not in quotes"),
        (b'1, 2, 3, 4, ""', "empty"),
        (b'3, 2, 1, 4, "a"', "empty"),
        (b'1, 2, 3, 2, "a"', "empty"),
        (b'1, 2, 3, 9999999, "a"', "further than"),
        (b'1, 2, 3, 4, "caf\xe9"', "not UTF-8"),
        (b'1, 2, 3, 4, "a\x00b"', "control characters"),
        (b'1, 2, 3, 4, "a\x1bb"', "control characters"),
    ],
)
def test_a_bad_line_is_named(line: bytes, complaint: str) -> None:
    with pytest.raises(UserError, match=rf"^gt\.txt, line 4: .*{complaint}"):
        parse_truth(TEST + line, "gt.txt")


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, cut out, put in, doubled, or everything noise."""
    kind, at = rng.integers(6), int(rng.integers(len(data)))
    noise = rng.integers(256, size=int(rng.integers(1, 40)), dtype=np.uint8).tobytes()
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + noise + data[at:]
    if kind == 2:
        return data[:at] + data[at + len(noise) :]
    if kind == 3:
        return data[:at] + data[at : at + 9] * 2 + data[at + 4 :]
    if kind == 4:
        return noise * 20
    changed = bytearray(data)
    for i in rng.integers(len(data), size=5):
        changed[i] = rng.choice(list(b'0123456789,,.."" -+eE\r\n\t\x00\xff'))
    return bytes(changed)


def test_ten_thousand_damaged_files_are_read_or_named_by_file_and_line() -> None:
    rng = np.random.default_rng(1)
    refused = 0
    for k in range(10_000):
        parse = (parse_truth, parse_boxes)[k // 2 % 2]
        try:
            words = parse(damage((TEST, TRAIN)[k % 2], rng), "gt_img_7.txt")
        except UserError as error:
            assert re.fullmatch(r"gt_img_7\.txt, line \d+: .+", str(error)), str(error)
            assert str(error).isprintable()
            refused += 1
        else:
            assert all(w.x0 < w.x1 and w.y0 < w.y1 and w.text.isprintable() for w in words)
    assert 3_000 < refused < 9_900  # the test does damage, and not all damage is fatal


def test_any_boxes_may_lack_quotes_or_text_but_not_be_quads() -> None:
    words = parse_boxes(b'1,2,3.5,4,two words\n5 6 7 8\n1,2,3,4,"x"', "boxes.txt")
    assert [w.text for w in words] == ["two words", "", "x"]
    assert words[0].x1 == 3.5
    with pytest.raises(UserError, match="line 1: eight coordinates"):
        parse_boxes(b"377,117,463,130,465,130,378,130,Genaxis", "boxes.txt")


# --- whole splits ------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["test", "train"])
@pytest.mark.parametrize("inside", ["", "Challenge2/"])
def test_zip_files_read_as_folders_do(tmp_path, split: str, inside: str) -> None:
    make_tree(tmp_path, split)
    unpacked = read_split(tmp_path, split)
    pack(tmp_path, inside)
    packed = read_split(tmp_path, split)
    assert [(s.name, s.words, s.image) for s in packed.scenes] == [
        (s.name, s.words, s.image) for s in unpacked.scenes
    ]
    assert len(packed.scenes) == 12 and not packed.missing


def test_scenes_come_in_the_order_of_their_numbers(tmp_path) -> None:
    make_tree(tmp_path, "train", missing=(2, 11))
    split = read_split(tmp_path, "train")
    assert [scene.name for scene in split.scenes] == [str(n) for n in range(1, 13)]
    assert split.missing == ["2", "11"]


def test_what_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        read_split(tmp_path / "nowhere", "test")
    with pytest.raises(UserError, match=r"Challenge2_Test_Task1_GT\.zip"):
        read_split(tmp_path, "test")
    (tmp_path / "Challenge2_Test_Task1_GT").mkdir()
    with pytest.raises(UserError, match="no ground truth"):
        read_split(tmp_path, "test")
    with pytest.raises(UserError, match="train and test"):
        read_split(tmp_path, "val")


def test_a_damaged_file_of_a_split_is_named_with_its_folder(tmp_path) -> None:
    make_tree(tmp_path)
    bad = tmp_path / "Challenge2_Test_Task1_GT" / "gt_img_3.txt"
    bad.write_bytes(bad.read_bytes() + b"oops\n")
    lines = bad.read_bytes().count(b"\n")
    with pytest.raises(UserError, match=rf"^{bad}, line {lines}: 'oops'"):
        read_split(tmp_path, "test")


def test_damaged_zip_files_end_in_a_complaint(tmp_path) -> None:
    make_tree(tmp_path)
    pack(tmp_path)
    path = tmp_path / "Challenge2_Test_Task1_GT.zip"
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    for _ in range(500):
        path.write_bytes(damage(whole, rng))
        try:
            read_split(tmp_path, "test")
        except UserError as error:
            assert "Challenge2_Test_Task1_GT.zip" in str(error)


def test_what_macos_adds_to_a_zip_file_is_no_ground_truth(
    tmp_path,
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("x/gt_img_1.txt", TEST)
        packed.writestr("__MACOSX/x/._gt_img_1.txt", b"\x00\x05\x16\x07")
    assert list(Archive(tmp_path / "a.zip").names) == ["gt_img_1.txt"]
