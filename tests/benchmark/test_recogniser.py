"""The recogniser of single lines: the text of a line does not depend on the others of a batch."""

import cv2
import numpy as np
import pytest

from benchmark.baselines.recogniser import Recogniser
from ivl_shards import UserError

TEXTS = ("Mind the gap", "EXIT 24", "a much longer line of text, so that it is wider than most")


def line(text: str, height: int = 40) -> np.ndarray:
    """Draw a dark line of text on light blue, (H, W, 3) RGB."""
    scale = height / 40
    (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 2)
    image = np.full((height, width + 16, 3), (200, 220, 255), np.uint8)
    place = (8, round(height * 0.75))
    return cv2.putText(image, text, place, cv2.FONT_HERSHEY_SIMPLEX, scale, (60, 10, 10), 2)


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    pytest.importorskip("rapidocr")
    return Recogniser()


def test_texts_are_in_the_order_of_the_lines(recogniser: Recogniser) -> None:
    found = recogniser.read([line(TEXTS[2]), line(TEXTS[0], 80), line(TEXTS[1])])
    assert [text for text, _ in found] == [TEXTS[2], TEXTS[0], TEXTS[1]]
    assert all(0.8 < confidence <= 1 for _, confidence in found)


def test_the_text_of_a_line_does_not_depend_on_the_batch(recogniser: Recogniser) -> None:
    # 12 lines: more than a batch.
    pictures = [line(text, height) for text in TEXTS for height in (24, 40, 64, 120)]
    together = recogniser.read(pictures)
    assert together == recogniser.read(pictures)
    for picture, (text, confidence) in zip(pictures, together, strict=True):
        ((alone, sure),) = recogniser.read([picture])
        assert alone == text and sure == pytest.approx(confidence, abs=1e-4)


def test_the_three_channels_are_red_green_blue(recogniser: Recogniser) -> None:
    rapidocr = pytest.importorskip("rapidocr")
    reader = rapidocr.RapidOCR(params={"Global.log_level": "error"})
    # Red on grey: with swapped channels, the confidence is lower by 0.006.
    dark = line(TEXTS[1])[..., :1] < 130
    picture = np.where(dark, (255, 0, 0), (120, 120, 120)).astype(np.uint8)
    found = reader(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), use_det=False, use_cls=False)
    ((text, confidence),) = recogniser.read([picture])
    assert found.txts == (text,) and confidence == pytest.approx(found.scores[0], abs=1e-3)


@pytest.mark.parametrize("shape", [(0, 50, 3), (20, 0, 3), (1, 1, 3), (400, 3, 3), (1, 5000, 3)])
def test_extreme_shapes_are_no_error(recogniser: Recogniser, shape: tuple[int, ...]) -> None:
    ((text, confidence),) = recogniser.read([np.full(shape, 255, np.uint8)])
    assert isinstance(text, str) and 0 <= confidence <= 1
    assert recogniser.read([]) == []


def test_without_the_extra_the_message_tells_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr("benchmark.baselines.recogniser.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'ivl\[ocr\]'"):
        Recogniser()
