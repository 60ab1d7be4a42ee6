"""A dataset as a sequence of samples."""

import os
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ivl_shards import UserError, open_dataset
from photos import PhotoRecipe
from shapes_gen import ColouredRecipe, ToyRecipe

RECIPE = ToyRecipe(counts=(1, 2, 4), total=50, seed=3)


def test_it_is_a_sequence(make) -> None:
    dataset = make(RECIPE)
    assert len(dataset) == 50
    assert [s.length for s in dataset[:4]] == [1, 2, 4, 1]
    assert dataset[-1].length == dataset[49].length
    assert len(list(dataset)) == 50
    tail = dataset[10:][::2]
    assert len(tail) == 20
    assert np.array_equal(tail[3].image, dataset[16].image)
    chosen = dataset[np.array([7, 3])]
    assert np.array_equal(chosen[1].image, dataset[3].image)
    with pytest.raises(IndexError):
        dataset[50]


def test_samples_come_without_padding(make) -> None:
    dataset = make(RECIPE)
    one, four = dataset[0], dataset[2]
    assert one.image.shape[0] < four.image.shape[0] == dataset.column("image").shape[1]
    assert one["line_box"].shape == (1, 4)
    assert four["label"].shape == (4, 5)
    assert list(one.times) == [0, 1]


def test_the_former_name_of_times_still_works(make) -> None:
    with pytest.warns(DeprecationWarning, match=r"Sample\.times"):
        assert make(RECIPE)[0].steps == range(2)


@pytest.mark.parametrize("shard_size", [None, 7])
def test_batches_are_every_sample_once(make, shard_size) -> None:
    dataset = make(RECIPE, shard_size=shard_size)
    plain = list(dataset.batches(8))
    assert [len(b["image"]) for b in plain] == [8] * 6 + [2]
    assert np.array_equal(np.concatenate([b["label"] for b in plain]), dataset.column("label"))
    assert "digest" not in plain[0]
    shuffled = [b["line_box"] for b in dataset.batches(8, shuffle=1, fields=["line_box"])]
    mixed = np.concatenate(shuffled)
    assert not np.array_equal(mixed, dataset.column("line_box"))
    rows = sorted(row.tobytes() for row in mixed)
    assert rows == sorted(row.tobytes() for row in dataset.column("line_box"))
    again = [b["line_box"] for b in dataset.batches(8, shuffle=1, fields=["line_box"])]
    assert all(np.array_equal(a, b) for a, b in zip(shuffled, again, strict=True))


def test_photographs_are_decoded_and_texts_kept(make) -> None:
    dataset = make(PhotoRecipe(counts=(1, 2), total=6))
    sample = dataset[1]
    assert sample.image.shape == (32, 40, 3)
    assert [t.decode().split()[0] for t in sample["text"]] == ["wörd", "wörd"]
    batch = next(dataset.batches(4))
    assert [image.shape[0] for image in batch["image"]] == [16, 32, 16, 32]


def test_colours_are_in_the_order_red_green_blue(make) -> None:
    sample = make(ColouredRecipe(counts=(1,), total=1))[0]
    x, y = sample["centres"][0].astype(int)
    assert sample.image[y, x].tolist() == sample["colour"][0].tolist()


def test_it_can_be_pickled_and_moved_between_processes(make) -> None:
    dataset = make(RECIPE, shard_size=20)
    dataset[0]
    copy = pickle.loads(pickle.dumps(dataset))
    assert np.array_equal(copy[45].image, dataset[45].image)


def test_a_fork_does_not_share_open_files(make) -> None:
    dataset = make(RECIPE)
    expected = dataset[5].image
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        same = np.array_equal(dataset[5].image, expected)
        os.write(writer, b"y" if same else b"n")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b"y"
    assert np.array_equal(dataset[5].image, expected)


def test_threads_can_read_at_once(make) -> None:
    dataset = make(RECIPE)
    with ThreadPoolExecutor(4) as pool:
        images = list(pool.map(lambda i: dataset[i].image, range(50)))
    assert all(np.array_equal(images[i], dataset[i].image) for i in range(50))


def test_many_shards_stay_within_the_limit_on_open_files(make) -> None:
    dataset = make(ToyRecipe(counts=(1,), total=60), shard_size=1)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert len(dataset.column("label")) == 60
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 70
    assert dataset[59].length == 1


def test_index_and_shards_can_be_moved_together(make, tmp_path: Path) -> None:
    dataset = make(RECIPE, shard_size=20)
    expected = dataset[45].image
    shutil.copytree(tmp_path, tmp_path / "moved", ignore=shutil.ignore_patterns("moved"))
    moved = open_dataset(tmp_path / "moved" / "data.h5")
    shutil.rmtree(tmp_path / "data.h5.shards")
    assert np.array_equal(moved[45].image, expected)


def test_a_shard_opens_by_itself(make) -> None:
    dataset = make(RECIPE, shard_size=20)
    shard = open_dataset(dataset.shards[1])
    assert shard.attributes["first_sample"] == 20
    assert np.array_equal(shard[3].image, dataset[23].image)


def test_a_field_that_is_not_there_is_named(make) -> None:
    with pytest.raises(UserError, match="no field 'colour'.*label"):
        make(RECIPE).column("colour")
