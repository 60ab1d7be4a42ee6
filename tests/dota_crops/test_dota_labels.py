"""Label files: what is read, what is complained of, and that nothing brings it down."""

import math

import numpy as np
import pytest

from dota_crops.labels import parse_labels
from dota_root import HEADER, label_lines, squares

GOOD = "10 10 50 10 50 50 10 50 plane 0\n"


def test_a_sound_file_is_read_without_complaint() -> None:
    labels = parse_labels((HEADER + GOOD + "1.5 2 9 2 9 9.25 1 9 ship 1\n").encode())
    assert labels.complaints == []
    assert labels.gsd == 0.25
    plane, ship = labels.objects
    assert (plane.category, plane.difficult, plane.line) == ("plane", 0, 3)
    assert ship.quad == (1.5, 2, 9, 2, 9, 9.25, 1, 9)
    assert (ship.category, ship.difficult, ship.line) == ("ship", 1, 4)


def test_a_missing_difficulty_is_none() -> None:
    labels = parse_labels(b"10 10 50 10 50 50 10 50 plane\n")
    assert labels.objects[0].difficult == 0 and not labels.complaints


def test_unknown_ground_sampling_distance() -> None:
    assert math.isnan(parse_labels(b"imagesource:JL\ngsd:null\n" + GOOD.encode()).gsd)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("10 10 50 10 50 50 10 plane 0", "7 can be read"),
        ("10 10 50 10 50 50 10 50 zeppelin 0", "unknown class 'zeppelin'"),
        ("10 10 50 10 50 50 10 50", "class is missing"),
        ("10 10 50 10 50 50 10 50 plane yes", "difficulty 'yes'"),
        ("10 10 50 10 50 50 10 50 plane 0 0", "more than"),
        ("10 10 50 50 50 10 10 50 plane 0", "crosses itself"),
        ("10 10 50 50 50 50 10 10 plane 0", "has no area"),
        ("10 10 10 10 10 10 10 10 plane 0", "has no area"),
        ("nan 10 50 10 50 50 10 50 plane 0", "0 can be read"),
        ("1e99 10 50 10 50 50 10 50 plane 0", "0 can be read"),
        ("garbage", "0 can be read"),
        ("gsd:-3", "gsd '-3'"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_goes_on(bad: str, says: str) -> None:
    labels = parse_labels((GOOD + bad + "\n" + GOOD).encode())
    assert [thing.line for thing in labels.objects] == [1, 3]
    ((line, text),) = labels.complaints
    assert line == 2 and says in text


def test_a_line_with_seven_numbers_leaves_its_place_in_doubt() -> None:
    """The object is there, only its fourth corner is not known: crops must keep away."""
    (doubt,) = parse_labels(b"10 10 50 10 50 50 10 plane 0\n").doubts
    x0, y0, x1, y1 = doubt.box
    assert x0 <= 10 and y0 <= 10 and x1 >= 50 and y1 >= 50 and doubt.category == "plane"


@pytest.mark.parametrize("data", [b"", b"  \n\n"])
def test_an_empty_file_is_complained_of(data: bytes) -> None:
    assert parse_labels(data).complaints == [(0, "is empty")]


def test_byte_order_mark_and_windows_line_ends_are_accepted_with_a_complaint() -> None:
    data = b"\xef\xbb\xbf" + (HEADER + GOOD + GOOD).replace("\n", "\r\n").encode()
    labels = parse_labels(data)
    assert [thing.line for thing in labels.objects] == [3, 4] and labels.gsd == 0.25
    assert [line for line, _ in labels.complaints] == [1, 1]
    assert any("byte order mark" in text for _, text in labels.complaints)
    assert any("line ends" in text for _, text in labels.complaints)


def test_ten_thousand_damaged_files_give_no_traceback() -> None:
    rng = np.random.default_rng(4)
    sound = (HEADER + label_lines(squares(1, 8))).encode()
    pieces = [
        b"nan",
        b"inf",
        b"-1e400",
        b"\0",
        b"\xff\xfe",
        b"\r",
        b"plane",
        b":",
        b"1_0",
        b"9" * 400,
        "٣".encode(),
        b"\n",
        b" ",
        b"gsd:",
        b"-",
        b"1e5",
    ]
    complained = 0
    for _ in range(10_000):
        data = bytearray(sound)
        for _ in range(int(rng.integers(1, 12))):
            at = int(rng.integers(len(data) + 1))
            kind = int(rng.integers(5))
            if kind == 0:
                data[at : at + 1] = bytes([int(rng.integers(256))])
            elif kind == 1:
                del data[at : at + int(rng.integers(1, 40))]
            elif kind == 2:
                data[at:at] = pieces[int(rng.integers(len(pieces)))]
            elif kind == 3:
                other = int(rng.integers(len(data) + 1))
                data[at:at] = data[other : other + 30]
            else:
                data = data[: max(at, 1)]
        labels = parse_labels(bytes(data))
        complained += bool(labels.complaints)
        for line, text in labels.complaints:
            assert line <= data.count(b"\n") + data.count(b"\r") + 1
            assert text.isprintable()
        quads = np.array([thing.quad for thing in labels.objects])
        assert np.isfinite(quads).all()
    assert complained > 5_000
