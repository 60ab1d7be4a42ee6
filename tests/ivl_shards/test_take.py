"""Select, split, reshard and merge: samples stay as they are, and files say where from."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from cases import CASES
from commands import assert_one_line, tool
from crafted import reseal
from fuzzing import cases
from ivl_shards import Damage, Dataset, Metadata, Origin, UserError, generate, open_dataset
from ivl_shards.disk import is_temporary
from ivl_shards.export.formats import export
from ivl_shards.generation.layout import shard_folder
from ivl_shards.inspect.card import card
from ivl_shards.inspect.info import format_info
from ivl_shards.inspect.publication import Publication, list_files
from ivl_shards.inspect.verify import problems
from ivl_shards.rewrite import merge, reshard, split, take
from photos import PHOTOS, PhotoRecipe
from shapes_gen import COLOURED, ColouredRecipe, ToyRecipe

Make = Callable[..., Dataset]


def sound(path: Path) -> Dataset:
    """Open a dataset without a flaw, whose files HDF5 opens too."""
    assert list(problems(path)) == []
    dataset = open_dataset(path)
    with h5py.File(path) as file:
        assert len(file["image"]) == len(dataset)
        assert np.array_equal(file["digest"][:], dataset.column("digest"))
    return dataset


def digests(dataset: Dataset) -> list[bytes]:
    return [row.tobytes() for row in dataset.column("digest")]


def content(dataset: Dataset) -> str:
    return str(dataset.attributes["content_sha256"])


def card_of(dataset: Dataset) -> str:
    return card(dataset, list(list_files(dataset)), Publication())


# --- take --------------------------------------------------------------------------------


@pytest.mark.parametrize("source_size", [None, 7], ids=["from one file", "from shards"])
@pytest.mark.parametrize("size", [None, 5], ids=["to one file", "to shards"])
@pytest.mark.parametrize(
    ("recipe", "condition"),
    [
        (ToyRecipe((1, 2, 3), 40), "line_count <= 2"),
        (ColouredRecipe((3, 4), 40, size=48, dense_memory=True), "object_count == 4"),
        (PhotoRecipe((1, 2), 40), "line_count > 1 and camera == 'box'"),
    ],
    ids=["maps", "dense memory", "JPEG and text"],
)
def test_the_samples_that_fulfil_a_condition(
    make: Make, tmp_path: Path, recipe, condition: str, source_size, size
) -> None:
    source = make(recipe, shard_size=source_size)
    made = take(source.path, tmp_path / "out.h5", where=condition, shard_size=size, workers=1)
    wanted, found = source.where(condition), sound(tmp_path / "out.h5")
    assert made.rendered == made.samples == len(found) == len(wanted) < len(source)
    assert len(found.shards) == (1 if size is None else -(-len(wanted) // 5))
    assert digests(found) == digests(wanted)
    for i in (0, -1):
        for name, value in found.stored(i).items():
            assert np.array_equal(value, wanted.stored(i)[name]), name


def chunks(path: Path, name: str) -> list[bytes]:
    with h5py.File(path) as file:
        rest = (0,) * (file[name].ndim - 1)
        return [file[name].id.read_direct_chunk((i, *rest))[1] for i in range(len(file[name]))]


def test_compressed_maps_are_copied_byte_for_byte(make: Make, tmp_path: Path) -> None:
    source = make(ToyRecipe((1, 2), 10))
    take(source.path, tmp_path / "out.h5", rows="2-4", workers=1)
    for name in ("image", "steps"):
        assert chunks(tmp_path / "out.h5", name) == chunks(source.path, name)[2:5]


def test_rows_and_random_samples(make: Make, tmp_path: Path) -> None:
    source = make(ColouredRecipe((3,), 50, size=48), shard_size=8)
    everything = digests(source)

    def taken(**options) -> list[int]:
        take(source.path, tmp_path / "out.h5", workers=1, overwrite=True, **options)
        return [everything.index(each) for each in digests(sound(tmp_path / "out.h5"))]

    assert taken(rows="40-49,3") == [3, *range(40, 50)]
    assert taken(rows=range(5, 9)) == [5, 6, 7, 8]
    assert taken(rows=np.array([30, 2, 2])) == [2, 30]
    ten = taken(n=10, seed=1)
    assert ten == sorted(set(ten)) and len(ten) == 10
    assert taken(n=10, seed=2) != ten == taken(n=10, seed=1)
    assert set(ten) < set(taken(n=20, seed=1)), "a larger sample contains the smaller one"
    assert set(taken(rows="0-9", n=5)) <= set(range(10))


def test_it_says_how_it_came_about(make: Make, tmp_path: Path) -> None:
    source = make(ToyRecipe((1, 2, 3), 30, seed=4, split="train"), shard_size=9)
    take(source.path, tmp_path / "once.h5", where=["line_count > 1", "line_count < 3"], workers=1)
    take(tmp_path / "once.h5", tmp_path / "twice.h5", n=4, seed=7, split="few", workers=1)
    once, twice = sound(tmp_path / "once.h5"), sound(tmp_path / "twice.h5")
    for name in (
        "task",
        "seed",
        "licence",
        "title",
        "limits",
        "responsible_use",
        "versions",
        "split",
    ):
        assert once.attributes[name] == source.attributes[name], name
    assert (once.recipe["operation"], once.recipe["total"]) == ("take", 10)
    (stated,) = once.recipe["sources"]
    assert stated["recipe"] == source.recipe
    assert stated["content_sha256"] == content(source)
    assert twice.recipe["sources"][0]["recipe"] == once.recipe
    assert (twice.recipe["n"], twice.recipe["seed"]) == (4, 7)
    assert (twice.attributes["split"], twice.attributes["seed"]) == ("few", 4)
    assert "'line_count > 1' and 'line_count < 3'" in twice.attributes["description"]
    for text in (card_of(twice), format_info(twice)):
        assert "ivl-shards take" in text and "larger dataset" not in text
    assert f"10 samples, content sha256 {content(once)}" in format_info(twice)
    assert "ivl-shards take SOURCE.h5 --n 4 --seed 7 --split few --out OUT.h5" in card_of(twice)


def test_the_command_in_the_card_makes_it_again(run, make: Make, tmp_path: Path) -> None:
    source = make(ToyRecipe((1, 2, 3), 30), "SOURCE.h5")
    take(source.path, tmp_path / "out.h5", where="line_count == 2", n=3, seed=9, workers=1)
    made = open_dataset(tmp_path / "out.h5")
    words = made.attributes["command"].split(" ", 1)[1]
    shell = subprocess.run(f"{tool('ivl-shards')} {words}", shell=True, cwd=tmp_path)
    assert shell.returncode == 0
    assert content(open_dataset(tmp_path / "OUT.h5")) == content(made)


def test_a_category_is_exported_as_before(tmp_path: Path) -> None:
    recipe, source = CASES["dota"].prepare(tmp_path)
    generate(CASES["dota"].generator, recipe, tmp_path / "all.h5", source=source, workers=1)
    take(tmp_path / "all.h5", tmp_path / "few.h5", rows="0-3", workers=1)
    for name in ("all", "few"):
        list(export(open_dataset(tmp_path / f"{name}.h5"), "coco", tmp_path / name))
    found = [json.loads((tmp_path / n / "annotations.json").read_text()) for n in ("all", "few")]
    assert found[0]["categories"] == found[1]["categories"]
    assert found[0]["categories"][0]["name"] == recipe.category


# --- split -------------------------------------------------------------------------------


def test_parts_share_no_sample_and_leave_none_out(make: Make, tmp_path: Path) -> None:
    source = make(ColouredRecipe((3, 4), 60, size=48), shard_size=25)
    outs = [tmp_path / f"{name}.h5" for name in ("train", "val", "test")]
    split(source.path, outs, [0.5, 0.3, 0.2], seed=3, workers=1)
    parts = [sound(out) for out in outs]
    assert [len(part) for part in parts] == [30, 18, 12]
    assert [part.attributes["split"] for part in parts] == ["train", "val", "test"]
    together = [each for part in parts for each in digests(part)]
    assert sorted(together) == sorted(digests(source))
    split(source.path, [tmp_path / "again.h5"], [0.5], seed=3, workers=1)
    assert content(open_dataset(tmp_path / "again.h5")) == content(parts[0])


@pytest.mark.parametrize("case", ["dota", "icdar"])
def test_parts_that_share_no_photograph(tmp_path: Path, case: str) -> None:
    recipe, source = CASES[case].prepare(tmp_path)
    generate(CASES[case].generator, recipe, tmp_path / "all.h5", source=source, workers=1)
    outs = [tmp_path / "train.h5", tmp_path / "val.h5"]
    split(tmp_path / "all.h5", outs, [0.6, 0.4], by="source_image", workers=1)
    train, val = map(sound, outs)
    assert not set(train.column("source_image").ravel()) & set(val.column("source_image").ravel())
    assert len(train) + len(val) == len(open_dataset(tmp_path / "all.h5"))
    for name in ("licence", "origins", "limits", "responsible_use"):
        assert train.attributes[name] == open_dataset(tmp_path / "all.h5").attributes[name]


def test_split_on_the_command_line(run, make: Make, tmp_path: Path) -> None:
    make(ToyRecipe((1, 2), 20), "in.h5")
    command = ["ivl-shards", "split", "in.h5", "--fractions", "0.75,0.25", "--out", "a.h5"]
    assert_one_line(run(*command), 2, "2 fractions for 1 files")
    assert_one_line(run(*command, "--out", "a.h5"), 2, "the same --out")
    assert_one_line(run(*command, "--out", "in.h5"), 2, "dataset to copy from")
    assert_one_line(run(*command, "--out", "b.h5", "--by", "label"), 2, "label", "several values")
    assert_one_line(run(*command, "--out", "b.h5", "--by", "lines"), 2, "no field 'lines'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.h5"]
    assert run(*command, "--out", "b.h5", "--names", "train,val").returncode == 0
    assert len(sound(tmp_path / "a.h5")) == 15
    assert sound(tmp_path / "b.h5").attributes["split"] == "val"


# --- reshard -----------------------------------------------------------------------------


def test_shards_to_one_file_and_back(make: Make, tmp_path: Path) -> None:
    recipe = PhotoRecipe((1, 2, 3), 33)
    source = make(recipe, shard_size=10)
    reshard(source.path, tmp_path / "one.h5", shard_size=33, workers=1)
    reshard(tmp_path / "one.h5", tmp_path / "many.h5", shard_size=4, workers=1)
    one, many = sound(tmp_path / "one.h5"), sound(tmp_path / "many.h5")
    assert (len(one.shards), many.shard_sizes) == (1, [4] * 8 + [1])
    for dataset in (one, many):
        assert digests(dataset) == digests(source)
        for name in source.attributes.keys() - {"shards", "places"}:  # those of an index
            assert dataset.attributes[name] == source.attributes[name], name
    assert generate(PHOTOS, recipe, tmp_path / "many.h5", shard_size=4).rendered == 0
    assert generate(PHOTOS, recipe, tmp_path / "one.h5").rendered == 0


def test_another_size_under_the_same_name_is_asked_for(make: Make, tmp_path: Path) -> None:
    source, out = make(ToyRecipe((1,), 12)), tmp_path / "out.h5"
    reshard(source.path, out, shard_size=5, workers=1)
    assert reshard(source.path, out, shard_size=5, workers=1).rendered == 0
    with pytest.raises(UserError, match="out.h5: holds this dataset in files of another size"):
        reshard(source.path, out, shard_size=4, workers=1)
    for size in (4, 12, 3):
        assert reshard(source.path, out, shard_size=size, workers=1, overwrite=True).rendered == 12
        dataset = sound(out)
        assert dataset.shard_sizes[0] == size
        files = {path for path in tmp_path.rglob("*.h5")} - {source.path}
        assert files == {out, *dataset.shards}


def test_one_shard_of_a_larger_dataset(make: Make, tmp_path: Path) -> None:
    source = make(ToyRecipe((1,), 12), shard_size=5)
    reshard(source.shards[1], tmp_path / "out.h5", shard_size=2, workers=1)
    found = sound(tmp_path / "out.h5")
    assert digests(found) == digests(source)[5:10]
    firsts = [open_dataset(path).attributes["first_sample"] for path in found.shards]
    assert firsts == [5, 7, 9]


# --- merge -------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [False, True], ids=["", "dense memory"])
def test_the_larger_padding_is_used(make: Make, tmp_path: Path, dense: bool) -> None:
    short = make(ToyRecipe((1, 2), 6, dense_memory=dense), "a.h5")
    long = make(ToyRecipe((4,), 5, dense_memory=dense), "b.h5", shard_size=2)
    for order in ([short, long], [long, short]):
        out = tmp_path / "out.h5"
        merge([each.path for each in order], out, shard_size=3, workers=1, overwrite=True)
        found = sound(out)
        assert digests(found) == [d for each in order for d in digests(each)]
        for name in ("image", "steps", "label", "line_box"):
            assert found.schema[name].shape == long.schema[name].shape
        assert np.array_equal(found[0].memory(1), order[0][0].memory(1))
        assert np.array_equal(found[-1].image, order[1][-1].image)


def by_others(licence: str, what: str, limit: str) -> Metadata:
    return Metadata("Photos", "Noise.", "", (Origin(what, "a shop", licence),), (limit, "small"))


def of_a_shop(recipe, source) -> Metadata:
    return by_others("MIT", "paper", "grainy")


def of_a_friend(recipe, source) -> Metadata:
    return by_others("CC-BY-4.0", "film", "blurred")


def test_merge_of_merges_keeps_all_origins(tmp_path: Path) -> None:
    generators = [
        replace(PHOTOS, licence="MIT", metadata=of_a_shop),
        replace(PHOTOS, licence="CC-BY-4.0", metadata=of_a_friend, version="2"),
        PHOTOS,
    ]
    paths = [tmp_path / f"{k}.h5" for k in range(3)]
    for k, (generator, path) in enumerate(zip(generators, paths, strict=True)):
        recipe = PhotoRecipe((k + 1,), 4, split=("train", "val", "train")[k])
        generate(generator, recipe, path, workers=1)
    merge(paths[:2], tmp_path / "two.h5", workers=1)
    merge([tmp_path / "two.h5", paths[2]], tmp_path / "three.h5", workers=1)
    found = sound(tmp_path / "three.h5")
    assert digests(found) == [each for path in paths for each in digests(open_dataset(path))]
    attributes = found.attributes
    assert attributes["licence"] == "MIT AND CC-BY-4.0 AND CC0-1.0"
    assert [origin["what"] for origin in json.loads(attributes["origins"])] == ["paper", "film"]
    assert json.loads(attributes["limits"]) == ["grainy", "small", "blurred"]
    assert attributes["split"] == "train-val"
    two, last = found.recipe["sources"]
    assert [source["generator_version"] for source in two["recipe"]["sources"]] == ["1", "2"]
    assert last["recipe"] == open_dataset(paths[2]).recipe
    assert "SOURCE-2.h5" in card_of(found) and "MIT AND CC-BY-4.0" in card_of(found)


def test_a_merge_with_a_long_recipe(make: Make, tmp_path: Path) -> None:
    paths = [make(ToyRecipe((1,), 1, seed=k), f"{k}.h5").path for k in range(170)]
    merge(paths, tmp_path / "out.h5", workers=1)
    found = sound(tmp_path / "out.h5")
    assert len(found) == 170 and len(found.attributes["recipe"]) > 1 << 16
    assert [source["seed"] for source in found.recipe["sources"]] == list(range(170))


def change(path: Path, name: str, attribute: str, value: str) -> None:
    with h5py.File(path, "r+") as file:
        file[name].attrs[attribute] = value
    reseal(path)


def test_what_does_not_fit_together(make: Make, tmp_path: Path) -> None:
    toy = make(ToyRecipe((1, 2), 4), "toy.h5")

    def refused(other: Dataset, *words: str) -> None:
        with pytest.raises(UserError) as error:
            merge([toy.path, other.path], tmp_path / "out.h5", workers=1)
        for word in (str(other.path), str(toy.path), *words):
            assert word in str(error.value)
        assert "\n" not in str(error.value)

    refused(make(ColouredRecipe((3,), 2), "a.h5"), "task is coloured-shapes, not toy-shapes")
    refused(make(ToyRecipe((1,), 2, dense_memory=True), "b.h5"), "also has a field 'memory'")
    refused(make(ToyRecipe((1,), 2, per_line=4), "c.h5"), "'label' has the shape 1×4, not 2×5")
    refused(make(ToyRecipe((300,), 1), "d.h5"), "'steps' is u2, not u1")
    other = make(ToyRecipe((1,), 2), "e.h5")
    classes = json.dumps(["dot", *toy.schema["label"].classes[1:]])
    change(other.path, "label", "classes", classes)
    refused(other, "'label' has other classes")
    with pytest.raises(UserError, match="toy.h5: is given twice"):
        merge([toy.path, tmp_path / "." / "toy.h5"], tmp_path / "out.h5")
    assert not (tmp_path / "out.h5").exists()


# --- input and output that are wrong -----------------------------------------------------


def test_mistakes_are_one_line(run, make: Make, tmp_path: Path) -> None:
    make(ToyRecipe((1, 2), 20), "in.h5")
    (tmp_path / "notes.h5").write_text("my thesis")
    before = sorted(tmp_path.iterdir())

    def refused(*words: str, command: tuple[str, ...]) -> None:
        assert_one_line(run("ivl-shards", *command), 2, *words)

    out = ("--out", "out.h5")
    refused("nothing to select", command=("take", "in.h5", *out))
    refused("no field 'lines'", command=("take", "in.h5", "--where", "lines < 3", *out))
    refused("cannot be used", command=("take", "in.h5", "--where", "line_count <", *out))
    refused("a text is compared", command=("take", "in.h5", "--where", "line_count == 'a'", *out))
    refused("only numbers", command=("take", "in.h5", "--where", "-line_count < 3", *out))
    refused("several values", command=("take", "in.h5", "--where", "image == 3", *out))
    refused("no sample fulfils", command=("take", "in.h5", "--where", "line_count > 9", *out))
    refused("its rows are 0-19", command=("take", "in.h5", "--rows", "0-20", *out))
    refused("only 20 samples", command=("take", "in.h5", "--n", "21", *out))
    refused("no such file", command=("take", "gone.h5", "--n", "2", *out))
    refused("not an HDF5 file", command=("take", "notes.h5", "--n", "2", *out))
    refused("copy from", command=("take", "in.h5", "--n", "2", "--overwrite", "--out", "in.h5"))
    refused("must end in .h5", command=("reshard", "in.h5", "--out", "out.txt"))
    refused("no such folder", command=("reshard", "in.h5", "--out", "new/out.h5"))
    refused("in the way", command=("reshard", "in.h5", "--out", "notes.h5", "--overwrite"))
    refused("at least two", command=("merge", "in.h5", *out))
    assert sorted(tmp_path.iterdir()) == before


def test_another_dataset_in_the_way(make: Make, tmp_path: Path) -> None:
    source, other = make(ToyRecipe((1,), 12)), make(ToyRecipe((2,), 5), "out.h5", shard_size=2)
    with pytest.raises(UserError, match="holds another dataset.*--overwrite"):
        take(source.path, other.path, n=4, workers=1)
    assert digests(sound(other.path)) == digests(other)
    take(source.path, other.path, n=4, workers=1, overwrite=True)
    assert len(sound(other.path)) == 4
    assert sorted(tmp_path.rglob("*.h5")) == sorted([source.path, other.path])


def test_a_source_among_the_shards_that_would_be_removed(make: Make, tmp_path: Path) -> None:
    source = make(ToyRecipe((1,), 12), shard_size=5)
    for name in (source.path, source.path.parent / "." / source.path.name):
        with pytest.raises(UserError, match="lies in the folder"):
            take(source.shards[0], name, n=2, overwrite=True)
    (tmp_path / "link.h5").symlink_to(source.path)
    with pytest.raises(UserError, match="copy from"):
        reshard(source.path, tmp_path / "link.h5", overwrite=True)
    assert len(sound(source.path)) == 12


@pytest.mark.parametrize("damage", ["missing", "one bit", "of another dataset", "cut short"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_shard_is_named(make: Make, tmp_path: Path, damage: str, workers: int) -> None:
    source = make(ToyRecipe((1, 2), 30), shard_size=10)
    shard = source.shards[1]
    data = bytearray(shard.read_bytes())
    if damage == "missing":
        shard.unlink()
    elif damage == "one bit":
        with h5py.File(shard) as file:
            place = file["steps"].id.get_chunk_info(0).byte_offset + 5
        data[place] ^= 4
        shard.write_bytes(data)
    elif damage == "cut short":
        shard.write_bytes(data[:-100])
    else:
        other = make(ToyRecipe((1, 2), 30, seed=1), "other.h5", shard_size=10)
        shutil.copy(other.shards[1], shard)
    with pytest.raises(Damage, match=shard.name):
        reshard(source.path, tmp_path / "out.h5", shard_size=6, workers=workers)
    assert not (tmp_path / "out.h5").exists()
    take(source.shards[0], tmp_path / "rest.h5", rows="0-5", workers=1)
    assert len(sound(tmp_path / "rest.h5")) == 6


def test_a_repacked_source(make: Make, tmp_path: Path) -> None:
    """Other programs store the same values in other chunks."""
    source = make(ToyRecipe((1, 2), 30))
    wanted = digests(source)
    with h5py.File(source.path, "r+") as file:
        for name, options in (("steps", {"shuffle": True}), ("label", {})):
            values, attributes = file[name][:], dict(file[name].attrs)
            del file[name]
            rows = (4, *values.shape[1:])
            new = file.create_dataset(name, data=values, chunks=rows, compression=5, **options)
            new.attrs.update(attributes)
    reseal(source.path)
    take(source.path, tmp_path / "out.h5", rows="3-17", workers=1)
    assert digests(sound(tmp_path / "out.h5")) == wanted[3:18]


def test_a_full_disk(make: Make, tmp_path: Path) -> None:
    make(ColouredRecipe((5,), 360), "in.h5")
    words = "take in.h5 --rows 0-299 --shard-size 30 --workers 1 --quiet --force --out disk/out.h5"
    command = f"{tool('ivl-shards')} {words}"
    (tmp_path / "disk").mkdir()
    script = (
        f"mount -t tmpfs -o size=500k none disk || exit 77; {command}; echo code $?; "
        f"ls disk/out.h5.shards; mount -o remount,size=8m disk; {command}; echo code $?; "
        f"{tool('ivl-shards')} verify disk/out.h5"
    )
    ran = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if "code" not in ran.stdout:
        pytest.skip("needs the right to mount a tmpfs in a namespace of its own")
    assert ran.stderr.count("\n") == 1 and "disk is full" in ran.stderr
    assert "code 1" in ran.stdout and "code 0" in ran.stdout and "sound: 300" in ran.stdout
    assert "-00000-of-00010.h5" in ran.stdout and ".tmp" not in ran.stdout


@pytest.mark.slow
def test_the_same_on_a_cluster(make: Make, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    source = make(PhotoRecipe((1, 2), 60), shard_size=7)
    with distributed.LocalCluster(2, dashboard_address=":0", silence_logs=50) as cluster:
        out, address = tmp_path / "out.h5", cluster.scheduler_address
        take(source.path, out, where="line_count == 2", shard_size=4, dask=address)
    assert digests(sound(out)) == digests(source.where(line_count=2))


# --- killed ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "in.h5"
    generate(COLOURED, ColouredRecipe((3, 4, 5), 3000, size=64), path, shard_size=700)
    return path


CONDITION = ["--where", "object_count != 4", "--shard-size", "20", "--quiet"]


@pytest.mark.slow
def test_killed_and_run_again(large: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.h5"
    command = [tool("ivl-shards"), "take", str(large), *CONDITION, "--out", str(out)]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 60
    while len(list(shard_folder(out).glob("*.h5"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    kept = len(list(shard_folder(out).glob("*.h5")))
    assert kept >= 3
    made = take(large, out, where="object_count != 4", shard_size=20)
    assert made.rendered <= made.samples - 20 * kept
    assert digests(sound(out)) == digests(open_dataset(large).where("object_count != 4"))
    assert not [path for path in tmp_path.rglob("*") if is_temporary(path)]


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize("size", [[], ["--one-file"]], ids=["shards", "one file"])
def test_reshard_killed_at_random_moments(large: Path, tmp_path: Path, size: list[str]) -> None:
    out = tmp_path / "out.h5"
    sizes = size or ["--shard-size", "30"]
    command = [tool("ivl-shards"), "reshard", str(large), *sizes, "--quiet", "--out", str(out)]
    for case in cases(3, 20):
        process = subprocess.Popen(command)
        time.sleep(0.8 + 2 * np.random.default_rng(case).random())  # start-up takes a second
        process.kill()
        process.wait()
        for path in [out, *shard_folder(out).glob("*.h5")]:
            if path.exists():
                assert list(problems(path)) == []
    assert subprocess.run(command).returncode == 0
    assert content(sound(out)) == content(open_dataset(large))
    assert not [path for path in tmp_path.rglob("*") if is_temporary(path)]


def test_a_source_that_has_changed_is_taken_anew(make: Make, tmp_path: Path) -> None:
    out = tmp_path / "out.h5"
    source = make(ToyRecipe((1, 2), 20))
    told: list[int] = []

    def stop(samples: int) -> None:
        told.append(samples)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take(source.path, out, where="line_count == 2", shard_size=3, workers=1, report=stop)
    assert len(list(shard_folder(out).glob("*.h5"))) == 2
    source = make(ToyRecipe((1, 2), 20, seed=1), overwrite=True)
    with pytest.raises(UserError, match="a shard of another dataset is in the way"):
        take(source.path, out, where="line_count == 2", shard_size=3, workers=1)
    take(source.path, out, where="line_count == 2", shard_size=3, workers=1, overwrite=True)
    assert digests(sound(out)) == digests(source.where(line_count=2))
    assert len(list(shard_folder(out).glob("*.h5"))) == 4
