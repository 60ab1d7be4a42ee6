"""Text blocks: the labels say what is drawn, and where."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont, features

from fonts import default_faces
from textblocks_gen import Source, TextRecipe, complete, start, stream
from textblocks_gen.block import set_block
from textblocks_gen.colour import brightness, calm, ground_range, text_colour
from textblocks_gen.geometry import square_to_quad
from textblocks_gen.raster import empty_area, fill_glyphs, fill_quads, take_mask
from textblocks_gen.render import Canvas, fill
from textblocks_gen.studio import open_studio
from textblocks_gen.typeset import box_quads

RECIPE = TextRecipe(counts=(1, 2, 5, 10), total=1000, seed=3)
BARE = replace(RECIPE, shadow=0.0, outline=0.0, blur=0.0, noise=0.0)


@cache
def ready(recipe: TextRecipe = RECIPE) -> TextRecipe:
    return complete(recipe, Source())


@cache
def rows(number: int, recipe: TextRecipe = RECIPE) -> list:
    make = start(ready(recipe), Source())
    return [make(row) for row in range(number)]


def inside(quad: np.ndarray, size: tuple[int, int], grow: float = 0.0) -> np.ndarray:
    """Pixels whose centres are in a convex quad, by the sign of cross products, (H, W) bool."""
    y, x = np.mgrid[: size[0], : size[1]] + 0.5
    found = np.ones(size, bool)
    for a, b in pairwise([*quad.astype(np.float64), quad[0].astype(np.float64)]):
        edge = b - a
        cross = edge[0] * (y - a[1]) - edge[1] * (x - a[0])
        found &= cross >= -grow * np.linalg.norm(edge)
    return found


def ink_of(recipe: TextRecipe, sample, chosen: np.ndarray) -> np.ndarray:
    """The chosen characters of a sample drawn alone, from its labels, (H, W) 0 to 255."""
    studio = open_studio(recipe, Source())
    face = studio.face_ids.index(sample["font"].item().decode())
    texts = [line.decode().split(" ") for line in sample["line_text"]]
    block = rebuilt(studio, face, texts, sample)
    canvas = Canvas(recipe)
    part = replace(
        block, ids=block.ids[chosen], origins=block.origins[chosen], scales=block.scales[chosen]
    )
    fill(canvas, studio.faces, face, part, sample["transform"].astype(np.float64))
    return canvas.mask


def rebuilt(studio, face: int, texts: list[list[str]], sample):
    """The block again, from the text, heights and boxes that are labelled."""
    low, high = (float(v) for v in studio.faces.line[face])
    ems = sample["line_height"].astype(np.float64) / (high - low)
    upright = set_block(
        studio.faces, face, studio.index, texts, ems, np.zeros(len(texts)), 1e9,
        int(sample["alignment"]),
    )  # fmt: skip
    # Gaps are not labelled; the quads tell where each line is on the page.
    back = np.linalg.inv(sample["transform"].astype(np.float64))
    corners = np.concatenate([sample["line_quad"][:, 0], np.ones((len(texts), 1))], axis=1) @ back.T
    wanted = corners[:, :2] / corners[:, 2:]
    lines = np.repeat(np.arange(len(texts)), [len(" ".join(words)) for words in texts])
    shift = wanted - upright.line_boxes[:, :2]
    return replace(upright, origins=upright.origins + shift[lines])


def test_the_ink_of_a_line_or_word_is_in_its_quad_and_the_quad_is_tight() -> None:
    recipe = ready(BARE)
    for sample in rows(24, BARE):
        texts = [line.decode() for line in sample["line_text"]]
        line_of = np.repeat(np.arange(len(texts)), [len(t) for t in texts])
        word_of, word = [], 0
        for text in texts:
            for character in text:
                word_of.append(-1 if character == " " else word)
                word += character == " "
            word += 1
        cases = [("line_quad", line_of, range(min(3, len(texts)))),
                 ("word_quad", np.array(word_of), range(min(4, word)))]  # fmt: skip
        for name, owner, numbers in cases:
            for k in numbers:
                ink = ink_of(recipe, sample, owner == k).astype(int)
                quad = sample[name][k]
                assert ink.sum() > 0
                assert ink[inside(quad, ink.shape, 0.5)].sum() >= 0.99 * ink.sum()
                for side in range(4):
                    # Take a pixel and a half off one side: some ink must fall out.
                    assert ink[~shaved(quad, ink.shape, side, 1.5)].sum() > 0, (name, side)


def shaved(quad: np.ndarray, size: tuple[int, int], side: int, by: float) -> np.ndarray:
    a, b = quad[side].astype(float), quad[(side + 1) % 4].astype(float)
    edge = b - a
    y, x = np.mgrid[: size[0], : size[1]] + 0.5
    distance = (edge[0] * (y - a[1]) - edge[1] * (x - a[0])) / np.linalg.norm(edge)
    return distance >= by


def test_the_step_map_is_the_quads_rasterised() -> None:
    for sample in rows(40):
        size = tuple(int(v) for v in sample["image_size"])
        wanted = np.zeros(size, np.uint8)
        for k in range(sample.length, 0, -1):
            wanted[inside(sample["line_quad"][k - 1], size)] = k
        # Centres that lie on an edge to the last bit may fall on either side.
        assert (wanted != sample["steps"]).sum() <= 2


def test_no_ink_is_cut_off_and_quads_lie_in_the_image() -> None:
    recipe = ready(BARE)
    for sample in rows(60, BARE):
        for name in ("line_quad", "word_quad"):
            assert sample[name].min() >= 0
            assert (sample[name].reshape(-1, 2).max(axis=0) <= (recipe.width, recipe.height)).all()
    for sample in rows(12, BARE):
        everything = np.ones(
            len(b"".join(sample["line_text"])) + len(sample["line_text"]) - 1, bool
        )
        mask = ink_of(
            recipe, sample, everything[: sum(len(t.decode()) for t in sample["line_text"])]
        )
        assert not mask[0].any()
        assert not mask[-1].any()
        assert not mask[:, 0].any()
        assert not mask[:, -1].any()


@pytest.mark.skipif(not features.check("raqm"), reason="Pillow without raqm does not kern")
def test_what_is_drawn_is_the_string_as_another_program_draws_it() -> None:
    """Our outlines, widths and kerning against FreeType and HarfBuzz through Pillow."""
    studio = open_studio(ready(), Source())
    faces = {face.id: face for face in default_faces()}
    text, em = "AVATAR Type Wolf jig", 120.0
    for number in range(0, len(studio.face_ids), 5):
        face = faces[studio.face_ids[number]]
        word = text.upper() if face.caps_only else text
        block = set_block(
            studio.faces, number, studio.index, [word.split(" ")], np.array([em]), np.zeros(1),
            1e9, 0,
        )  # fmt: skip
        canvas = Canvas(replace(RECIPE, width=2400, height=400))
        moved = replace(block, origins=block.origins + 20)
        fill(canvas, studio.faces, number, moved, np.eye(3))
        ours = cut(canvas.mask)
        font = ImageFont.truetype(str(face.path), int(em), face.index)
        picture = Image.new("L", (2400, 400))
        ImageDraw.Draw(picture).text(
            (20, 100), word, 255, font, features=["-liga", "-calt", "-clig", "kern"]
        )
        theirs = cut(np.asarray(picture))
        assert abs(ours.shape[1] - theirs.shape[1]) <= 8, (face.id, ours.shape, theirs.shape)
        assert overlap(ours, theirs) > 0.8, face.id


def cut(mask: np.ndarray) -> np.ndarray:
    ys, xs = np.nonzero(mask > 60)
    return mask[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Ink in common over all ink, after one is scaled to the other's size."""
    b = np.asarray(Image.fromarray(b).resize((a.shape[1], a.shape[0])))
    # Pillow's strokes are hinted and lie up to a pixel off ours.
    a, b = (cv2.blur(np.pad(mask, 3), (5, 5)) for mask in (a, b))
    low, high = np.minimum(a, b).astype(int).sum(), np.maximum(a, b).astype(int).sum()
    return float(low / high)


def test_every_choice_occurs_as_often_as_the_recipe_says() -> None:
    found = rows(800, replace(RECIPE, counts=(2,), perspective=0.3, upper_case=0.2, title_case=0.5))
    alignments = np.bincount([s["alignment"] for s in found], minlength=3)
    assert (abs(alignments / 800 - 1 / 3) < 0.06).all()
    assert abs(np.mean([s["warp"] for s in found]) - 0.3) < 0.06
    words = np.bincount([len(t.split()) for s in found for t in s["line_text"]], minlength=6)
    assert words[:3].sum() == 0
    assert (abs(words[3:] / 1600 - 1 / 3) < 0.045).all()
    texts = [b" ".join(s["line_text"]).decode() for s in found]
    upper = np.mean([t.isupper() for t in texts])
    studio = open_studio(ready(), Source())
    caps_only, script = np.mean(studio.caps_only), np.mean(studio.script)
    assert abs(upper - (0.2 * (1 - caps_only - script) + caps_only)) < 0.06
    title = np.mean([all(w[0].isupper() for w in t.split()) for t in texts])
    assert abs(title - upper - 0.5 * (1 - caps_only)) < 0.06
    assert len({s["font"].item() for s in found}) == len(default_faces())


def test_affine_keeps_parallels_and_perspective_does_not() -> None:
    for sample in rows(60, BARE):
        bottom = sample["transform"][2, :2]
        assert (np.abs(bottom).max() > 1e-12) == (sample["warp"] == 1)


def test_text_height_does_not_depend_on_the_number_of_lines() -> None:
    found = rows(1200, BARE)
    by_count = {
        n: np.sort(np.concatenate([s["line_height"] for s in found if s.length == n]))
        for n in (1, 2, 5, 10)
    }
    everything = np.sort(np.concatenate(list(by_count.values())))
    for n, heights in by_count.items():
        # Kolmogorov–Smirnov: the largest gap between two distributions.
        ours = np.searchsorted(heights, everything, "right") / len(heights)
        theirs = np.arange(1, len(everything) + 1) / len(everything)
        assert abs(ours - theirs).max() < 1.95 / np.sqrt(len(heights)), n
    # Nor does the warp shrink tall blocks: affine ones keep the height of the page.
    for n in by_count:
        scales = [
            np.hypot(*s["transform"][:2, 1]) for s in found if s.length == n and not s["warp"]
        ]
        assert abs(np.mean(scales) - 1) < 0.01


def test_words_come_from_the_lexicon_with_digits_and_marks_when_asked_for() -> None:
    words = set(open_studio(ready(), Source()).words)
    lower = {w.lower() for w in words}
    for sample in rows(40):
        for text in sample["line_text"]:
            assert all(w.lower() in lower for w in text.decode().split(" "))
    decorated = rows(40, replace(RECIPE, punctuation=0.5, digits=0.3))
    said = [w for s in decorated for t in s["line_text"] for w in t.decode().split(" ")]
    assert 0.4 < np.mean([w[-1] in ",.;:!?" for w in said]) < 0.6
    assert 0.2 < np.mean([w.rstrip(",.;:!?").isdigit() for w in said]) < 0.4


def test_characters_have_quads_when_asked_for() -> None:
    for sample in rows(8, replace(RECIPE, char_quads=True)):
        letters = sum(len(t.decode().replace(" ", "")) for t in sample["line_text"])
        assert int(sample["char_count"]) == len(sample["char_quad"]) == letters
        first, word = sample["char_quad"][0], sample["word_quad"][0]
        assert np.allclose(first[0, 0], word[0, 0], atol=2.0)


@pytest.mark.parametrize(("low", "high"), [(0, 40), (200, 255), (90, 160), (0, 95), (160, 255)])
def test_text_keeps_its_contrast_to_the_ground(low: int, high: int) -> None:
    rng = np.random.default_rng(0)
    sides = set()
    for _ in range(200):
        value = brightness(text_colour(rng.random(5).tolist(), low, high, 70))
        assert min(abs(value - low), abs(value - high)) >= 69
        assert not low - 60 < value < high + 60
        sides.add(value > high)
    if (low, high) == (90, 160):
        assert sides == {True, False}


def test_busy_grounds_are_calmed_until_text_can_be_read() -> None:
    ground = np.random.default_rng(1).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    ground[:, ::2] = 0
    before = ground_range(ground)
    low, high = calm(ground, *before, 95.0)
    after = ground_range(ground)
    assert after[1] - after[0] <= 100
    assert high - low == pytest.approx(95)


def test_the_rasteriser_fills_by_area() -> None:
    """A square of known size off the grid: each pixel is covered as much as it is."""
    points = np.array([[0, 0], [2.5, 0], [2.5, 2.5], [0, 2.5]], np.float32)
    area = empty_area(8, 10)
    mask = np.zeros((8, 10), np.uint8)
    box = fill_glyphs(
        points, np.array([0, 4], np.int32), np.array([0, 1], np.int32), np.array([0]),
        np.array([[1.25, 5.5]]), np.array([2.0]), np.eye(3), area,
    )  # fmt: skip
    take_mask(area, mask, *box)
    x = np.clip(np.minimum(6.25, np.arange(1, 11)) - np.maximum(1.25, np.arange(10)), 0, 1)
    y = np.clip(np.minimum(5.5, np.arange(1, 9)) - np.maximum(0.5, np.arange(8)), 0, 1)
    assert np.abs(mask - 255 * y[:, None] * x[None, :]).max() <= 1
    assert not area.any(), "the buffer is not empty for the next block"


def test_geometry() -> None:
    quad = [(3.1, 4.2), (40.3, 7.7), (38.9, 30.1), (5.2, 26.3)]
    found = box_quads(np.array([[0.0, 0.0, 1.0, 1.0]]), square_to_quad(quad))
    assert np.allclose(found[0], quad, atol=1e-5)
    steps = np.zeros((32, 44), np.uint8)
    fill_quads(found, steps)
    assert np.array_equal(steps > 0, inside(found[0], steps.shape))


def test_a_stream_is_the_dataset_without_files(tmp_path) -> None:
    from textblocks_gen import generate

    recipe = TextRecipe(counts=(1, 3), total=12)
    generate(recipe, tmp_path / "t.h5", workers=1)
    from ivl_shards import open_dataset

    for ours, theirs in zip(stream(recipe), open_dataset(tmp_path / "t.h5"), strict=False):
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_stream_feeds_a_torch_loader(context: str) -> None:
    from torch.utils.data import DataLoader

    endless = stream(TextRecipe(counts=(1, 3), total=1)).padded(["image", "line_quad", "steps"])
    loader = DataLoader(endless, batch_size=4, num_workers=2, multiprocessing_context=context)
    batches = [batch for batch, _ in zip(loader, range(3), strict=False)]
    assert batches[2]["image"].shape == (4, 320, 448, 3)
    assert np.array_equal(batches[1]["line_quad"][0], endless[4]["line_quad"])
