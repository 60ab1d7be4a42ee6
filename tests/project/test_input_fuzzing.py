"""Untrusted images, labels, archives and lists: read, or refused in one line, within limits."""

import gzip
import io
import random
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from dota_crops.labels import parse_labels
from dota_crops.picture import Streamed, Whole, read_header
from font_files import SOURCES, make_shelf, put_package, small_font
from fonts.catalogue import Installed, read_index, write_index
from fonts.install import read_package
from fuzzing import cases, watched
from icdar_blocks.archive import Archive
from icdar_blocks.grouping import group
from icdar_blocks.scenes import read_picture, read_split
from icdar_blocks.truth import parse_boxes
from ivl_shards import UserError
from ivl_shards.photograph import Unreadable, open_photograph
from textblocks_gen.backgrounds.pool import PoolRecipe, photograph_pool
from textblocks_gen.backgrounds.screening import FORMATS
from textblocks_gen.words.lexicon import load_lexicon

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 400 400\n%%EndComments\n(x) show\n"
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"/>'


def png_head(width: int, height: int, interlaced: bool = False) -> bytes:
    """A PNG file that claims a size and has no pixels."""

    def chunk(tag: bytes, body: bytes) -> bytes:
        return struct.pack(">L", len(body)) + tag + body + struct.pack(">L", zlib.crc32(tag + body))

    head = struct.pack(">LLBBBBB", width, height, 8, 2, 0, 0, int(interlaced))
    pixels = chunk(b"IDAT", zlib.compress(bytes(100)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pixels + chunk(b"IEND", b"")


def encoded(suffix: str, width: int = 60, height: int = 40) -> bytes:
    noise = np.random.default_rng(0).integers(256, size=(height, width, 3), dtype=np.uint8)
    return cv2.imencode(suffix, cv2.GaussianBlur(noise, (0, 0), 3))[1].tobytes()


# --- formats and sizes ------------------------------------------------------------------------


@pytest.mark.parametrize("content", [EPS, SVG, b"%PDF-1.4\n", b"GIF89a" + bytes(50)])
def test_only_documented_formats_reach_a_decoder(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a name says: Pillow would hand EPS to Ghostscript, libvips many to others."""
    asked = []
    monkeypatch.setattr("subprocess.check_call", lambda *a, **k: asked.append(a))
    monkeypatch.setattr("subprocess.Popen", lambda *a, **k: asked.append(a))
    for name in ("a.png", "a.jpg", "a.tif"):
        (tmp_path / name).write_bytes(content)
        assert "not a PNG, JPEG or TIFF" in read_header(tmp_path / name).fault
        for kind in (Whole, Streamed):
            with pytest.raises(UserError, match="not a PNG, JPEG or TIFF"):
                kind(tmp_path / name)
    with pytest.raises(UserError, match="not a readable JPEG or PNG file"):
        read_picture(content, "a.jpg")
    with pytest.raises(UserError, match="none of its 3 photographs"):
        photograph_pool(PoolRecipe(64, 64, 0, tmp_path))
    assert asked == []


def test_a_gif_is_not_opened_though_pillow_could(tmp_path: Path) -> None:
    Image.new("RGB", (400, 300)).save(tmp_path / "a.gif")
    (tmp_path / "a.gif").rename(tmp_path / "a.png")
    with pytest.raises(UserError, match="none of its 1 photographs"):
        photograph_pool(PoolRecipe(64, 64, 0, tmp_path))
    assert read_header(tmp_path / "a.png").fault


@pytest.mark.parametrize("kind", ["backgrounds", "icdar", "dota"])
def test_pictures_that_claim_too_many_pixels(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.png").write_bytes(png_head(60_000, 60_000))

    def look() -> None:
        if kind == "backgrounds":
            with pytest.raises(UserError, match="none of its 1 photographs"):
                photograph_pool(PoolRecipe(64, 64, 0, tmp_path))
        elif kind == "icdar":
            with pytest.raises(UserError, match="more than the 64 million"):
                read_picture((tmp_path / "a.png").read_bytes(), "a.png")
        else:
            assert "no side may have more than 50,000" in read_header(tmp_path / "a.png").fault

    outcome = watched(look)
    outcome.check()
    assert outcome.megabytes < 500


def test_a_huge_interlaced_image_cannot_be_read_in_strips(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png_head(20_000, 20_000, interlaced=True))
    assert "interlaced" in read_header(tmp_path / "a.png").fault
    (tmp_path / "a.png").write_bytes(png_head(20_000, 20_000))
    assert read_header(tmp_path / "a.png").width == 20_000


# --- archives ---------------------------------------------------------------------------------


def test_a_zip_file_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("gt_img_1.txt", bytes(300 << 20))

    def read() -> None:
        with pytest.raises(UserError, match="has more than 1,000 bytes"):
            Archive(path).read("gt_img_1.txt", 1000)

    outcome = watched(read)
    outcome.check()
    assert outcome.megabytes < 400


def test_a_package_cannot_fill_the_memory_or_name_other_files(tmp_path: Path) -> None:
    entry = make_shelf(tmp_path / "shelf")[0]
    tarball = tmp_path / "a.tgz"

    def pack(*members: tuple[str, bytes, int]) -> None:
        with tarfile.open(tarball, "w:gz", compresslevel=1) as tar:
            for name, kind, size in members:
                member = tarfile.TarInfo(f"package/{name}")
                member.type, member.size, member.linkname = kind, size, "/etc/passwd"
                tar.addfile(member, io.BytesIO(bytes(size)) if size else None)

    pack((entry.file, tarfile.REGTYPE, 20 << 20))
    with pytest.raises(UserError, match="too large for a font"):
        read_package(tarball, entry)
    pack((entry.file, tarfile.SYMTYPE, 0), ("LICENSE", tarfile.LNKTYPE, 0))
    assert read_package(tarball, entry) == {}
    pack(("other", tarfile.REGTYPE, 200 << 20))
    outcome = watched(lambda: pytest.raises(UserError, read_package, tarball, entry))
    outcome.check()
    assert outcome.megabytes < 700


# --- patterns that take the square of a line's length -----------------------------------------


@pytest.mark.parametrize(
    "line", [b"1" * 500_000 + b"x", b"a" + b" " * 500_000 + b"x", b"1." * 200_000, b"-" * 900_000]
)
def test_one_long_line_takes_no_time(line: bytes) -> None:
    begun = time.monotonic()
    assert parse_labels(line).complaints
    with pytest.raises(UserError):
        parse_boxes(line, "boxes.txt")
    assert time.monotonic() - begun < 2


def test_ten_thousand_boxes_on_each_other_are_grouped_in_seconds() -> None:
    words = parse_boxes(b"1,1,9,9,a\n" * 10_000, "boxes.txt")
    outcome = watched(lambda: group(words))
    outcome.check()
    with pytest.raises(UserError, match="line 10001: more than 10,000 words"):
        parse_boxes(b"1,1,9,9,a\n" * 10_001, "boxes.txt")


# --- any bytes --------------------------------------------------------------------------------


def changed(seed: bytes, rng: random.Random, tokens: tuple[bytes, ...] = ()) -> bytes:
    """Bytes with pieces cut, doubled, replaced and put in."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        place, kind = rng.randrange(len(data) + 1), rng.randrange(5)
        if kind == 0:
            del data[place : place + rng.choice((1, 4, 100, len(data)))]
        elif kind == 1:
            data[place:place] = data[place : place + rng.randrange(1, 40)]
        elif kind == 2 and tokens:
            data[place:place] = rng.choice(tokens)
        elif data:
            value = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            data[min(place, len(data) - 1)] = value
    return bytes(data)


def in_batches(count: range, case: Callable[[random.Random], None], size: int = 500) -> None:
    """Try a case with many seeds, in processes that may neither hang nor crash."""
    for start in range(0, len(count), size):
        numbers = count[start : start + size]

        def batch(numbers: range = numbers) -> None:
            for number in numbers:
                begun = time.monotonic()
                case(random.Random(number))
                assert time.monotonic() - begun < 10, f"case {number}"

        outcome = watched(batch, 100)
        assert outcome.code == 0, f"hung or crashed in cases {numbers}: {outcome.stderr}"
        assert outcome.megabytes <= 1000


LABELS = b"imagesource:GoogleEarth\ngsd:0.146\n2753 2408 2861 2385 2888 2468 2805 2502 plane 0\n"
TRUTH = b'38, 43, 920, 215, "Tiredness"\r\n275, 264, 665, 450, "kills"\n'
TOKENS = (
    b"1e308",
    b"nan",
    b"-",
    b":",
    b'"',
    b"\xef\xbb\xbf",
    b"\xff",
    b"\r",
    b"9" * 400,
    b"plane",
    b",,",
    b"\xe2\x80\xa8",
    b"\0",
    b" " * 300,
)


@pytest.mark.fuzz
def test_any_label_file() -> None:
    def case(rng: random.Random) -> None:
        labels = parse_labels(changed(LABELS * 2, rng, TOKENS))
        assert all(np.isfinite(thing.quad).all() for thing in labels.objects)
        assert all(text.isprintable() for _, text in labels.complaints)

    in_batches(cases(500, 10_000), case)


@pytest.mark.fuzz
def test_any_list_of_boxes() -> None:
    def case(rng: random.Random) -> None:
        try:
            words = parse_boxes(changed(TRUTH * 2, rng, TOKENS), "boxes.txt")
        except UserError as error:
            assert "\n" not in str(error)
        else:
            group(words)

    in_batches(cases(500, 10_000), case)


@pytest.mark.fuzz
def test_any_lexicon(tmp_path: Path) -> None:
    def case(rng: random.Random) -> None:
        (tmp_path / "words.txt").write_bytes(changed("alpha\nGröße\nмир\n".encode(), rng, TOKENS))
        try:
            words = load_lexicon(tmp_path / "words.txt").words
        except UserError as error:
            assert "\n" not in str(error)
        else:
            assert all(word.split() == [word] for word in words)

    in_batches(cases(500, 10_000), case)


@cache
def archives() -> tuple[bytes, ...]:
    made = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as packed:
            packed.writestr("gt_img_1.txt", TRUTH)
            packed.writestr("below/gt_img_2.txt", TRUTH)
        made.append(file.getvalue())
    return tuple(made)


@pytest.mark.fuzz
def test_any_archive(tmp_path: Path) -> None:
    def case(rng: random.Random) -> None:
        data = changed(rng.choice(archives()), rng)
        (tmp_path / "Challenge2_Test_Task1_GT.zip").write_bytes(data)
        try:
            read_split(tmp_path, "test")
        except UserError as error:
            assert " ".join(str(error).split()).count("Task1_GT") >= 1

    in_batches(cases(500, 10_000), case)


@pytest.mark.fuzz
def test_any_package(tmp_path: Path) -> None:
    entry = make_shelf(tmp_path / "shelf")[0]
    put_package(tmp_path, entry, small_font(SOURCES[0], "AB"))
    good = gzip.decompress((tmp_path / entry.tarball).read_bytes())

    def case(rng: random.Random) -> None:
        data = changed(good, rng)
        packed = gzip.compress(data, 1) if rng.random() < 0.8 else changed(gzip.compress(data), rng)
        (tmp_path / "a.tgz").write_bytes(packed)
        try:
            read_package(tmp_path / "a.tgz", entry)
        except UserError as error:
            assert "damaged" in str(error) or "too large" in str(error)

    in_batches(cases(500, 10_000), case)


@pytest.mark.fuzz
def test_any_index_of_fonts(tmp_path: Path) -> None:
    write_index(tmp_path, {"a": Installed("0" * 64, "1" * 64, 9, "ABC")})
    good = (tmp_path / "catalogue.json").read_bytes()
    plain = good.replace(good[good.index(b',"sha256":"', good.index(b"}}")) : -1], b"")

    def case(rng: random.Random) -> None:
        seed = rng.choice((good, plain))
        (tmp_path / "catalogue.json").write_bytes(changed(seed, rng, (b"[" * 5000, b"null", b"{")))
        try:
            read_index(tmp_path)
        except UserError as error:
            assert "damaged" in str(error)

    in_batches(cases(500, 10_000), case)


@cache
def pictures() -> tuple[bytes, ...]:
    exif = io.BytesIO()
    Image.open(io.BytesIO(encoded(".jpg"))).save(
        exif, "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0"
    )
    kinds = (".jpg", ".png", ".webp", ".bmp", ".tiff")
    return (*(encoded(kind) for kind in kinds), exif.getvalue())


@pytest.mark.fuzz
def test_any_photograph() -> None:
    def case(rng: random.Random) -> None:
        try:
            with open_photograph(changed(rng.choice(pictures()), rng), FORMATS) as picture:
                picture.convert("RGB")
        except Unreadable as error:
            assert "\n" not in str(error)

    in_batches(cases(300, 10_000), case)


@pytest.mark.fuzz
def test_any_aerial_image(tmp_path: Path) -> None:
    def case(rng: random.Random) -> None:
        path = tmp_path / rng.choice(("a.png", "a.jpg", "a.tif"))
        path.write_bytes(changed(rng.choice((pictures()[0], pictures()[1], pictures()[4])), rng))
        header = read_header(path)
        if header.fault:
            assert "\n" not in header.fault
            return
        for kind in (Whole, Streamed):
            try:
                if header.width * header.height <= 1_000_000:
                    kind(path).window(0, 0, header.width, header.height)
            except UserError as error:
                assert "\n" not in str(error)

    in_batches(cases(300, 10_000), case, size=250)
