"""Screening: only faces that draw what they are asked to, and a reason for each other one."""

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from fontTools.ttLib import TTCollection, TTFont

import fonts
from font_files import ASCII, SOURCES, edited, installed, small_font
from fonts.screening import Screening
from ivl_shards import UserError

CALADEA, INTUITIVE, FREDOKA, ITALIC = SOURCES
MATPLOTLIB = "matplotlib/mpl-data/fonts/ttf"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fonts").mkdir()
    return tmp_path / "fonts"


def reason(screening: Screening, id: str) -> str:
    return next(verdict.reason for verdict in screening.verdicts if verdict.id == id)


def test_good_faces_in_all_formats_and_folders(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "b.ttf").write_bytes(small_font(CALADEA))
    (folder / "a.woff2").write_bytes(small_font(FREDOKA, flavour="woff2"))
    (folder / "below/c.TTF").write_bytes(small_font(INTUITIVE))
    (folder / "readme.txt").write_text("not a font, and no reason to complain")
    faces = fonts.load(folder)
    assert [face.id for face in faces] == ["a.woff2", "b.ttf", "below/c.TTF"]
    for face in faces:
        assert face.covers("The quick brown fox jumps over the lazy dog") and not face.caps_only
    assert faces[1].family == "Caladea" and "Apache" in faces[1].licence


def test_a_collection_gives_each_of_its_faces(folder: Path) -> None:
    collection = TTCollection()
    collection.fonts = [TTFont(installed(CALADEA)), TTFont(installed(ITALIC))]
    collection.save(folder / "both.ttc")
    faces = fonts.load(folder)
    assert [(face.id, face.index) for face in faces] == [("both.ttc#0", 0), ("both.ttc#1", 1)]


def test_broken_files_are_named_and_the_rest_is_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = small_font(CALADEA)
    (folder / "good.ttf").write_bytes(good)
    (folder / "empty.ttf").write_bytes(b"")
    (folder / "text.otf").write_text("<html>404</html>")
    (folder / "half.ttf").write_bytes(good[: len(good) // 2])
    (folder / "noise.ttf").write_bytes(good[:300] + bytes(range(256)) * 40)
    (folder / "half.ttc").write_bytes(b"ttcf\0\1\0\0\0\0\0\3")
    with caplog.at_level(logging.WARNING):
        faces = fonts.load(folder)
    assert [face.id for face in faces] == ["good.ttf"]
    for name in ("empty.ttf", "text.otf", "half.ttf", "noise.ttf", "half.ttc"):
        (line,) = [r.getMessage() for r in caplog.records if name in r.getMessage()]
        assert "skipped: " in line and "\n" not in line


@pytest.mark.parametrize("flavour", [None, "woff", "woff2"])
def test_a_file_with_any_byte_changed_is_judged_and_never_crashes(
    folder: Path, flavour: str | None
) -> None:
    good = small_font(CALADEA, flavour=flavour)
    random = np.random.default_rng(0)
    for number in range(40):
        # The head of the file names its tables: a change there does the most harm.
        end = 400 if number % 2 else len(good)
        content = bytearray(good)
        for place in random.integers(0, end, 3):
            content[place] ^= int(random.integers(1, 256))
        (folder / f"{number}.ttf").write_bytes(content)
    assert len(fonts.screen(folder).verdicts) >= 40


def test_missing_letters(folder: Path) -> None:
    text = ASCII.replace("q", "").replace("Z", "")
    (folder / "gaps.ttf").write_bytes(small_font(CALADEA, text))
    assert reason(fonts.screen(folder), "gaps.ttf") == "lacks Z q"


def test_empty_boxes_and_blanks_never_pass(folder: Path) -> None:
    def box_for_q(font: TTFont) -> None:
        font["glyf"][font.getBestCmap()[ord("q")]] = font["glyf"][".notdef"]

    def blank_for_q(font: TTFont) -> None:
        font["glyf"][font.getBestCmap()[ord("q")]] = font["glyf"]["space"]

    (folder / "box.ttf").write_bytes(edited(CALADEA, box_for_q))
    (folder / "blank.ttf").write_bytes(edited(CALADEA, blank_for_q))
    screening = fonts.screen(folder)
    assert screening.faces == ()
    for name in ("box.ttf", "blank.ttf"):
        assert reason(screening, name) == "draws nothing, or a box, for q"


def test_a_boxed_sign_is_only_left_out_of_the_characters(folder: Path) -> None:
    def box_for_percent(font: TTFont) -> None:
        font["glyf"][font.getBestCmap()[ord("%")]] = font["glyf"][".notdef"]

    (folder / "a.ttf").write_bytes(edited(CALADEA, box_for_percent))
    (face,) = fonts.load(folder)
    assert not face.covers("100 %") and face.covers("100 &")


def test_capitals_alone_are_flagged(folder: Path) -> None:
    def capitals_for_small(font: TTFont) -> None:
        for table in font["cmap"].tables:
            for code in range(ord("a"), ord("z") + 1):
                table.cmap[code] = table.cmap[code - 32]

    (folder / "upper.ttf").write_bytes(small_font(CALADEA, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    (folder / "alike.ttf").write_bytes(edited(FREDOKA, capitals_for_small))
    assert [face.caps_only for face in fonts.load(folder)] == [True, True]


def test_symbols_in_place_of_letters_are_refused(folder: Path) -> None:
    def shuffled(font: TTFont) -> None:
        letters = [*range(65, 91), *range(97, 123)]
        for table in font["cmap"].tables:
            glyphs = [table.cmap[code] for code in letters]
            table.cmap.update(zip(letters, glyphs[7:26] + glyphs[33:] + glyphs, strict=False))

    (folder / "other.ttf").write_bytes(edited(CALADEA, shuffled))
    for name in ("cmsy10.ttf", "cmex10.ttf"):
        shutil.copy(installed(f"{MATPLOTLIB}/{name}"), folder)
    shutil.copy(installed(f"{MATPLOTLIB}/STIXSizOneSymReg.ttf"), folder)
    screening = fonts.screen(folder)
    assert screening.faces == ()
    assert reason(screening, "cmsy10.ttf") == "its letters do not look like letters"
    assert reason(screening, "other.ttf") == "its letters do not look like letters"
    assert reason(screening, "STIXSizOneSymReg.ttf").startswith("lacks A B C")


def test_duplicates_by_content_by_look_and_by_name(folder: Path) -> None:
    (folder / "a.ttf").write_bytes(small_font(CALADEA))
    (folder / "b.ttf").write_bytes(small_font(CALADEA))
    (folder / "c.woff2").write_bytes(small_font(CALADEA, flavour="woff2"))
    (folder / "d.ttf").write_bytes(small_font(ITALIC))
    for suffix in ("otf", "ttf"):  # one face, drawn with two kinds of curves
        name = f"font_source_serif_pro/files/SourceSerifPro-Regular.{suffix}"
        shutil.copy(installed(name), folder / f"e.{suffix}")
    screening = fonts.screen(folder)
    assert [face.id for face in screening.faces] == ["a.ttf", "d.ttf", "e.otf"]
    assert reason(screening, "b.ttf") == reason(screening, "c.woff2") == "looks the same as a.ttf"
    assert reason(screening, "e.ttf") == "looks the same as e.otf"


def test_none_left_is_an_error(folder: Path) -> None:
    with pytest.raises(UserError, match="has no fonts"):
        fonts.load(folder)
    (folder / "bad.ttf").write_bytes(b"bad")
    with pytest.raises(UserError, match=r"none of its 1 fonts can be used; bad.ttf: "):
        fonts.load(folder)
    with pytest.raises(UserError, match="is not a folder"):
        fonts.load(folder / "bad.ttf")


def test_the_cache_changes_nothing(folder: Path, tmp_path: Path) -> None:
    (folder / "a.ttf").write_bytes(small_font(CALADEA))
    (folder / "bad.ttf").write_bytes(b"bad")
    first = fonts.screen(folder)
    assert fonts.screen(folder) == first
    for file in (tmp_path / "cache").rglob("*.json"):
        file.write_text("[{")
    assert fonts.screen(folder) == first


def test_the_fingerprint_does_not_depend_on_the_place(folder: Path, tmp_path: Path) -> None:
    (folder / "a.ttf").write_bytes(small_font(CALADEA))
    (folder / "b.ttf").write_bytes(small_font(FREDOKA))
    shutil.copytree(folder, tmp_path / "elsewhere")
    here, there = fonts.load(folder), fonts.load(tmp_path / "elsewhere")
    assert fonts.fingerprint(here) == fonts.fingerprint(there)
    assert fonts.fingerprint(here) != fonts.fingerprint(here[:1])
