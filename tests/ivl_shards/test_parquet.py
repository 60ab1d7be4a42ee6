"""Export as Parquet: what Hugging Face, pandas, PyArrow and Croissant loaders read."""

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from commands import assert_one_line
from crafted import reseal
from given import GIVEN, make_given
from ivl_shards import Damage, Dataset, Sample, open_dataset
from ivl_shards.export.formats import export
from ivl_shards.format.kinds import kind_of
from ivl_shards.format.pictures import png, pngs
from ivl_shards.inspect.publication import Publication
from shapes_gen import ColouredRecipe, ToyRecipe

pytestmark = [  # theirs
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
]

PUBLISHED = Publication("A lab", "https://example.org/data", "2026-01-31")
RAI = {
    "rai:dataLimitations",
    "rai:dataBiases",
    "rai:personalSensitiveInformation",
    "rai:dataUseCases",
    "rai:dataSocialImpact",
    "rai:hasSyntheticData",
    "rai:dataCollection",
    "prov:wasGeneratedBy",
}
"""What NeurIPS asks for; `prov:wasDerivedFrom` comes with third-party material."""


@pytest.fixture(scope="module", params=GIVEN)
def exported(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Dataset, Path]:
    """A dataset and its export."""
    folder = tmp_path_factory.mktemp("parquet")
    (folder / "data").mkdir()
    dataset = make_given(request.param, folder / "data")
    list(export(dataset, "parquet", folder / "out", published=PUBLISHED))
    return request.param, dataset, folder / "out"


@pytest.fixture
def hugging_face(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Their library, with a cache of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")

    def load(folder: Path, **options: Any):
        return datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"), **options)

    return load


def assert_equal(
    row: dict[str, Any], sample: Sample, dataset: Dataset, names: bool = False
) -> None:
    """Check that a row holds what a sample holds, pictures as PIL images."""
    for field in dataset.schema:
        found, wanted = row[field.name], sample[field.name]
        if field.name == "digest":
            assert _text(found) == wanted.tobytes().hex()
        elif kind_of(field) == "picture":
            assert isinstance(found, Image.Image)
            pixels = np.asarray(found)
            assert pixels.shape == wanted.shape
            # Two decoders of JPEG may differ a little; PNG is exact.
            tolerance = 1.0 if found.format == "JPEG" else 0
            assert np.abs(pixels.astype(int) - wanted).mean() <= tolerance
        elif kind_of(field) == "text":
            expected = [t.decode() for t in np.ravel(wanted).tolist()]
            assert [_text(t) for t in (found if wanted.ndim else [found])] == expected
        else:
            expected = wanted[: sample.length + 1] if field.name == "memory" else wanted
            value = np.array(found, dtype=wanted.dtype).reshape(expected.shape)
            assert np.array_equal(value, expected, equal_nan=wanted.dtype.kind == "f")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streaming"])
def test_hugging_face_gives_pictures_splits_and_class_names(
    exported, hugging_face, streaming: bool
) -> None:
    _, dataset, folder = exported
    loaded = hugging_face(folder, streaming=streaming)
    (split,) = loaded
    assert split == dataset.attributes["split"]
    rows = list(loaded[split])
    assert len(rows) == len(dataset)
    for row, sample in zip(rows, dataset, strict=True):
        assert_equal(row, sample, dataset)
    for field in dataset.schema:
        if field.classes:
            feature = loaded[split].features[field.name]
            while not hasattr(feature, "names"):
                feature = feature.feature
            assert feature.names == list(field.classes)


def test_mlcroissant_loads_the_records(exported) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    _, dataset, folder = exported
    theirs = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    issues = theirs.metadata.ctx.issues
    assert not issues.errors
    assert not issues.warnings
    records = list(theirs.records("samples"))
    assert len(records) == len(dataset)
    for record, sample in zip(records, dataset, strict=True):
        row = {name.removeprefix("samples/"): value for name, value in record.items()}
        assert _text(row["split"]) == dataset.attributes["split"]
        row = {k: np.nan if v is None else v for k, v in row.items()}
        assert_equal(row, sample, dataset)
    for field in dataset.schema:
        if field.classes:
            found = list(theirs.records(f"{field.name}_classes"))
            assert [_text(r[f"{field.name}_classes/name"]) for r in found] == list(field.classes)


def test_croissant_says_what_neurips_asks_for(exported) -> None:
    name, dataset, folder = exported
    whole = json.loads((folder / "croissant.json").read_text("utf-8"))
    for file in whole["distribution"][:-1]:
        content = (folder / file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"
    stated = {key for key in whole if key.startswith(("rai:", "prov:"))}
    if name == "photos":  # its generator states nothing, and nothing is made up
        assert not stated
        return
    assert stated >= RAI
    assert whole["rai:hasSyntheticData"] is (name not in ("dota", "icdar"))
    assert ("prov:wasDerivedFrom" in stated) == ("origins" in dataset.attributes)


def test_pandas_and_pyarrow_read_the_files(exported) -> None:
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    _, dataset, folder = exported
    (path,) = (folder / "data").iterdir()
    frame = pandas.read_parquet(path)
    sequence = dataset.schema.sequence
    assert frame[sequence].tolist() == dataset.lengths.tolist()
    picture = Image.open(io.BytesIO(frame["image"][0]["bytes"]))
    assert np.asarray(picture).shape == dataset[0].image.shape
    table = parquet.read_table(path)
    assert table.num_rows == len(dataset)
    for field in dataset.schema:
        notes = table.schema.field(field.name).metadata
        assert notes[b"meaning"].decode() == field.meaning


def test_photographs_are_as_stored(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    dataset = make_given("photos", tmp_path)
    list(export(dataset, "parquet", tmp_path / "out"))
    rows = parquet.read_table(tmp_path / "out" / "data").to_pylist()
    for i, row in enumerate(rows):
        assert row["image"]["bytes"] == dataset.stored(i)["image"].tobytes()


def test_a_large_dataset_has_several_files_and_row_groups(
    make, tmp_path: Path, hugging_face
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = make(ToyRecipe((1, 2), 2500, split="train"), shard_size=900)
    list(export(dataset, "parquet", tmp_path / "out", file_bytes=1_000_000))
    names = sorted(path.name for path in (tmp_path / "out" / "data").iterdir())
    assert names == [f"train-{k:05d}-of-{len(names):05d}.parquet" for k in range(len(names))]
    assert len(names) > 1
    for name in names:
        path = tmp_path / "out" / "data" / name
        assert path.stat().st_size <= 1_100_000  # row groups and a footer
        file = parquet.ParquetFile(path)
        groups = [file.metadata.row_group(k) for k in range(file.num_row_groups)]
        assert all(group.num_rows <= 1000 for group in groups)
    read = hugging_face(tmp_path / "out", split="train")
    assert read["digest"][:] == [d.tobytes().hex() for d in dataset.column("digest")]
    theirs = mlcroissant.Dataset(jsonld=str(tmp_path / "out" / "croissant.json"))
    digests = {_text(record["samples/digest"]) for record in theirs.records("samples")}
    assert digests == set(read["digest"])


def test_the_card_is_hugging_faces_readme(exported) -> None:
    hub = pytest.importorskip("huggingface_hub")
    name, dataset, folder = exported
    page = hub.DatasetCard.load(folder / "README.md", ignore_metadata_errors=False)
    split = dataset.attributes["split"]
    (config,) = page.data.configs
    assert config["data_files"] == [{"split": split, "path": f"data/{split}-*"}]
    assert page.data.size_categories == ["n<1K"]
    assert page.data.license
    tasks = {
        "coloured": ["object-detection"],
        "dota": ["object-detection"],
        "toy": ["object-detection", "image-segmentation"],
        "text": ["image-to-text", "object-detection", "image-segmentation"],
    }
    assert name not in tasks or page.data.task_categories == tasks[name]
    for field in dataset.schema:
        assert f"| `{field.name}` |" in page.text
    assert "load_dataset" in page.text
    assert "import h5py" not in page.text


def test_the_same_data_gives_the_same_bytes_by_any_number_of_processes(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ivl_shards.export import parquet

    monkeypatch.setattr(parquet, "SEVERAL_PROCESSES", 1)
    dataset = make(ColouredRecipe((3, 4), 2100))[::-1]
    for workers in (1, 2):
        out = tmp_path / f"out-{workers}"
        assert list(export(dataset, "parquet", out, workers=workers)) == list(range(1, 2101))
    for one in (tmp_path / "out-1").rglob("*.*"):
        other = tmp_path / "out-2" / one.relative_to(tmp_path / "out-1")
        assert one.read_bytes() == other.read_bytes()


def test_the_command_and_its_options(run, make, tmp_path: Path) -> None:
    make(ColouredRecipe((3, 4), 24, split="hard-val"))
    command = ["ivl-shards", "export", "data.h5", "--format", "parquet"]
    published = ["--creator", "A lab", "--url", "https://example.org", "--date", "2026-01-31"]
    result = run(*command, *published, "out")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "out: 24 samples\n"
    assert "24 of 24 samples" in result.stderr
    assert [p.name for p in (tmp_path / "out" / "data").iterdir()] == [
        "hard_val-00000-of-00001.parquet"  # Hugging Face allows no hyphen
    ]
    assert "| published by | A lab |" in (tmp_path / "out" / "README.md").read_text()
    assert_one_line(run(*command, "out"), 2, "out", "not empty")
    result = run("ivl-shards", "export", "data.h5", "--format", "coco", *published, "new")
    assert_one_line(result, 2, "--format parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.h5", "out"]


def test_without_pyarrow_one_line_says_what_to_install(run, make, tmp_path: Path) -> None:
    make(ColouredRecipe((3,), 2))
    (tmp_path / "without" / "pyarrow").mkdir(parents=True)
    (tmp_path / "without" / "pyarrow" / "__init__.py").write_text("raise ImportError")
    path = os.pathsep.join([str(tmp_path / "without"), os.environ.get("PYTHONPATH", "")])
    result = run("ivl-shards", "export", "data.h5", "--format", "parquet", "out", PYTHONPATH=path)
    assert_one_line(result, 2, "pip install 'ivl[parquet]'")
    assert not (tmp_path / "out").exists()
    result = run("ivl-shards", "export", "data.h5", "--format", "files", "out", PYTHONPATH=path)
    assert result.returncode == 0, "the other formats do not need it"


def test_damaged_labels_are_named_and_nothing_is_left(make, tmp_path: Path) -> None:
    make(ColouredRecipe((3,), 5), name="sound.h5")
    for name, value, words in (
        ("object_count", 99, "sample 3.*object_count is 99"),
        ("kind", 77, "kind has a number that is none of its 3 classes"),
    ):
        path = tmp_path / f"{name}.h5"
        path.write_bytes((tmp_path / "sound.h5").read_bytes())
        with h5py.File(path, "r+") as file:
            file[name][3] = value
        reseal(path)
        with pytest.raises(Damage, match=f"{name}.h5.*{words}"):
            list(export(open_dataset(path), "parquet", tmp_path / "out"))
        assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*.tmp"))


def test_a_split_with_a_strange_name_stays_in_the_folder(make, tmp_path: Path) -> None:
    path = make(ColouredRecipe((3,), 2), name="sound.h5").path
    strange = tmp_path / "strange.h5"
    strange.write_bytes(path.read_bytes())
    with h5py.File(strange, "r+") as file:
        file.attrs["split"] = "../../x y"
    reseal(strange)
    list(export(open_dataset(strange), "parquet", tmp_path / "out"))
    (file,) = (tmp_path / "out" / "data").iterdir()
    assert file.name == "_x_y-00000-of-00001.parquet"


@given(
    arrays.arrays(
        st.sampled_from([np.uint8, np.uint16]),
        st.tuples(st.integers(1, 9), st.integers(1, 9)),
    )
)
def test_png_of_shades_is_exact(pixels) -> None:
    data = png(pixels)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), pixels)
    assert np.array_equal(cv2.imdecode(np.frombuffer(data, np.uint8), -1), pixels)


@given(
    arrays.arrays(
        np.uint8, st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(1, 9), st.just(3))
    ),
    st.data(),
)
def test_png_of_colours_is_exact_without_padding(images, data) -> None:
    sides = [st.integers(1, side) for side in images.shape[1:3]]
    sizes = np.array([[data.draw(side) for side in sides] for _ in images])
    for file, image, (h, w) in zip(pngs(images, sizes), images, sizes.tolist(), strict=True):
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(file))), image[:h, :w])


def test_reading_needs_no_pyarrow() -> None:
    code = "import sys, ivl_shards.cli; assert 'pyarrow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
