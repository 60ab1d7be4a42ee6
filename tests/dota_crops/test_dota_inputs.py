"""What users have on disk: every usual layout is found, everything bad is named and survived."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dota_crops import DotaRecipe, make_plan
from dota_root import HEADER, add_image, label_lines, make_root, squares
from ivl_shards import UserError

RECIPE = DotaRecipe(counts=(3, 4), total=20, effort=8)


def complaints(root: Path) -> list[str]:
    return [str(complaint) for complaint in make_plan(RECIPE, root).complaints]


def run(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from dota_crops.cli import main; main()"]
    command += map(str, arguments)
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ("val/images", "val/labelTxt"),
        ("val/images", "val/labelTxt-v1.0"),
        ("val/images", "val/labelTxt-v1.0/labelTxt"),
        ("val/images", "val/labelTxt-v1.5"),
        ("val/images", "val/labelTxt-v1.5/DOTA-v1.5_val"),
        ("val/images", "val/labelTxt-v2.0"),
        ("val/images/part1/images", "val/labelTxt-v2.0/DOTA-v2.0_val"),
        ("images/val", "labelTxt/val"),
        ("images/val", "labels/val_original"),
    ],
)
def test_the_usual_layouts_are_found(tmp_path: Path, images: str, labels: str) -> None:
    made, root = make_root(tmp_path / "made", 1), tmp_path / "DOTA"
    for old, new in ((made / "val/images", images), (made / "val/labelTxt", labels)):
        (root / new).parent.mkdir(parents=True, exist_ok=True)
        old.rename(root / new)
    assert make_plan(RECIPE, root).crops


def test_upright_boxes_beside_the_quads_are_not_taken(tmp_path: Path) -> None:
    root = make_root(tmp_path, 1, labels="labelTxt-v1.5/DOTA-v1.5_val")
    upright = root / "val/labelTxt-v1.5/DOTA-v1.5_val_hbb"
    upright.mkdir()
    (upright / "P0000.txt").write_text("0 0 599 0 599 599 0 599 plane 0\n")
    plan = make_plan(RECIPE, root)
    assert plan.crops and not plan.complaints


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".jpeg", ".tif", ".tiff", ".PNG"])
def test_image_formats(tmp_path: Path, suffix: str) -> None:
    assert make_plan(RECIPE, make_root(tmp_path, 1, suffix=suffix)).crops


def test_nothing_found_is_one_line_that_says_where_and_what_to_do(tmp_path: Path) -> None:
    done = run("--counts", "3-10", cwd=tmp_path)
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    (line,) = done.stderr.splitlines()
    assert "data/dota" in line and "val/images" in line and "https://" in line
    done = run("--root", "nowhere", "--split", "train", cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert "nowhere" in line and "train/images" in line


def test_root_comes_from_the_option_then_the_environment_then_the_usual_place(
    tmp_path: Path,
) -> None:
    make_root(tmp_path / "data/dota", 1)
    make_root(tmp_path / "E", 2)
    make_root(tmp_path / "O", 3)
    few = ("--counts", "3", "--n", "3", "--effort", "6", "--workers", "1", "--overwrite")
    for arguments, environment, images in (
        ((), {}, 1),
        ((), {"DOTA_ROOT": "E"}, 2),
        (("--root", "O"), {"DOTA_ROOT": "E"}, 3),
    ):
        done = run(*few, *arguments, cwd=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        assert f"images used{images:78,}" in done.stdout
    assert (tmp_path / "dota-val.h5").exists()


LINES = {
    "seven numbers": "10 10 50 10 50 50 10 plane 0",
    "unknown class": "10 10 50 10 50 50 10 50 zeppelin 0",
    "outside": "700 700 750 700 750 750 700 750 plane 0",
    "leaving": "-10 10 50 10 50 50 -10 50 plane 0",
    "degenerate": "10 10 10 10 10 10 10 10 plane 0",
    "self-crossing": "10 10 50 50 50 10 10 50 plane 0",
}


@pytest.mark.parametrize("bad", LINES.values(), ids=LINES)
def test_a_bad_line_is_a_warning_with_file_and_line_or_an_error(tmp_path: Path, bad: str) -> None:
    labels = add_image(tmp_path, "P1", squares(0))
    labels.write_text(HEADER + bad + "\n" + label_lines(squares(0)))
    (warning,) = complaints(tmp_path)
    assert warning.startswith(f"{labels}:3: ")
    with pytest.raises(UserError, match=r"P1\.txt:3: .*--strict"):
        make_plan(RECIPE, tmp_path, strict=True)


def test_crops_keep_away_from_what_cannot_be_read(tmp_path: Path) -> None:
    """Whether a reader drops a bad line or repairs it, the count must come out the same."""
    quads = squares(0)
    labels = add_image(tmp_path, "P1", quads)
    lines = label_lines(quads).splitlines()
    lines[4] = lines[4].rsplit(" ", 3)[0] + " plane 0"  # the last coordinate is lost
    labels.write_text(HEADER + "\n".join(lines) + "\n")
    plan = make_plan(RECIPE, tmp_path)
    assert plan.crops
    low, high = quads[4].min(0), quads[4].max(0)
    for crop in plan.crops:
        x0, y0, x1, y1 = crop.window
        assert x1 <= low[0] or x0 >= high[0] or y1 <= low[1] or y0 >= high[1]


def test_bad_files_are_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    root = make_root(tmp_path, 3)
    cut_short = add_image(root, "P0007", squares(7), suffix=".jpg")
    image = root / "val/images/P0007.jpg"
    image.write_bytes(image.read_bytes()[: image.stat().st_size // 2])
    add_image(root, "P0008", squares(8)).unlink()
    add_image(root, "P0009", squares(9))
    (root / "val/images/P0009.png").unlink()
    (root / "val/labelTxt/P0001.txt").write_bytes(b"")
    text = (root / "val/labelTxt/P0002.txt").read_bytes()
    (root / "val/labelTxt/P0002.txt").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    plan = make_plan(RECIPE, root)
    assert {scene.name for scene in plan.scenes} == {"P0000.png", "P0002.png"}
    said = "\n".join(map(str, plan.complaints))
    for expected in (
        "P0001.txt: is empty",
        "P0002.txt:1: begins with a byte order mark",
        "P0002.txt:1: has Windows line ends",
        "P0007.jpg: cannot be read",
        "P0008.png: has no labels",
        "P0009.txt: has no image",
    ):
        assert expected in said
    assert cut_short.exists() and len(plan.complaints) == 6
    with pytest.raises(UserError, match="--strict"):
        make_plan(RECIPE, root, strict=True)


def test_names_that_a_crop_cannot_store_are_left_out(tmp_path: Path) -> None:
    root = make_root(tmp_path, 1)
    for name in (b"\xff\xfe.png", b"P" * 130 + b".png"):
        (root / "val/images" / os.fsdecode(name)).write_bytes(b"")
    said = complaints(root)
    assert len(said) == 2 and all("is ignored: its name" in text for text in said)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif"])
def test_a_truncated_image_is_left_out_before_work_begins(tmp_path: Path, suffix: str) -> None:
    root = make_root(tmp_path, 1)
    add_image(root, "P0007", squares(7), suffix=suffix)
    image = root / f"val/images/P0007{suffix}"
    image.write_bytes(image.read_bytes()[:-2000])
    (warning,) = complaints(root)
    assert warning.startswith(f"{image}: cannot be read")


def test_damaged_labels_go_through_the_whole_plan(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = add_image(tmp_path, "P1", squares(0))
    sound = labels.read_bytes()
    recipe = DotaRecipe(counts=(3, 4), total=20, effort=2)
    for _ in range(150):
        data = bytearray(sound)
        for at in rng.integers(len(data), size=12).tolist():
            data[at] = int(rng.choice(np.frombuffer(b"0123456789.- \nex", np.uint8)))
        labels.write_bytes(data)
        try:
            make_plan(recipe, tmp_path)
        except UserError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--category", "zeppelin", "--category zeppelin: choose from plane, ship"),
        ("--cut", "keep>=1.5", "keep>=0.7"),
        ("--overlap", "2", "between 0 and 1"),
        ("--smallest", "500", "smallest 500"),
        ("--images", "0", "at least 1"),
        ("--counts", "40", "no window"),
    ],
)
def test_bad_options_end_in_one_line(tmp_path: Path, option: str, value: str, says: str) -> None:
    make_root(tmp_path / "data/dota", 1)
    done = run(option, value, "--effort", "4", "out.h5", cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith("dota-crops: ") and says in line
    assert not (tmp_path / "out.h5").exists()
