"""Crops: the guarantees, on synthetic images whose objects are known."""

import itertools
from dataclasses import replace
from pathlib import Path

import cv2
import h5py
import numpy as np
import pytest

import dota_crops.extract
from dota_crops import DotaRecipe, generate, make_plan
from dota_crops.contrast import VISIBLE, contrasts
from dota_crops.cut_rule import judge, parse_cut
from dota_crops.extract import PlannedCrops, resized, start
from dota_crops.picture import open_picture
from dota_crops.plan import Crop, choose, shared
from dota_crops.scenes import Pair, read_scene
from dota_crops.statistics import shortages
from dota_root import add_image, make_root, squares
from ivl_shards import UserError, open_dataset

RECIPE = DotaRecipe(counts=(3, 4, 5), total=60, effort=16)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dota")
    make_root(folder, 3)
    return make_root(folder, 3, split="train")


def content(path: Path) -> str:
    return str(open_dataset(path).attributes["content_sha256"])


def test_workers_shards_and_order_do_not_change_the_result(root: Path, tmp_path: Path) -> None:
    generate(RECIPE, tmp_path / "a.h5", root=root, workers=1)
    generate(RECIPE, tmp_path / "b.h5", root=root, workers=2, shard_size=17)
    assert content(tmp_path / "a.h5") == content(tmp_path / "b.h5")
    plan = make_plan(RECIPE, root)
    sample = start(plan.recipe, plan.source)
    last = sample(len(plan.crops) - 1)
    stored = open_dataset(tmp_path / "a.h5")[-1]
    assert np.array_equal(last["centres"], stored["centres"])


def test_the_machine_s_folder_is_not_in_the_file(root: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    moved.symlink_to(root)
    generate(RECIPE, tmp_path / "a.h5", root=root, workers=1)
    generate(RECIPE, tmp_path / "b.h5", root=moved, workers=1)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    assert str(root).encode() not in (tmp_path / "a.h5").read_bytes()


def test_other_labels_or_pixels_are_another_recipe(tmp_path: Path) -> None:
    root = make_root(tmp_path, 1)
    first = make_plan(RECIPE, root).recipe.source_sha256
    path = root / "val/images/P0000.png"
    pixels = cv2.imread(str(path))
    pixels[0, 0] += 1
    cv2.imwrite(str(path), pixels)
    assert make_plan(RECIPE, root).recipe.source_sha256 != first


def test_seed_and_split_change_the_crops(root: Path) -> None:
    windows = {
        name: [crop.window for crop in make_plan(recipe, root).crops]
        for name, recipe in {
            "first": RECIPE,
            "again": RECIPE,
            "seed": replace(RECIPE, seed=1),
            "split": DotaRecipe((3, 4, 5), 60, split="train", effort=16),
        }.items()
    }
    assert windows["first"] == windows["again"]
    assert windows["first"] != windows["seed"] and windows["first"] != windows["split"]


def test_each_image_is_decoded_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    plain = dota_crops.extract.open_picture

    def counting(path: Path, pixels: int) -> object:
        opened.append(path)
        return plain(path, pixels)

    monkeypatch.setattr(dota_crops.extract, "open_picture", counting)
    plan = make_plan(RECIPE, root)
    sample = start(plan.recipe, plan.source)
    for row in range(len(plan.crops)):
        sample(row)
    assert len(plan.crops) > 30 and len(opened) == len(set(opened)) == len(plan.scenes)


@pytest.mark.parametrize("turn", range(8))
def test_quads_and_centres_lie_on_the_objects_however_turned(root: Path, turn: int) -> None:
    plan = make_plan(DotaRecipe((4,), 6, effort=8), root)
    crops = [replace(crop, turn=turn) for crop in plan.crops]
    sample = start(plan.recipe, PlannedCrops(plan.scenes, crops))
    for row in range(len(crops)):
        made = sample(row)
        grey = cv2.imdecode(made["image"], cv2.IMREAD_GRAYSCALE)
        inside = np.zeros_like(grey)
        for quad in made["quads"]:
            cv2.fillConvexPoly(inside, np.round(quad * 16 - 8).astype(np.int32), 1, shift=4)
        edge = cv2.dilate(inside, np.ones((3, 3))) != cv2.erode(inside, np.ones((3, 3)))
        assert np.array_equal((grey > 130)[~edge], (inside > 0)[~edge])
        for x, y in made["centres"]:
            assert grey[int(y), int(x)] > 180


def test_a_crop_can_be_made_again_from_what_it_stores(root: Path, tmp_path: Path) -> None:
    recipe = DotaRecipe((3, 4), 20, split="train", effort=8)
    generate(recipe, tmp_path / "a.h5", root=root, workers=1)
    dataset = open_dataset(tmp_path / "a.h5")
    assert len({int(sample["turn"]) for sample in dataset}) > 3
    for sample in dataset:
        name = sample["source_image"].item().decode()
        x0, y0, x1, y1 = sample["window"]
        window = cv2.imread(str(root / "train/images" / name))[y0:y1, x0:x1]
        turn = int(sample["turn"])
        again = np.rot90(resized(window, 128)[:, :: -1 if turn >= 4 else 1], turn % 4)
        assert np.abs(again[..., ::-1].astype(int) - sample.image).mean() < 1.5  # JPEG
        lines = (root / "train/labelTxt" / name).with_suffix(".txt").read_text().splitlines()
        for line, quad in zip(sample["source_line"], sample["source_quads"], strict=True):
            assert lines[line - 1].split()[:8] == [f"{v:g}" for v in quad.reshape(-1)]
        assert sample["gsd"] == np.float32(0.25)


def test_plain_h5py_opens_it(root: Path, tmp_path: Path) -> None:
    generate(replace(RECIPE, dense_memory=True), tmp_path / "a.h5", root=root, workers=1)
    with h5py.File(tmp_path / "a.h5") as file:
        count = file["object_count"][0]
        assert cv2.imdecode(file["image"][0], cv2.IMREAD_COLOR).shape == (128, 128, 3)
        assert file["memory"].shape[1:] == (6, 128, 128)
        assert (file["centres"][0, count:] == 0).all() and (file["centres"][0, :count] > 0).all()


def test_fewer_crops_than_asked_for_are_explained_and_never_repeated(tmp_path: Path) -> None:
    root = make_root(tmp_path, 1)
    plan = make_plan(DotaRecipe((3, 20), 2000, overlap=0.5, effort=8), root)
    assert 0 < plan.yields[3].given < 1000
    assert len({crop.window for crop in plan.crops}) == len(plan.crops) == plan.recipe.total
    assert plan.recipe.asked == 2000
    three, twenty = shortages(plan)
    assert "3 objects" in three and "--overlap" in three
    assert "20 objects: 0 crops instead of 1,000" in twenty


def test_train_crops_are_distinct_though_windows_come_again(tmp_path: Path) -> None:
    add_image(tmp_path, "P1", squares(0), split="train")
    plan = make_plan(DotaRecipe((3,), 100_000, split="train", effort=4), tmp_path)
    crops = {(crop.window, crop.turn) for crop in plan.crops}
    windows = {crop.window for crop in plan.crops}
    assert len(crops) == len(plan.crops) == 8 * len(windows)


def test_images_are_drawn_by_the_seed(tmp_path: Path) -> None:
    root = make_root(tmp_path, 8)
    recipe = DotaRecipe((3,), 40, images=3, effort=4)
    names = {
        seed: {s.name for s in make_plan(replace(recipe, seed=seed), root).scenes}
        for seed in range(4)
    }
    assert all(len(drawn) == 3 for drawn in names.values())
    assert len(set(map(frozenset, names.values()))) > 1


@pytest.mark.parametrize("cut", ["reject", "keep>=0.7", "centre"])
def test_cut_rules_on_a_square_at_the_edge(tmp_path: Path, cut: str) -> None:
    """A square of 100 pixels, of which a window sees a part."""
    quad = np.array([[[200, 200], [300, 200], [300, 300], [200, 300]]])
    labels = add_image(tmp_path, "P1", quad)
    scene = read_scene(Pair(tmp_path / "val/images/P1.png", labels), "plane", 1).scene
    assert scene is not None
    lefts = np.array([100, 200, 201, 229, 231, 249, 251, 299, 300])
    windows = np.stack([lefts, lefts * 0 + 150, lefts + 200, lefts * 0 + 350], 1)
    counts = judge(cut, scene.polygons, scene.centres, windows).counts().tolist()
    expected = {
        "reject": [1, 1, -1, -1, -1, -1, -1, -1, 0],
        "keep>=0.7": [1, 1, 1, 1, 0, 0, 0, 0, 0],
        "centre": [1, 1, 1, 1, 1, 1, 0, 0, 0],
    }
    assert counts == expected[cut]


@pytest.mark.parametrize("cut", ["keep>=0.7", "centre"])
def test_datasets_with_other_cut_rules(root: Path, tmp_path: Path, cut: str) -> None:
    generate(replace(RECIPE, cut=cut), tmp_path / "a.h5", root=root, workers=1)
    dataset = open_dataset(tmp_path / "a.h5")
    assert dataset.recipe["cut"] == cut
    for sample in dataset:
        assert len(sample["centres"]) in (3, 4, 5)
        assert (sample["centres"] >= 0).all() and (sample["centres"] <= 128).all()


@pytest.mark.parametrize("text", ["", "keep", "keep>=0", "keep>=1.2", "keep>=x", "cut"])
def test_a_cut_rule_that_is_none(text: str) -> None:
    with pytest.raises(UserError):
        parse_cut(text)


def test_chosen_windows_keep_apart() -> None:
    rng = np.random.default_rng(0)
    corners, sides = rng.integers(0, 800, (300, 2)), rng.integers(100, 200, (300, 1))
    windows = np.concatenate([corners, corners + sides], 1)
    previous = 0
    for limit in (0.0, 0.3, 0.6, 0.9):
        chosen = choose(windows, limit, np.random.default_rng(1))
        for a, b in itertools.combinations(chosen.tolist(), 2):
            width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
            height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
            least = min((w[2] - w[0]) * (w[3] - w[1]) for w in (a, b))
            assert width * height <= limit * least
        assert len(chosen) > previous
        previous = len(chosen)
    assert shared(windows).max() <= 1


def test_shrinking_weighs_areas_and_does_not_alias() -> None:
    """A fine chequerboard becomes even grey; single samples of it would be black or white."""
    board = (np.indices((1000, 1000)).sum(0) % 2 * 255).astype(np.uint8)
    grey = resized(np.repeat(board[..., None], 3, 2), 128)
    assert grey.shape == (128, 128, 3) and np.abs(grey.astype(int) - 127).max() <= 2


def test_thousands_of_ships_in_one_image_are_no_trouble(tmp_path: Path) -> None:
    cells = np.stack(np.meshgrid(np.arange(60), np.arange(60)), -1).reshape(-1, 1, 2)
    quads = cells * 30 + 15 + np.array([[-6, -4], [6, -4], [6, 4], [-6, 4]])
    labels = add_image(tmp_path, "P1", quads, size=1800)
    labels.write_text(labels.read_text().replace("plane", "ship"))
    plan = make_plan(DotaRecipe((9, 16), 40, category="ship", effort=6), tmp_path)
    assert plan.yields[9].given + plan.yields[16].given > 0
    assert all(isinstance(crop, Crop) for crop in plan.crops)


def objects_of(path: Path) -> dict[str, list[set[int]]]:
    """The objects of every crop, by source image."""
    found: dict[str, list[set[int]]] = {}
    dataset = open_dataset(path)
    for row in range(len(dataset)):
        sample = dataset[row]
        lines = {int(line) for line in sample["source_line"]}
        found.setdefault(str(sample["source_image"]), []).append(lines)
    return found


def test_test_crops_share_few_objects_whatever_their_counts(root: Path, tmp_path: Path) -> None:
    generate(RECIPE, tmp_path / "test.h5", root=root, workers=1)
    of_images = objects_of(tmp_path / "test.h5")
    pairs = [pair for sets in of_images.values() for pair in itertools.combinations(sets, 2)]
    assert len(pairs) > 30
    assert max(len(a & b) / len(a | b) for a, b in pairs) <= RECIPE.shared
    loose = make_plan(replace(RECIPE, shared=1.0), root)
    assert len(loose.crops) >= sum(map(len, of_images.values()))


def test_processes_find_the_same_crops(tmp_path: Path) -> None:
    root = make_root(tmp_path, 9)
    alone, together = (make_plan(RECIPE, root, workers=workers) for workers in (1, 2))
    assert alone.crops == together.crops and alone.recipe == together.recipe
    assert alone.rejected == together.rejected and alone.unused == together.unused


def faint(root: Path, quads: np.ndarray, hidden: int) -> None:
    """An image of squares, the first of which hardly differ from the ground."""
    add_image(root, "P1", quads)
    path = root / "val/images/P1.png"
    pixels = cv2.imread(str(path))
    for quad in quads[:hidden]:
        cv2.fillConvexPoly(pixels, quad.astype(np.int32), (64, 54, 44))
    assert cv2.imwrite(str(path), pixels)


def test_contrast_is_that_of_the_object_with_its_ground(tmp_path: Path) -> None:
    quads = squares(0)
    faint(tmp_path, quads, 6)
    path = tmp_path / "val/images/P1.png"
    found = contrasts(open_picture(path, 600 * 600), quads, 600, 600)
    # Half of an enlarged quad is ground, so the deviation is half the difference: 4 and 169.
    assert np.allclose(found[:6], 2, atol=0.3) and np.allclose(found[6:], 84.5, atol=4)


def test_visible_crops_hold_no_faint_object(tmp_path: Path) -> None:
    faint(tmp_path, squares(0), 6)
    for visible in (False, True):
        out = tmp_path / f"{visible}.h5"
        generate(replace(RECIPE, visible=visible), out, root=tmp_path, workers=1)
        dataset = open_dataset(out)
        lowest = [dataset[row]["contrast"].min() for row in range(len(dataset))]
        assert (min(lowest) >= VISIBLE) == visible
