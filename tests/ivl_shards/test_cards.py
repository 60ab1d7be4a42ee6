"""Dataset cards and Croissant metadata: true, complete, and accepted by those who read them."""

import hashlib
import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import pytest
from PIL import Image

import icdar_blocks
import shapes_gen
import textblocks_gen
from commands import assert_one_line
from crafted import reseal
from font_files import SOURCES, small_font
from given import GIVEN, make_given
from icdar_blocks.rule import LITERAL, choose
from icdar_tree import make_tree
from ivl_shards import Dataset, Metadata, generate, open_dataset
from ivl_shards.inspect.card import card
from ivl_shards.inspect.publication import Publication, list_files
from photos import PHOTOS, PhotoRecipe
from shapes_gen import COLOURED, ColouredRecipe, ToyRecipe
from textblocks_gen import Inputs, TextRecipe

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")  # theirs

OURS = [name for name in GIVEN if name != "photos"]
PUBLISHED = ("--creator", "A lab", "--url", "https://example.org/data", "--date", "2026-01-31")


def text_of(dataset: Dataset) -> str:
    return card(dataset, list(list_files(dataset)), Publication())


def command_of(text: str) -> list[str]:
    """The command under "How it was made"."""
    found = re.search(r"## How it was made\n\n```\n(.*?)\n```", text)
    assert found, text
    return shlex.split(found[1])


@pytest.mark.parametrize("name", GIVEN)
def test_a_card_has_everything_and_croissant_is_valid(run, tmp_path: Path, name: str) -> None:
    dataset = make_given(name, tmp_path)
    result = run("ivl-shards", "card", "data.h5", *PUBLISHED)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    text = (tmp_path / "data.card.md").read_text("utf-8")
    attributes = dataset.attributes
    for said in ("content_sha256", "licence", "generator", "split"):
        assert str(attributes[said]) in text
    for field in dataset.schema:
        assert f"| `{field.name}` |" in text
        assert field.meaning in text
    for origin in json.loads(attributes.get("origins", "[]")):
        assert origin["licence"] in text
    for knob in dataset.recipe:
        assert f'"{knob}": ' in text
    for words in ("Gupta18", "BMVC", "## Known limits", "A lab", "ivl 0."):
        assert words in text
    check_croissant(tmp_path / "data.croissant.json", dataset)


@pytest.mark.parametrize("name", OURS)
def test_our_generators_say_what_a_card_needs(tmp_path: Path, name: str) -> None:
    attributes = make_given(name, tmp_path).attributes
    for said in ("title", "description", "command", "limits", "versions"):
        assert attributes[said]
    text = "".join(value for value in attributes.values() if isinstance(value, str))
    assert str(tmp_path.parent) not in text, "a place on the maker's machine"


def test_an_index_lists_all_of_its_files(run, make, tmp_path: Path) -> None:
    dataset = make(ColouredRecipe((3, 4), 24), shard_size=10)
    assert run("ivl-shards", "card", "data.h5", *PUBLISHED, "--quiet").stderr == ""
    whole = check_croissant(tmp_path / "data.croissant.json", dataset)
    assert len(whole["distribution"]) == 4
    for path in dataset.shards:
        assert f"`{path.relative_to(tmp_path)}`" in (tmp_path / "data.card.md").read_text()


def check_croissant(path: Path, dataset: Dataset) -> dict:
    """Files are as described, every field is there, and the reference validator agrees."""
    whole = json.loads(path.read_text("utf-8"))
    for file in whole["distribution"]:
        content = (path.parent / file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"
    samples = whole["recordSet"][-1]
    described = {field["name"]: field for field in samples["field"]}
    assert set(described) == {"split", *(field.name for field in dataset.schema)}
    for field in dataset.schema:
        shape = described[field.name].get("arrayShape", "")
        assert shape == ",".join(map(str, field.shape))
    mlcroissant = pytest.importorskip("mlcroissant")
    issues = mlcroissant.Dataset(jsonld=str(path)).metadata.ctx.issues
    assert not issues.errors
    assert not issues.warnings
    return whole


def test_the_validator_complains_of_what_is_wrong(run, make, tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    make(ColouredRecipe((3,), 2))
    run("ivl-shards", "card", "data.h5")
    whole = json.loads((tmp_path / "data.croissant.json").read_text())
    del whole["distribution"][0]["encodingFormat"]
    (tmp_path / "wrong.json").write_text(json.dumps(whole))
    with pytest.raises(mlcroissant.ValidationError, match="encodingFormat"):
        mlcroissant.Dataset(jsonld=str(tmp_path / "wrong.json"))


@pytest.mark.parametrize("name", OURS)
def test_the_command_makes_the_same_dataset(run, tmp_path: Path, name: str) -> None:
    dataset = make_given(name, tmp_path)
    words = command_of(text_of(dataset))
    assert words[-1] == "data.h5"
    sources = tmp_path.with_name(f"{tmp_path.name}-sources")
    places = {"DOTA": sources / "dota", "ICDAR2013": sources / "icdar", "data.h5": "again.h5"}
    result = run(*(places.get(word, word) for word in words))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "data.h5").read_bytes()


ODD = [
    ColouredRecipe((0, 12), 4, 7, "val", True, 96, 4.5, 9.25, 1.1, 99.5, 3.0),
    ToyRecipe((2, 5), 4, per_line=3),
]


@pytest.mark.parametrize("recipe", ODD, ids=["coloured", "toy"])
def test_the_command_has_every_knob_that_was_turned(run, make, tmp_path: Path, recipe) -> None:
    dataset = make(recipe, shard_size=3)
    result = run(*command_of(text_of(dataset))[:-1], "again.h5")
    assert result.returncode == 0, result.stderr
    again = open_dataset(tmp_path / "again.h5")
    assert again.attributes["recipe"] == dataset.attributes["recipe"]
    assert again.shard_sizes == dataset.shard_sizes


def test_the_command_of_texts_from_sources_of_ones_own(run, tmp_path: Path) -> None:
    for folder in ("own-fonts", "own-grounds"):
        (tmp_path / folder).mkdir()
    (tmp_path / "own-fonts" / "one.ttf").write_bytes(small_font(SOURCES[0]))
    (tmp_path / "words.txt").write_text("one\ntwo\nthree\n")
    Image.radial_gradient("L").resize((640, 480)).save(tmp_path / "own-grounds" / "one.png")
    places = {
        "FONTS": tmp_path / "own-fonts",
        "WORDS.txt": tmp_path / "words.txt",
        "PHOTOGRAPHS": tmp_path / "own-grounds",
    }
    recipe = TextRecipe(
        (1, 2),
        4,
        3,
        "train",
        height=200,
        width=300,
        words=(1, 2),
        line_height=(0.06, 0.07),
        rotation=1.5,
        upper_case=0.0,
        contrast=60,
        quality=80,
    )
    textblocks_gen.generate(recipe, tmp_path / "data.h5", Inputs(*places.values()), workers=1)
    dataset = open_dataset(tmp_path / "data.h5")
    text = text_of(dataset)
    assert "1 faces of a folder of the maker's own" in text
    assert str(tmp_path) not in text
    result = run(*(places.get(word, word) for word in command_of(text)[:-1]), "again.h5")
    assert result.returncode == 0, result.stderr
    again = open_dataset(tmp_path / "again.h5")
    assert again.attributes["content_sha256"] == dataset.attributes["content_sha256"]


def test_the_command_of_blocks_by_another_rule(run, tmp_path: Path) -> None:
    make_tree(tmp_path / "ICDAR2013", "train", scenes=6)
    rule = choose(LITERAL, ["reach=2.5", "repeated=yes"])
    for k, (named, knobs) in enumerate(((LITERAL, {}), (rule, {"canvas": (100, 300)}))):
        grouped = icdar_blocks.group_split(tmp_path / "ICDAR2013", "train", named)
        icdar_blocks.generate(
            icdar_blocks.plan_dataset(grouped, **knobs), tmp_path / f"{k}.h5", workers=1
        )
        dataset = open_dataset(tmp_path / f"{k}.h5")
        words = command_of(text_of(dataset))
        assert ("--rule" in words) == (named is LITERAL)
        assert run(*words[:-1], f"again-{k}.h5").returncode == 0
        again = open_dataset(tmp_path / f"again-{k}.h5")
        assert again.attributes["recipe"] == dataset.attributes["recipe"]


def test_every_knob_is_in_the_command(make) -> None:
    text = text_of(make(ToyRecipe((2,), 2, gap=7)))
    assert "shapes-gen toy --lines 2 --total 2 --split test --gap 7" in text
    assert '"gap": 7' in text


def test_a_generator_without_a_command_line(tmp_path: Path) -> None:
    generate(PHOTOS, PhotoRecipe((1, 2), 6), tmp_path / "data.h5", workers=1)
    assert "does not state a command" in text_of(open_dataset(tmp_path / "data.h5"))


def test_one_shard_of_many_says_so(make) -> None:
    dataset = make(ColouredRecipe((3,), 24), shard_size=10)
    text = text_of(open_dataset(dataset.shards[1]))
    assert "samples 10 to 19 of 24" in text


def test_a_file_without_metadata_still_has_a_card(run, tmp_path: Path) -> None:
    # Files of format 1.0 had none of these attributes.
    generate(PHOTOS, PhotoRecipe((1, 2), 6), tmp_path / "data.h5", workers=1)
    with h5py.File(tmp_path / "data.h5", "r+") as file:
        for name in {"title", "description", "command", "origins", "limits", "versions"}:
            file.attrs.pop(name, None)
    reseal(tmp_path / "data.h5")
    result = run("ivl-shards", "card", "data.h5", *PUBLISHED)
    assert result.returncode == 0, result.stderr
    assert "# photos: test" in (tmp_path / "data.card.md").read_text()
    check_croissant(tmp_path / "data.croissant.json", open_dataset(tmp_path / "data.h5"))


def test_other_metadata_do_not_make_another_dataset(make, tmp_path: Path) -> None:
    recipe = ColouredRecipe((3,), 24)
    make(recipe, shard_size=10).shards[1].unlink()
    reworded = replace(COLOURED, metadata=reword)
    made = generate(reworded, recipe, tmp_path / "data.h5", shard_size=10, workers=1)
    assert made.rendered == 10, "two shards of three could be kept"


def reword(recipe: ColouredRecipe, source: None) -> Metadata:
    return Metadata("Another title")


@pytest.mark.parametrize("shard_size", [None, 10], ids=["one file", "shards"])
def test_hugging_face_reads_card_and_data(
    run, make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard_size: int | None
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    hub = pytest.importorskip("huggingface_hub")
    make(ColouredRecipe((3, 4), 24, split="train"), shard_size=shard_size)
    assert run("ivl-shards", "card", "data.h5").returncode == 0
    page = hub.DatasetCard.load(tmp_path / "data.card.md", ignore_metadata_errors=False)
    assert page.data.license == "cc0-1.0"
    assert page.data.pretty_name == "Coloured Shapes"
    (tmp_path / "data.card.md").rename(tmp_path / "README.md")
    theirs = datasets.load_dataset(str(tmp_path), cache_dir=str(tmp_path / ".cache"))
    assert {name: len(rows) for name, rows in theirs.items()} == {"train": 24}


def test_the_code_on_a_card_runs(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = text_of(make(ColouredRecipe((3,), 2), name="it's mine.h5"))
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})


def test_a_card_goes_to_another_folder_and_is_the_same_again(run, make, tmp_path: Path) -> None:
    make(ToyRecipe((1,), 2))
    (tmp_path / "cards").mkdir()
    for _ in range(2):
        assert run("ivl-shards", "card", "data.h5", "--out", "cards").returncode == 0
    assert run("ivl-shards", "card", "data.h5").returncode == 0
    for name in ("data.card.md", "data.croissant.json"):
        assert (tmp_path / "cards" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_what_has_no_card(run, tmp_path: Path) -> None:
    shapes_gen.generate(ToyRecipe((1,), 24), tmp_path / "data.h5", shard_size=10, workers=1)
    assert_one_line(run("ivl-shards", "card", "data.h5", "--out", "nowhere"), 2, "no such folder")
    assert_one_line(run("ivl-shards", "card", "none.h5"), 2, "none.h5", "no such file")
    assert_one_line(run("ivl-shards", "card", "data.h5", "--date", "soon"), 2, "soon")
    shutil.move(open_dataset(tmp_path / "data.h5").shards[1], tmp_path / "away.h5")
    assert_one_line(run("ivl-shards", "card", "data.h5", "--quiet"), 2, "shard is missing")
    assert not list(tmp_path.glob("*.md"))
