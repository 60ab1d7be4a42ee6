"""What users bring to the text blocks: fonts, words, photographs; good, bad and broken."""

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from commands import assert_one_line
from fonts import default_faces
from ivl_shards import open_dataset

FEW = ("--lines", "1-2", "--n", 3, "--workers", 1)


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    """A folder with three good fonts."""
    folder = tmp_path / "faces"
    folder.mkdir()
    for face in [f for f in default_faces() if not f.caps_only][:30:10]:
        shutil.copy(face.path, folder)
    return folder


def test_own_fonts_words_and_photographs(run, tmp_path: Path, faces: Path) -> None:
    (tmp_path / "words.txt").write_text("alpha\nbeta\ngamma\n")
    (tmp_path / "photos").mkdir()
    for k in range(3):
        pixels = np.random.default_rng(k).integers(0, 256, (400, 500, 3), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / "photos" / f"{k}.jpg"), pixels)
    result = run(
        "textblocks-gen",
        *FEW,
        "--fonts",
        "faces",
        "--lexicon",
        "words.txt",
        "--backgrounds",
        "photos",
        "out.h5",
    )
    assert result.returncode == 0, result.stderr
    dataset = open_dataset(tmp_path / "out.h5")
    said = {w.lower() for s in dataset for t in s["line_text"] for w in t.decode().split()}
    assert said <= {"alpha", "beta", "gamma"}
    assert run("ivl-shards", "verify", "out.h5").returncode == 0
    # The fingerprints are in the recipe: other words make another dataset.
    (tmp_path / "words.txt").write_text("alpha\nbeta\ngamma\ndelta\n")
    again = run(
        "textblocks-gen",
        *FEW,
        "--fonts",
        "faces",
        "--lexicon",
        "words.txt",
        "--backgrounds",
        "photos",
        "--quiet",
        "out.h5",
    )
    assert_one_line(again, 2, "another dataset")


def test_a_preview_is_drawn_beside_the_dataset(run, tmp_path: Path) -> None:
    for style in ("paper", "scene"):
        result = run(
            "textblocks-gen", *FEW, "--style", style, "--preview", f"{style}.png", f"{style}.h5"
        )
        assert result.returncode == 0, result.stderr
        assert min(cv2.imread(str(tmp_path / f"{style}.png")).shape[:2]) > 300


def test_a_broken_font_among_good_ones(run, tmp_path: Path, faces: Path) -> None:
    (faces / "broken.ttf").write_bytes(b"not a font")
    result = run("textblocks-gen", *FEW, "--fonts", "faces", "out.h5")
    assert result.returncode == 0
    assert "broken.ttf" in result.stderr
    assert result.stderr.count("broken.ttf") == 1
    assert len(open_dataset(tmp_path / "out.h5")) == 6


def test_a_folder_without_usable_fonts(run, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    result = run("textblocks-gen", *FEW, "--quiet", "--fonts", "none", "out.h5")
    assert_one_line(result, 2, "none", "no fonts")
    (tmp_path / "none" / "a.ttf").write_bytes(b"rubbish")
    result = run("textblocks-gen", *FEW, "--quiet", "--fonts", "none", "out.h5")
    assert_one_line(result, 2, "none", "a.ttf")
    result = run("textblocks-gen", *FEW, "--quiet", "--fonts", "nowhere", "out.h5")
    assert_one_line(result, 2, "nowhere")
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize(
    ("content", "word"),
    [(b"", "no words"), (b"\x00\x01\xff\xfe", "words.txt"), (b"caf\xe9\n", "words.txt")],
    ids=["empty", "binary", "latin-1"],
)
def test_a_lexicon_that_is_none(run, tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "words.txt").write_bytes(content)
    result = run("textblocks-gen", *FEW, "--quiet", "--lexicon", "words.txt", "out.h5")
    assert_one_line(result, 2, "words.txt")
    assert word in result.stderr or "words" in result.stderr
    missing = run("textblocks-gen", *FEW, "--quiet", "--lexicon", "none.txt", "out.h5")
    assert_one_line(missing, 2, "none.txt")


def test_words_too_long_for_the_canvas(run, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("short\n" + "long" * 60 + "\n")
    result = run("textblocks-gen", *FEW, "--lexicon", "words.txt", "out.h5")
    assert result.returncode == 0
    assert "1 of 2 words are too long" in result.stderr
    texts = {t for s in open_dataset(tmp_path / "out.h5") for t in s["line_text"]}
    assert {w.lower() for t in texts for w in t.decode().split()} == {"short"}
    (tmp_path / "words.txt").write_text("long" * 60)
    result = run("textblocks-gen", *FEW, "--quiet", "--lexicon", "words.txt", "new.h5")
    assert_one_line(result, 2, "too long", "--size")


def test_a_truncated_photograph(run, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (400, 500, 3), dtype=np.uint8)
    cv2.imwrite(str(tmp_path / "photos" / "good.jpg"), pixels)
    data = (tmp_path / "photos" / "good.jpg").read_bytes()
    (tmp_path / "photos" / "half.jpg").write_bytes(data[: len(data) // 2])
    result = run("textblocks-gen", *FEW, "--backgrounds", "photos", "out.h5")
    assert result.returncode == 0
    assert "half.jpg" in result.stderr
    (tmp_path / "photos" / "good.jpg").unlink()
    result = run("textblocks-gen", *FEW, "--quiet", "--backgrounds", "photos", "new.h5")
    assert_one_line(result, 2, "photos")


def test_letters_beyond_ascii(run, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("Straße\nÉté\nØre\nмир\n", "utf-8")
    result = run(
        "textblocks-gen",
        *FEW,
        "--lexicon",
        "words.txt",
        "--upper-case",
        1,
        "--title-case",
        0,
        "--charset",
        "latin-1,cyrillic",
        "out.h5",
    )
    assert result.returncode == 0, result.stderr
    said = {t for s in open_dataset(tmp_path / "out.h5") for t in s["line_text"]}
    words = {w for t in said for w in t.decode().split()}
    assert words <= {"Straße", "ÉTÉ", "ØRE", "МИР"}


def test_characters_that_no_font_has(run, tmp_path: Path, faces: Path) -> None:
    (tmp_path / "words.txt").write_text("ϡϟ\n", "utf-8")  # numerals that only scholars use
    result = run(
        "textblocks-gen",
        *FEW,
        "--quiet",
        "--lexicon",
        "words.txt",
        "--charset",
        "greek",
        "--fonts",
        "faces",
        "out.h5",
    )
    assert_one_line(result, 2, "lacks", "ϟ")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--size", "huge"), "448x320"),
        (("--size", "20x20"), "between 64 and 4,096"),
        (("--size", "100"), "at least 12 pixels"),
        (("--lines", "0-3"), "--lines 0"),
        (("--lines", "90"), "at least 12 pixels"),
        (("--words", "5", "3"), "--words 5 3: give the smaller number first"),
        (("--words", "1", "30"), "--words 1 30: must be between 1 and 20"),
        (("--shadow", "2"), "--shadow 2.0: must be between 0 and 1"),
        (("--shadow", "nan"), "--shadow nan: must be a finite number"),
        (("--upper-case", "7"), "--upper-case 7.0"),
        (("--upper-case", "0.8", "--title-case", "0.8"), "together more than 1"),
        (("--quality", "5"), "--quality 5"),
        (("--contrast", "200"), "--contrast 200"),
        (("--style", "oil"), "--style"),
        (("--line-height", "0.3", "0.4"), "10 lines do not fit; --line-height 0.0"),
        (("--lines", "1", "--line-height", "0.5", "0.6"), "3 words do not fit"),
        (("--preview", "sheet.txt"), "--preview sheet.txt: name it .png or .jpg"),
        (("--preview", "nowhere/sheet.png"), "nowhere: no such folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_knob(run, tmp_path: Path, options, word: str) -> None:
    result = run("textblocks-gen", "--quiet", "--n", 1, *options, "out.h5")
    assert_one_line(result, 2, word)
    assert list(tmp_path.iterdir()) == []
