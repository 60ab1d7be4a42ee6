"""Untrusted fonts: what the screening accepts can be drawn, the rest is refused in one line."""

import io
import random
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import brotli
import numpy as np
import pytest
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._g_l_y_f import Glyph, GlyphComponent, GlyphCoordinates

import fonts
from commands import assert_one_line
from font_files import SOURCES, edited, installed, small_font
from fonts.outlines import read_font
from fuzzing import cases, watched
from ivl_shards import UserError
from textblocks_gen import TextRecipe
from textblocks_gen.render import Canvas, render
from textblocks_gen.studio import Inputs, complete, open_studio

LETTERS = [*map(chr, range(65, 91)), *map(chr, range(97, 123))]
OTF = "font_source_serif_pro/files/SourceSerifPro-Regular.otf"


def draw(folder: Path) -> None:
    """Check a folder of fonts, and draw with those that are accepted."""
    screening = fonts.screen(folder)
    assert all("\n" not in verdict.reason for verdict in screening.verdicts)
    if not screening.faces:
        return
    draft = TextRecipe((2,), 4, 0, "test", width=320, height=160, char_quads=True)
    (folder / "words.txt").write_text("alpha\nBETA\n")
    source = Inputs(folder, folder / "words.txt")
    recipe = complete(draft, source)
    studio = open_studio(recipe, source)
    canvas = Canvas(recipe)
    faces = studio.lettering.faces
    for face in range(len(faces)):
        line = faces.line[face]
        assert np.isfinite(line).all() and line[1] - line[0] > 0
    for seed in range(4):
        sample = render(studio, canvas, 2, np.random.default_rng(seed))
        for name in ("line_quad", "line_height", "word_quad", "char_quad", "transform"):
            assert np.isfinite(sample[name]).all(), name
        assert (sample["line_height"] > 0).all()
        assert len(np.unique(sample["steps"])) == 3, "both lines take up pixels"


def glyphs(font: TTFont) -> list[str]:
    cmap = font.getBestCmap()
    return [cmap[ord(letter)] for letter in LETTERS]


def set_units(units: int) -> Callable[[TTFont], None]:
    def edit(font: TTFont) -> None:
        font["head"].unitsPerEm = units

    return edit


def flatten(axis: int) -> Callable[[TTFont], None]:
    """All letters without height, or without width."""

    def edit(font: TTFont) -> None:
        for name in glyphs(font):
            glyph = font["glyf"][name]
            if glyph.numberOfContours > 0:
                points = [(0, y) if axis == 0 else (x, 0) for x, y in glyph.coordinates]
                glyph.coordinates = GlyphCoordinates(points)

    return edit


def set_advances(advance: int) -> Callable[[TTFont], None]:
    def edit(font: TTFont) -> None:
        for name in font["hmtx"].metrics:
            font["hmtx"].metrics[name] = (advance, 0)

    return edit


def scale(factor: float) -> Callable[[TTFont], None]:
    def edit(font: TTFont) -> None:
        for name in glyphs(font):
            glyph = font["glyf"][name]
            if glyph.numberOfContours > 0:
                clipped = np.clip(np.array(glyph.coordinates) * factor, -32000, 32000)
                glyph.coordinates = GlyphCoordinates(clipped.astype(int).tolist())

    return edit


def recurse(font: TTFont) -> None:
    """A glyph that is made of itself."""
    name = glyphs(font)[0]
    component = GlyphComponent()
    component.glyphName, component.x, component.y, component.flags = name, 0, 0, 4
    glyph = Glyph()
    glyph.numberOfContours, glyph.components = -1, [component]
    glyph.xMin, glyph.yMin, glyph.xMax, glyph.yMax = 0, 0, 500, 500
    font["glyf"].glyphs[name] = glyph


def no_outlines(font: TTFont) -> None:
    for name in font.getGlyphOrder():
        font["glyf"][name] = Glyph()


def without(table: str) -> Callable[[TTFont], None]:
    def edit(font: TTFont) -> None:
        del font[table]

    return edit


EDITS: dict[str, Callable[[TTFont], None]] = {
    **{f"{units} units per em": set_units(units) for units in (0, 1, 15, 16, 16384, 65535)},
    "no width": flatten(0),
    "no height": flatten(1),
    **{f"advances of {a}": set_advances(a) for a in (0, 1, 65535)},
    "tiny": scale(0.001),
    "huge": scale(40),
    "made of itself": recurse,
    "no outlines": no_outlines,
    **{f"without {t}": without(t) for t in ("cmap", "name", "post", "hmtx", "OS/2", "GPOS")},
}


def saved(name: str, edit: Callable[[TTFont], None]) -> bytes:
    """A font after an edit that need not make sense."""
    with TTFont(io.BytesIO(small_font(name)), recalcBBoxes=False) as font:
        with suppress(KeyError):
            edit(font)
        file = io.BytesIO()
        font.save(file)
    return file.getvalue()


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Draw once in this process: cases inherit the compiled functions and the backgrounds, so
    that what they are timed for is their font."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "a.ttf").write_bytes(small_font(SOURCES[0]))
    draw(folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fonts.default_faces()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "fonts").mkdir()
    return tmp_path / "fonts"


@pytest.mark.parametrize("name", EDITS)
def test_what_is_accepted_is_drawn(folder: Path, name: str) -> None:
    (folder / "a.ttf").write_bytes(saved(SOURCES[0], EDITS[name]))
    watched(lambda: draw(folder)).check()


REFUSED = (
    "0 units per em",
    "1 units per em",
    "65535 units per em",
    "no width",
    "no height",
    "advances of 0",
    "advances of 65535",
    "tiny",
    "huge",
    "made of itself",
    "no outlines",
    "without cmap",
    "without hmtx",
)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_set_is_refused(folder: Path, name: str) -> None:
    (folder / "a.ttf").write_bytes(saved(SOURCES[0], EDITS[name]))
    (verdict,) = fonts.screen(folder).verdicts
    assert verdict.reason


@pytest.mark.parametrize("flavour", ["woff", "woff2"])
def test_compressed_fonts_are_drawn_like_plain_ones(tmp_path: Path, flavour: str) -> None:
    """HarfBuzz reads neither: it would draw nothing, in lines without height."""
    found = []
    for name, content in (
        ("a", small_font(SOURCES[0])),
        ("b", small_font(SOURCES[0], flavour=flavour)),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"x.{flavour if name == 'b' else 'ttf'}").write_bytes(content)
        watched(lambda name=name: draw(tmp_path / name)).check()
        found.append(fonts.load(tmp_path / name)[0].characters)
    assert found[0] == found[1]


def test_a_font_without_a_space_draws_none(folder: Path) -> None:
    from textblocks_gen.typesetting.typeface import make_typefaces

    def drop_space(font: TTFont) -> None:
        for table in font["cmap"].tables:
            table.cmap.pop(32, None)

    (folder / "a.ttf").write_bytes(edited(SOURCES[0], drop_space))
    made = make_typefaces(fonts.load(folder), " AB", 0.01)
    assert made.glyphs[1] == 0, "not the box for what is missing"
    assert 0 < made.advance[0, 0] < 1


def test_absurd_kerning_is_left_out(folder: Path) -> None:
    from textblocks_gen.typesetting.typeface import make_typefaces

    def kern(font: TTFont) -> None:
        from fontTools.feaLib.builder import addOpenTypeFeaturesFromString

        addOpenTypeFeaturesFromString(font, "feature kern {pos A B -30000; pos A A -100;} kern;")

    (folder / "a.ttf").write_bytes(edited(SOURCES[0], kern))
    made = make_typefaces(fonts.load(folder), " AB", 0.01)
    assert made.kern[0, 1, 2] == 0 and made.kern[0, 1, 1] < 0


def test_a_few_bytes_do_not_unpack_to_gigabytes(tmp_path: Path) -> None:
    good = small_font(SOURCES[0], flavour="woff2")
    from fonts.outlines import woff2_start

    start = woff2_start(good)
    bomb = brotli.compress(bytes(1 << 30), quality=1)
    head = bytearray(good[:start])
    struct.pack_into(">L", head, 20, len(bomb))
    (tmp_path / "bomb.woff2").write_bytes(bytes(head) + bomb)
    table = zlib.compress(bytes(1 << 30), 1)
    entry = struct.pack(">4sLLLL", b"name", 64, len(table), 1 << 30, 0)
    (tmp_path / "bomb.woff").write_bytes(b"wOFF" + bytes(8) + b"\0\1" + bytes(30) + entry + table)
    for name in ("bomb.woff", "bomb.woff2"):
        with pytest.raises(ValueError, match="more than 128 MB"):
            read_font(tmp_path / name)
    outcome = watched(lambda: fonts.screen(tmp_path))
    outcome.check()


def test_many_bad_fonts_are_a_few_lines(run, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(60):
        (tmp_path / f"many/{number}.ttf").write_bytes(b"bad" * number)
    # A collection that claims millions of faces.
    (tmp_path / "many/all.ttc").write_bytes(b"ttcf\0\1\0\0" + b"\x00\x10\x00\x00" + bytes(99))
    (tmp_path / "many/good.ttf").write_bytes(small_font(SOURCES[0]))
    result = run("ivl-fonts", "check", "many")
    lines = result.stdout.splitlines()
    assert result.returncode == 1 and len(lines) <= 25 and result.stderr == ""
    assert any("and 41 more like these" in line for line in lines)
    assert "1 of 62 faces can be used" in lines[-1]
    result = run("textblocks-gen", "--lines", 1, "--n", 1, "--fonts", "many", "out.h5")
    assert result.returncode == 0 and len(result.stderr.splitlines()) <= 23


def test_names_that_cannot_be_stored_are_refused(folder: Path) -> None:
    good = small_font(SOURCES[0])
    (folder / "good.ttf").write_bytes(good)
    (folder / ("long" * 40 + ".ttf")).write_bytes(small_font(SOURCES[1]))
    (folder / "esc\x1b[2J.ttf").write_bytes(small_font(SOURCES[2]))
    Path(str(folder).encode().decode() + "/\udcff.ttf").write_bytes(small_font(SOURCES[3]))
    screening = fonts.screen(folder)
    assert [face.id for face in screening.faces] == ["good.ttf"]
    for verdict in screening.rejected:
        assert verdict.id.isprintable()
        verdict.id.encode()


# --- any bytes --------------------------------------------------------------------------------


@cache
def seeds() -> tuple[bytes, ...]:
    plain = [small_font(name) for name in SOURCES]
    packed = [small_font(SOURCES[k % 4], flavour=f) for k, f in enumerate(("woff", "woff2") * 2)]
    return (*plain, *plain, *packed, installed(OTF).read_bytes())


TABLES = (
    "head",
    "hhea",
    "hmtx",
    "OS/2",
    "glyf",
    "loca",
    "cmap",
    "maxp",
    "name",
    "post",
    "GPOS",
    "kern",
    "CFF ",
    "prep",
    "fpgm",
)
VALUES = (0, 1, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0xFFFFFFFF)


def table_at(data: bytes, tag: str) -> tuple[int, int, int]:
    """Place of the entry of a table in a plain font, and the table's own place and length."""
    count = struct.unpack_from(">H", data, 4)[0]
    for number in range(count):
        place = 12 + 16 * number
        if data[place : place + 4] == tag.encode():
            return place, *struct.unpack_from(">LL", data, place + 8)
    return 0, 0, len(data)


def mutated(number: int) -> bytes:
    """A font that is wrong somewhere."""
    rng = random.Random(number)
    data = bytearray(rng.choice(seeds()))
    kind = rng.randrange(8)
    if kind == 0 and data[:4] == b"\0\1\0\0":  # one of the edits, and perhaps a flipped byte
        data = bytearray(saved(rng.choice(SOURCES), rng.choice(list(EDITS.values()))))
        if rng.random() < 0.5:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    if kind == 1:
        return bytes(data[: rng.randrange(len(data))])
    if kind == 2:  # anywhere
        for _ in range(rng.choice((1, 3, 30, 300))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    if data[:1] == b"w":  # the head of a compressed font
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(min(200, len(data)))] = rng.choice((0, 1, 127, 128, 255))
        return bytes(data)
    entry, start, length = table_at(bytes(data), rng.choice(TABLES))
    if kind == 3 and entry:  # a table that lies elsewhere, or is longer or shorter
        struct.pack_into(
            ">L", data, entry + rng.choice((8, 12)), rng.choice((*VALUES, start, length))
        )
    elif kind == 4 and entry:
        data[entry : entry + 4] = b"none"
    else:  # absurd numbers in a table, most at its beginning
        for _ in range(rng.choice((1, 4, 40))):
            reach = rng.choice((min(64, length), length)) - 4
            if reach > 0 and start + length <= len(data):
                form = rng.choice((">B", ">H", ">L"))
                value = rng.choice(VALUES) & ((1 << 8 * struct.calcsize(form)) - 1)
                struct.pack_into(form, data, start + rng.randrange(reach), value)
    return bytes(data)


@pytest.mark.fuzz
def test_any_font_is_refused_or_drawn(folder: Path) -> None:
    (folder.parent / "warm").mkdir()
    (folder.parent / "warm/a.ttf").write_bytes(seeds()[0])
    draw(folder.parent / "warm")  # compiled before the processes are forked
    accepted = 0
    for number in cases(40, 1000):
        content = mutated(number)
        suffix = {b"ttcf": "ttc", b"wOFF": "woff", b"wOF2": "woff2"}.get(content[:4], "ttf")
        path = folder / f"{number}.{suffix}"
        path.write_bytes(content)
        outcome = watched(lambda: report(folder))
        try:
            outcome.check()
        except AssertionError as error:
            raise AssertionError(f"font {number}: {error}") from None
        accepted += "drawn" in outcome.stdout
        path.unlink()
    assert accepted >= len(cases(40, 1000)) / 20, "some must get as far as the layout"


def report(folder: Path) -> Any:
    draw(folder)
    if (folder / "words.txt").exists():
        (folder / "words.txt").unlink()
        print("drawn")


def test_a_wrong_folder_is_one_line(run) -> None:
    assert_one_line(run("ivl-fonts", "check", "nowhere"), 2, "nowhere")


@pytest.mark.parametrize("error", [MemoryError(), OSError(24, "Too many open files")])
def test_a_machine_that_fails_condemns_no_font(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The verdict would be kept, and a good font left out from then on."""

    def fail(*_: object) -> None:
        raise error

    (folder / "a.ttf").write_bytes(small_font(SOURCES[0]))
    with monkeypatch.context() as failing:
        failing.setattr("fonts.screening.read_names", fail)
        with pytest.raises(UserError, match=r"a\.ttf: cannot be checked on this machine"):
            fonts.screen(folder)
    assert len(fonts.screen(folder).faces) == 1
