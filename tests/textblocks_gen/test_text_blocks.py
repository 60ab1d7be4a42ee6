"""Text blocks: the labels say what is drawn, and where."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont, features

from fonts import default_faces
from ivl_shards.format.memory import step_map
from ivl_shards.generation.randomness import Draws
from textblocks_gen import Inputs, TextRecipe, complete, start, stream
from textblocks_gen.card import NAME
from textblocks_gen.effects.colour import brightness, text_colour
from textblocks_gen.effects.look import ColourDraw
from textblocks_gen.render import Canvas, draw, fill
from textblocks_gen.studio import open_studio
from textblocks_gen.typesetting.block import set_block
from textblocks_gen.typesetting.raster import (
    STRAIGHT,
    Outlines,
    Place,
    empty_area,
    fill_glyphs,
    take_mask,
)
from textblocks_gen.typesetting.typeset import Setting, box_quads
from textblocks_gen.typesetting.warp import page_to_quad

RECIPE = TextRecipe(counts=(1, 2, 5, 10), total=1000, seed=3)
BARE = replace(RECIPE, shadow=0.0, outline=0.0, blur=0.0, noise=0.0)


@cache
def ready(recipe: TextRecipe = RECIPE) -> TextRecipe:
    return complete(recipe, Inputs())


@cache
def rows(number: int, recipe: TextRecipe = RECIPE) -> list:
    make = start(ready(recipe), Inputs())
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


@cache
def plans(number: int, recipe: TextRecipe) -> list:
    """What the same rows are drawn from."""
    recipe = ready(recipe)
    studio, draws = open_studio(recipe, Inputs()), Draws(NAME, recipe.seed, recipe.split)
    places = (recipe.place(row) for row in range(number))
    return [draw(studio, count, draws.at(count, index)) for count, index in places]


def ink_of(recipe: TextRecipe, drawn, chosen: np.ndarray) -> np.ndarray:
    """The chosen characters of a block drawn alone, (H, W) 0 to 255."""
    studio, canvas, block = open_studio(recipe, Inputs()), Canvas(recipe), drawn.block
    part = block._replace(
        glyphs=block.glyphs[chosen], origins=block.origins[chosen], scales=block.scales[chosen]
    )
    found = fill(canvas, studio.lettering, part, drawn.place)
    mask = np.zeros((recipe.height, recipe.width), np.uint8)
    height, width = found.ink.shape
    mask[found.top : found.top + height, found.left : found.left + width] = found.ink
    return mask


def test_the_ink_of_a_line_or_word_is_in_its_quad_and_the_quad_is_tight() -> None:
    recipe = ready(BARE)
    for sample, drawn in zip(rows(24, BARE), plans(24, BARE), strict=True):
        texts = [line.decode() for line in sample["line_text"]]
        line_of = np.repeat(np.arange(len(texts)), [len(t) for t in texts])
        word_of, word = [], 0
        for text in texts:
            for character in text:
                word_of.append(-1 if character == " " else word)
                word += character == " "
            word += 1
        cases = [
            ("line_quad", line_of, range(min(3, len(texts)))),
            ("word_quad", np.array(word_of), range(min(4, word))),
        ]
        for name, owner, numbers in cases:
            for k in numbers:
                ink = ink_of(recipe, drawn, owner == k).astype(int)
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
    for drawn in plans(12, BARE):
        mask = ink_of(recipe, drawn, np.ones(len(drawn.block.glyphs), bool))
        assert not mask[0].any()
        assert not mask[-1].any()
        assert not mask[:, 0].any()
        assert not mask[:, -1].any()


@pytest.mark.skipif(not features.check("raqm"), reason="Pillow without raqm does not kern")
def test_what_is_drawn_is_the_string_as_another_program_draws_it() -> None:
    """Our outlines, widths and kerning against FreeType and HarfBuzz through Pillow."""
    studio = open_studio(ready(), Inputs())
    faces = {face.id: face for face in default_faces()}
    text, em = "AVATAR Type Wolf jig", 120.0
    for number in range(0, len(studio.lettering.ids), 5):
        face = faces[studio.lettering.ids[number]]
        word = text.upper() if face.caps_only else text
        setting = Setting(np.array([number]), np.array([em]), np.zeros(1), 1e9, 0, 0.0)
        block = set_block(studio.lettering.metrics, [word.split(" ")], setting)
        canvas = Canvas(replace(RECIPE, width=2400, height=400))
        moved = block._replace(origins=block.origins + 20)
        ours = cut(fill(canvas, studio.lettering, moved, Place(np.eye(3), STRAIGHT)).ink)
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
    studio = open_studio(ready(), Inputs())
    caps_only, script = (
        np.mean(studio.lettering.kinds.caps_only),
        np.mean(studio.lettering.kinds.script),
    )
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
    words = set(open_studio(ready(), Inputs()).vocabulary.words)
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


@pytest.mark.parametrize("contrast", [40, 70])
@pytest.mark.parametrize("draws", [5, 6], ids=["any colour", "colours of signs"])
@pytest.mark.parametrize(("low", "high"), [(0, 40), (200, 255), (90, 160), (0, 95), (160, 255)])
def test_text_keeps_its_contrast_to_the_ground(
    low: int, high: int, draws: int, contrast: int
) -> None:
    rng = np.random.default_rng(0)
    sides = set()
    for _ in range(200):
        draw = ColourDraw(*rng.random(draws).tolist())
        value = brightness(text_colour(draw, low, high, contrast))
        assert min(abs(value - low), abs(value - high)) >= contrast - 1
        assert not low - contrast + 10 < value < high + contrast - 10
        sides.add(value > high)
    if (low, high) == (90, 160):
        assert sides == {True, False}


def test_the_rasteriser_fills_by_area() -> None:
    """A square of known size off the grid: each pixel is covered as much as it is."""
    points = np.array([[0, 0], [2.5, 0], [2.5, 2.5], [0, 2.5]], np.float32)
    area = empty_area(8, 10)
    mask = np.zeros((8, 10), np.uint8)
    outlines = Outlines(points, np.array([0, 4], np.int32), np.array([0, 1], np.int32))
    place = Place(np.eye(3), STRAIGHT)
    left, top, right, bottom = fill_glyphs(
        outlines, np.array([0]), np.array([[1.25, 5.5]]), np.full((1, 2), 2.0), place, area
    )
    mask[top:bottom, left:right] = take_mask(area, left, top, right, bottom)
    x = np.clip(np.minimum(6.25, np.arange(1, 11)) - np.maximum(1.25, np.arange(10)), 0, 1)
    y = np.clip(np.minimum(5.5, np.arange(1, 9)) - np.maximum(0.5, np.arange(8)), 0, 1)
    assert np.abs(mask - 255 * y[:, None] * x[None, :]).max() <= 1
    assert not area.any(), "the buffer is not empty for the next block"


def test_geometry() -> None:
    quad = [(3.1, 4.2), (40.3, 7.7), (38.9, 30.1), (5.2, 26.3)]
    found = box_quads(
        np.array([[0.0, 0.0, 1.0, 1.0]]), Place(page_to_quad(np.array(quad), 1.0, 1.0), STRAIGHT)
    )
    assert np.allclose(found[0], quad, atol=1e-5)
    steps = step_map(found, (32, 44))
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


def median_ratio(recipe: TextRecipe, lines: int) -> float:
    """Tallest over lowest line of a block, in the median."""
    heights = [s["line_height"] for s in rows(200, replace(recipe, counts=(lines,)))]
    return float(np.median([h.max() / h.min() for h in heights]))


def test_line_heights_are_what_is_asked_for_and_differ_within_a_block() -> None:
    for wanted, words in (((0.3, 0.4), (1, 1)), ((0.1, 0.1), (1, 3))):
        asked = TextRecipe((1, 2), 60, line_height=wanted, words=words)
        heights = np.concatenate([s["line_height"] for s in rows(60, asked)]) / asked.height
        assert heights.min() >= wanted[0] - 1e-4
        assert heights.max() <= wanted[1] + 1e-4
        assert np.ptp(heights) >= 0.9 * (wanted[1] - wanted[0])
    assert median_ratio(BARE, 3) > 1.45
    assert median_ratio(BARE, 5) > 1.6


def test_lines_are_not_below_12_pixels_unless_asked_for() -> None:
    for size in (256, 320, 1000):
        recipe = TextRecipe(tuple(range(1, 11)), 1, height=size, width=448)
        assert recipe.line_pixels()[0] >= 12 - 1e-2
    assert TextRecipe((20,), 1, height=448).line_pixels()[0] >= 12 - 1e-2
    low = TextRecipe((2,), 1, line_height=(0.02, 0.03))
    assert low.line_pixels()[0] == pytest.approx(6.4)


# The colours of scenes without what is drawn beside the ink or done by the camera.
SIGNS = TextRecipe(
    counts=(3,),
    total=1000,
    seed=3,
    style="scene",
    bend=0.0,
    shadow=0.0,
    extrusion=0.0,
    outline=0.0,
    texture=0.0,
    distractors=0.0,
    light=0.0,
    glare=0.0,
    vignette=0.0,
    defocus=0.0,
    motion=0.0,
    low_resolution=0.0,
    noise=0.0,
    quality=100,
    quality_spread=0,
)


@pytest.mark.parametrize(
    "recipe", [replace(BARE, counts=(5,), blur=0.5, quality=100), SIGNS], ids=["paper", "scene"]
)
def test_the_ink_of_every_line_has_the_contrast_that_is_asked_for(recipe: TextRecipe) -> None:
    """The body of a line's strokes against nearly all of the ground behind it."""
    recipe = ready(recipe)
    found = []
    for sample, drawn in zip(rows(120, recipe), plans(120, recipe), strict=True):
        image = cv2.imdecode(sample["image"], cv2.IMREAD_GRAYSCALE).astype(int)
        mask = ink_of(recipe, drawn, np.ones(len(drawn.block.glyphs), bool))
        for line in range(1, drawn.look.lines + 1):
            ink, ground = mask[sample["steps"] == line], image[sample["steps"] == line]
            body = ink >= np.quantile(ink[ink > 0], 0.75)
            found.append(abs(ground[body].mean() - np.median(ground[ink == 0])))
    assert np.mean(np.array(found) < recipe.contrast - 10) < 0.005


SCENE = TextRecipe(counts=(1, 2, 3, 4), total=1000, seed=3, style="scene", bend=0.5)


def in_polygon(polygon: np.ndarray, size: tuple[int, int], grow: int = 0) -> np.ndarray:
    """Pixels in a polygon, and some more around it."""
    found = np.zeros(size, np.uint8)
    cv2.fillPoly(found, [np.round(polygon * 16 - 8).astype(np.int32)], 255, cv2.LINE_8, 4)
    return cv2.dilate(found, np.ones((2 * grow + 1,) * 2)) > 0 if grow else found > 0


def test_bent_ink_is_in_its_quad_and_polygon_and_the_polygon_is_tighter() -> None:
    recipe = ready(SCENE)
    size = (recipe.height, recipe.width)
    areas = {True: [], False: []}
    for sample, drawn in zip(rows(60, SCENE), plans(60, SCENE), strict=True):
        texts = [line.decode() for line in sample["line_text"]]
        owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        for k in range(len(texts)):
            ink = ink_of(recipe, drawn, owner == k).astype(int)
            for name in ("line_quad", "line_polygon"):
                around = in_polygon(sample[name][k], size, grow=1)
                assert ink[around].sum() >= 0.99 * ink.sum(), name
            quad, polygon = (
                in_polygon(sample[name][k], size).sum() for name in ("line_quad", "line_polygon")
            )
            areas[drawn.look.bend is not None].append(polygon / quad)
        wanted = np.zeros(size, np.uint8)
        for k in range(len(texts), 0, -1):
            wanted[in_polygon(sample["line_polygon"][k - 1], size)] = k
        assert (wanted != sample["steps"]).mean() < 0.02
        assert sample["line_polygon"].min() >= 0
        assert (sample["line_polygon"].max(axis=(0, 1)) <= (recipe.width, recipe.height)).all()
    assert np.allclose(areas[False], 1, atol=0.05)
    assert np.mean(areas[True]) < 0.95


def test_words_and_characters_of_bent_lines_are_in_their_quads() -> None:
    bent = replace(SCENE, counts=(2,), bend=1.0, char_quads=True)
    recipe = ready(bent)
    size = (recipe.height, recipe.width)
    for sample, drawn in zip(rows(20, bent), plans(20, bent), strict=True):
        text = "".join(t.decode() for t in sample["line_text"])
        inked = np.flatnonzero([character != " " for character in text])
        assert len(inked) == int(sample["char_count"])
        for number in (0, len(inked) // 2, len(inked) - 1):
            ink = ink_of(recipe, drawn, np.arange(len(text)) == inked[number]).astype(int)
            around = in_polygon(sample["char_quad"][number], size, grow=1)
            assert ink[around].sum() >= 0.99 * ink.sum()


def test_a_scene_has_what_its_recipe_says_as_often_as_it_says() -> None:
    looks = [drawn.look for drawn in plans(1500, SCENE)]
    recipe = ready(SCENE)
    occurs = {
        "bend": [look.bend is not None for look in looks],
        "plate": [look.plate is not None for look in looks],
        "distractors": [bool(look.distractors) for look in looks],
        "shadow": [look.shadow is not None for look in looks],
        "extrusion": [look.extrusion is not None for look in looks],
        "outline": [look.outline is not None for look in looks],
        "blur": [look.blur for look in looks],
        "spacing": [look.spacing > 0 for look in looks],
        "mixed_faces": [len(set(look.faces.tolist())) > 1 for look in looks if look.lines > 1],
        "light": [look.light is not None and look.light.strength > 0 for look in looks],
        "glare": [look.light is not None and look.light.glare > 0 for look in looks],
        "vignette": [look.light is not None and look.light.vignette > 0 for look in looks],
        "defocus": [look.defocus > 0 for look in looks],
        "motion": [look.motion is not None for look in looks],
        "low_resolution": [look.enlargement > 1 for look in looks],
        "noise": [look.grain is not None for look in looks],
        "translucency": [look.ink is not None and look.ink.opacity < 1 for look in looks],
        "blending": [look.ink is not None and look.ink.blending > 0 for look in looks],
        "texture": [look.ink is not None and look.ink.roughness > 0 for look in looks],
        "light_text": [look.polarity is not None for look in looks],
        "sign_colours": [look.colour.sign >= 0 for look in looks],
    }
    for name, happened in occurs.items():
        assert abs(np.mean(happened) - getattr(recipe, name)) < 0.05, name
    quality = [look.quality for look in looks]
    assert min(quality) == 40
    assert max(quality) == 95
    texts = [text for drawn in plans(1500, SCENE) for text in drawn.block.lines]
    words = [word for text in texts for word in text.split(" ")]
    assert {len(text.split(" ")) for text in texts} == {1, 2, 3, 4}
    assert 0.07 < np.mean([not word.isalpha() for word in words]) < 0.15
    heights = np.concatenate([d.block.heights for d in plans(1500, SCENE)]) / recipe.height
    assert heights.min() >= 0.0399
    assert 0.45 < heights.max() <= 0.6


def test_strengths_reach_from_little_to_what_the_recipe_says() -> None:
    looks = [drawn.look for drawn in plans(2500, SCENE)]
    recipe = ready(SCENE)
    even = {
        "spacing_most": [look.spacing for look in looks if look.spacing],
        "bend_most": [look.bend.strength for look in looks if look.bend],
        "translucency_most": [1 - k.ink.opacity for k in looks if k.ink and k.ink.opacity < 1],
        "texture_most": [k.ink.roughness for k in looks if k.ink and k.ink.roughness],
        "shadow_most": [look.shadow.right for look in looks if look.shadow],
        "extrusion_most": [look.extrusion.depth for look in looks if look.extrusion],
        "outline_most": [look.outline.width for look in looks if look.outline],
        "light_most": [k.light.strength for k in looks if k.light and k.light.strength],
        "glare_most": [k.light.glare for k in looks if k.light and k.light.glare],
        "vignette_most": [k.light.vignette for k in looks if k.light and k.light.vignette],
        "distractors_most": [len(look.distractors) for look in looks if look.distractors],
        "noise_most": [look.grain.strength for look in looks if look.grain],
    }
    for name, found in even.items():
        most = getattr(recipe, name)
        assert 0.9 * most < max(found) <= most, name
        assert 0.3 * most < np.median(found) < 0.8 * most, name
    # Most photographs are sharp: strong blur is rare.
    rare = {
        "defocus_most": [look.defocus for look in looks if look.defocus],
        "low_resolution_most": [k.enlargement - 1.1 for k in looks if k.enlargement > 1],
    }
    for name, found in rare.items():
        most = getattr(recipe, name) - 1.1 * (name == "low_resolution_most")
        assert 0.9 * most < max(found) <= most, name
        assert 0.18 * most < np.median(found) < 0.32 * most, name
    motion = [max(map(abs, look.motion)) for look in looks if look.motion]
    assert 0.5 * recipe.motion_most < max(motion) <= recipe.motion_most


def test_a_block_is_turned_and_foreshortened_as_far_as_the_recipe_says() -> None:
    small = replace(BARE, counts=(1,), words=(1, 1), line_height=(0.05, 0.05), perspective=0.0)
    for name, most in (("rotation", 20.0), ("shear", 0.5)):
        none = {"rotation": 0.0, "shear": 0.0, name: most}
        found = []
        for sample in rows(200, replace(small, **none)):
            matrix = sample["transform"].astype(float)
            slope = np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0]))
            found.append(slope if name == "rotation" else matrix[0, 1] / matrix[1, 1])
        assert 0.9 * most < max(found) <= most + 0.01, name
        assert 0.9 * most < -min(found) <= most + 0.01, name
        assert abs(np.mean(found)) < 0.15 * most, name
    upright = replace(small, rotation=0.0, shear=0.0, perspective=1.0, foreshortening=0.4)
    shares = []
    for sample in rows(200, upright):
        quad = sample["line_quad"][0].astype(float)
        sides = np.linalg.norm(quad - np.roll(quad, 1, axis=0), axis=1)
        shares.append(1 - min(sides[0] / sides[2], sides[2] / sides[0]))
    assert 0.3 < max(shares) <= 0.4 + 0.02


def test_every_knob_of_a_style_stands_alone() -> None:
    """An effect of the scene style alone changes an image of the paper style, and no label."""
    plain = replace(BARE, counts=(3,), perspective=0.0)
    before = rows(6, plain)
    for name in (
        "plate",
        "distractors",
        "translucency",
        "blending",
        "texture",
        "extrusion",
        "light",
        "glare",
        "vignette",
        "defocus",
        "motion",
        "low_resolution",
    ):
        strong = {"defocus_most": 0.5, "motion_most": 1.0, "low_resolution_most": 8.0}
        after = rows(6, replace(plain, **{name: 1.0}, **strong))
        same = [np.array_equal(a["image"], b["image"]) for a, b in zip(before, after, strict=True)]
        assert not all(same), name
        for a, b in zip(before, after, strict=True):
            assert a["line_text"].tolist() == b["line_text"].tolist(), name


def test_light_text_is_as_frequent_as_dark_text_in_scenes() -> None:
    lighter = []
    bare = replace(SCENE, counts=(2,), light=0.0, glare=0.0, motion=0.0, defocus=0.0, outline=0.0)
    for sample, drawn in zip(rows(150, bare), plans(150, bare), strict=True):
        image = cv2.imdecode(sample["image"], cv2.IMREAD_GRAYSCALE).astype(int)
        mask = ink_of(ready(bare), drawn, np.ones(len(drawn.block.glyphs), bool))
        text, ground = image[mask > 200], image[(sample["steps"] > 0) & (mask == 0)]
        if len(text) and len(ground):
            lighter.append(np.median(text) > np.median(ground))
    assert 0.38 < np.mean(lighter) < 0.62


def test_text_that_is_cut_or_distant_is_labelled_and_in_no_step() -> None:
    asked = replace(SCENE, counts=(1,), cut=1.0, distant=1.0, plate=0.0, line_height=(0.05, 0.2))
    kinds = []
    for sample, plain in zip(
        rows(40, asked), rows(40, replace(asked, cut=0.0, distant=0.0)), strict=True
    ):
        assert np.array_equal(sample["steps"], plain["steps"])
        assert sample["line_text"].tolist() == plain["line_text"].tolist()
        assert "other_quad" not in plain
        height, width = sample["image_size"].tolist()
        for quad, kind in zip(sample["other_quad"], sample["other_kind"], strict=True):
            kinds.append(int(kind))
            outside = quad[:, 0].min() < 0 or quad[:, 0].max() > width
            assert outside == (kind == 0)
            assert quad[:, 1].min() >= 0
            assert quad[:, 1].max() <= height
            assert not sample["steps"][inside(quad, (height, width))].any()
            if kind == 1:
                assert np.ptp(quad[:, 1]) < 12
    assert min(np.bincount(kinds)) > 20
