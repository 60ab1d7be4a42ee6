"""What text blocks say, and what splits share: filters, charsets, running text, held-out things."""

from pathlib import Path

import numpy as np
import pytest

from commands import assert_one_line
from fonts import default_faces
from ivl_shards import UserError, open_dataset
from textblocks_gen import Inputs, TextRecipe, complete, stream
from textblocks_gen.card import metadata
from textblocks_gen.holdout import SPLITS, kept, split_of
from textblocks_gen.studio import usable_faces, words_of
from textblocks_gen.words.filters import is_profane, profanity
from textblocks_gen.words.lexicon import load_lexicon, load_text

FEW = ("--lines", "1-2", "--n", 4, "--workers", 1)
RECIPE = TextRecipe(counts=(2,), total=10)
PROSE = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age "
    "of foolishness, it was the epoch of belief, it was the epoch of incredulity."
)


def recipe(**knobs) -> TextRecipe:
    return TextRecipe(counts=(2,), total=10, **knobs)


def said(path: Path) -> list[list[str]]:
    """The lines of every sample."""
    return [[line.decode() for line in sample["line_text"]] for sample in open_dataset(path)]


# Slurs and profanity


def test_slurs_and_profanity_are_left_out_unless_asked_for() -> None:
    kept_words = {word.lower() for word in words_of(RECIPE, Inputs()).words}
    everything = {word.lower() for word in words_of(recipe(unfiltered=True), Inputs()).words}
    assert not kept_words & profanity()
    assert len(everything & profanity()) > 200
    assert everything - kept_words == everything & profanity()


@pytest.mark.parametrize(
    "word",
    [
        "Scunthorpe",
        "Essex",
        "cockpit",
        "assess",
        "Dickens",
        "grape",
        "gay",
        "vagina",
        "niggardly",
        "spices",
        "raccoon",
    ],
)
def test_harmless_words_stay(word: str) -> None:
    assert not is_profane(word)


def test_the_card_counts_what_is_left_out() -> None:
    count = words_of(RECIPE, Inputs()).profane
    words = load_lexicon().words
    assert count == sum(map(is_profane, words)) > 200
    (origin,) = [o for o in metadata(complete(RECIPE, Inputs()), None).origins if o.what == "words"]
    assert f"{count} slurs and swear words are left out" in origin.where
    everything = complete(recipe(unfiltered=True), Inputs())
    (origin,) = [o for o in metadata(everything, None).origins if o.what == "words"]
    assert "not left out" in origin.where
    assert "--unfiltered" in metadata(everything, None).command


def test_a_lexicon_of_nothing_else(run, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("shit\nfuck\n")
    result = run("textblocks-gen", *FEW, "--quiet", "--lexicon", "words.txt", "out.h5")
    assert_one_line(result, 2, "words.txt", "--unfiltered")


# Running text


def test_a_text_is_read_in_its_order(run, tmp_path: Path) -> None:
    (tmp_path / "prose.txt").write_text(PROSE)
    result = run(
        "textblocks-gen",
        "--lines",
        "2-3",
        "--n",
        10,
        "--workers",
        1,
        "--words",
        2,
        4,
        "--text",
        "prose.txt",
        "--upper-case",
        0,
        "--title-case",
        0,
        "out.h5",
    )
    assert result.returncode == 0, result.stderr
    words = PROSE.split()
    endless = " ".join(words + words).lower()
    starts = set()
    for lines in said(tmp_path / "out.h5"):
        assert all(2 <= len(line.split()) <= 4 for line in lines)
        # Faces without small letters are set in capitals.
        assert " ".join(lines).lower() in endless
        starts.add(lines[0])
    assert len(starts) > 8
    card = open_dataset(tmp_path / "out.h5").attributes
    assert "--text TEXT.txt" in card["command"]


def test_how_a_text_is_broken_and_quoted_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeff“It’s — well…”\r\n\r\n\tca\u00adfe\u0301\n", "utf-8")
    assert load_text(tmp_path / "a.txt") == ("\"It's", "-", 'well..."', "café")


def test_a_text_is_another_source_than_a_lexicon_of_its_words(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("alpha\nbeta\ngamma\n")
    as_text = complete(RECIPE, Inputs(text=path))
    as_words = complete(RECIPE, Inputs(lexicon=path))
    assert as_text.lexicon != as_words.lexicon
    (other := tmp_path / "other.txt").write_text("alpha\nbeta\ndelta\n")
    assert complete(RECIPE, Inputs(text=other)).lexicon != as_text.lexicon


@pytest.mark.parametrize(
    ("content", "word"),
    [(b"", "no words"), (b"ab\x00\x01", "control"), (b"caf\xe9\n", "UTF-8")],
    ids=["empty", "binary", "latin-1"],
)
def test_a_text_that_is_none(run, tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "prose.txt").write_bytes(content)
    result = run("textblocks-gen", *FEW, "--quiet", "--text", "prose.txt", "out.h5")
    assert_one_line(result, 2, "prose.txt", word)


def test_a_text_and_a_lexicon(run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    result = run("textblocks-gen", *FEW, "--text", "a.txt", "--lexicon", "a.txt", "out.h5")
    assert_one_line(result, 2, "--lexicon and --text")
    assert_one_line(run("textblocks-gen", *FEW, "--text", "none.txt", "out.h5"), 2, "none.txt")


# Charsets


@pytest.mark.parametrize(
    ("charset", "words"),
    [
        ("latin-1", ["Straße", "ÉTÉ", "ÿ", "naïve"]),
        ("greek", ["καλημέρα", "ΐδιος", "Σίσυφος"]),
        ("cyrillic", ["мир", "ёлка", "Київ", "ґанок"]),
        ("latin-1,cyrillic", ["Straße", "мир"]),
    ],
)
def test_labels_are_what_is_drawn_in_other_scripts(
    run, tmp_path: Path, charset: str, words: list[str]
) -> None:
    (tmp_path / "words.txt").write_text("\n".join(words), "utf-8")
    result = run(
        "textblocks-gen",
        *FEW,
        "--lexicon",
        "words.txt",
        "--charset",
        charset,
        "--char-quads",
        "out.h5",
    )
    assert result.returncode == 0, result.stderr
    lower = {word.lower() for word in words}
    for lines in said(tmp_path / "out.h5"):
        assert all(word.lower() in lower for line in lines for word in line.split())
    sample = open_dataset(tmp_path / "out.h5")[0]
    letters = sum(len(line.decode().replace(" ", "")) for line in sample["line_text"])
    assert int(sample["char_count"]) == letters
    assert run("ivl-shards", "verify", "out.h5").returncode == 0


def test_fonts_without_the_letters_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("мир\nДень\n", "utf-8")
    source = Inputs(lexicon=tmp_path / "words.txt")
    faces = usable_faces(recipe(charset="cyrillic"), source)
    assert 0 < len(faces) < len(default_faces())
    assert all(face.covers("МИРДЕНЬ") for face in faces)


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("мир\n", (), ("--charset cyrillic", "мир")),
        ("мир\n", ("--charset", "greek"), ("--charset cyrillic", "мир")),
        ("漢字\n", (), ("--charset ascii", "漢字")),
        ("word\n", ("--charset", "klingon"), ("klingon", "latin-1, greek, cyrillic")),
    ],
)
def test_words_beyond_the_charset(run, tmp_path: Path, content, options, words) -> None:
    (tmp_path / "words.txt").write_text(content, "utf-8")
    result = run("textblocks-gen", *FEW, "--quiet", "--lexicon", "words.txt", *options, "out.h5")
    assert_one_line(result, 2, *words)
    assert not (tmp_path / "out.h5").exists()


def test_a_charset_needs_words_of_its_own(run) -> None:
    result = run("textblocks-gen", *FEW, "--quiet", "--charset", "greek", "out.h5")
    assert_one_line(result, 2, "--charset greek", "--lexicon", "--text")


def test_words_that_are_left_out_are_counted_in_a_line(run, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("plain\nnaïve\n", "utf-8")
    result = run("textblocks-gen", *FEW, "--lexicon", "words.txt", "out.h5")
    assert result.returncode == 0
    assert "1 of 2 words have characters that are not in --charset ascii" in result.stderr
    assert {w.lower() for s in said(tmp_path / "out.h5") for t in s for w in t.split()} == {"plain"}


# Held-out splits


def held(split: str, holdout: str = "fonts,words,backgrounds", **knobs) -> TextRecipe:
    return recipe(split=split, holdout=holdout, **knobs)


def test_splits_share_no_words_and_have_their_shares() -> None:
    found = {split: set(words_of(held(split), Inputs()).words) for split in SPLITS}
    everything = set(words_of(RECIPE, Inputs()).words)
    assert set.union(*found.values()) == everything
    assert sum(map(len, found.values())) == len(everything)
    shares = [len(found[split]) / len(everything) for split in SPLITS]
    assert np.allclose(shares, (0.8, 0.1, 0.1), atol=0.01)
    lower = [{word.lower() for word in found[split]} for split in SPLITS]
    assert not lower[0] & lower[1] and not lower[0] & lower[2] and not lower[1] & lower[2]


def test_splits_share_no_family_of_fonts() -> None:
    families = [{face.family for face in usable_faces(held(split), Inputs())} for split in SPLITS]
    assert all(families)
    assert not families[0] & families[1] and not families[0] & families[2]
    assert not families[1] & families[2]
    assert len(families[0]) > len(families[1]) + len(families[2])


def test_samples_of_two_splits_have_nothing_in_common() -> None:
    seen: dict[str, tuple[set, set]] = {}
    for split in ("train", "test"):
        fonts, words = set(), set()
        for sample, _ in zip(stream(held(split)), range(40), strict=False):
            fonts.add(sample["font"].item())
            words |= {w.lower() for t in sample["line_text"] for w in t.decode().split()}
        seen[split] = fonts, words
    assert not seen["train"][0] & seen["test"][0]
    assert not seen["train"][1] & seen["test"][1]


def test_a_thing_stays_in_its_split_when_others_come_or_go() -> None:
    words = ["apple", "tree", *map(str, range(500))]
    for split in SPLITS:
        alone = {word for word in words if split_of("words", word) == split}
        assert set(kept("words", split, words, str)) == alone
    shares = [np.mean([split_of("fonts", str(k)) == s for k in range(5000)]) for s in SPLITS]
    assert np.allclose(shares, (0.8, 0.1, 0.1), atol=0.02)


def test_the_paper_holds_nothing_out_and_scenes_do() -> None:
    assert RECIPE.holdout == "none"
    assert recipe(style="scene").holdout == "fonts,words,backgrounds"
    assert recipe(holdout="words, fonts") == recipe(holdout="fonts,words")
    only_words = complete(held("train", "words"), Inputs())
    assert only_words.fonts == complete(recipe(split="train"), Inputs()).fonts
    card = metadata(only_words, None)
    assert "--holdout words" in card.command
    assert "The words of this split (train) do not occur in the other splits." in card.description


def test_passages_of_a_text_are_held_out(tmp_path: Path) -> None:
    path = tmp_path / "prose.txt"
    path.write_text(" ".join(f"word{k}" for k in range(10_000)))
    found = [set(words_of(held(split, "words"), Inputs(text=path)).words) for split in SPLITS]
    assert sum(map(len, found)) == 10_000 == len(set.union(*found))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--holdout", "words", "--split", "mine"), ("--split 'mine'", "train, val, test")),
        (("--holdout", "letters"), ("letters", "fonts, words, backgrounds")),
        (
            ("--holdout", "words", "--lexicon", "one.txt", "--split", "val"),
            ("--holdout words", "val"),
        ),
    ],
    ids=lambda value: " ".join(value),
)
def test_holding_out_what_cannot_be(run, tmp_path: Path, options, words) -> None:
    (tmp_path / "one.txt").write_text("apple\n")
    result = run("textblocks-gen", *FEW, "--quiet", *options, "out.h5")
    assert_one_line(result, 2, *words)
    assert not (tmp_path / "out.h5").exists()


def test_any_number_of_workers_and_shards_gives_the_same_content(run, tmp_path: Path) -> None:
    (tmp_path / "prose.txt").write_text(PROSE * 40)
    common = (
        "textblocks-gen",
        "--style",
        "scene",
        "--lines",
        "1-2",
        "--n",
        6,
        "--split",
        "train",
        "--text",
        "prose.txt",
        "--size",
        "128",
    )
    assert run(*common, "--workers", 1, "one.h5").returncode == 0
    assert run(*common, "--workers", 2, "--shard-size", 5, "two.h5").returncode == 0
    for one, two in zip(
        open_dataset(tmp_path / "one.h5"), open_dataset(tmp_path / "two.h5"), strict=True
    ):
        assert all(np.array_equal(one[name], two[name]) for name in one)


def test_a_recipe_refuses_bad_lists() -> None:
    for knobs in ({"holdout": "fonts,all"}, {"charset": "utf-8"}):
        with pytest.raises(UserError):
            recipe(**knobs)
