"""The lexicon: the default words, and any file a user brings."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivl_shards import UserError
from textblocks_gen.words import lexicon
from textblocks_gen.words.lexicon import load_lexicon


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lexicon.default_lexicon.cache_clear()
    yield tmp_path / "ivl"
    lexicon.default_lexicon.cache_clear()


def words_file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    return path


def test_the_default_is_english_with_its_affixes(cache: Path) -> None:
    found = load_lexicon()
    assert 85_000 <= len(found.words) <= 95_000  # the paper: approximately 90k
    assert all(word.isascii() and word.isalpha() for word in found.words)
    assert list(found.words) == sorted(set(found.words))
    # a stem, a suffix, a suffix that replaces the stem's end, a prefix, both
    assert {"create", "created", "creating", "recreate", "recreation"} <= set(found.words)
    assert {"happy", "happiest", "unhappily", "London"} <= set(found.words)


def test_the_cache_gives_the_same_words_and_survives_damage(cache: Path) -> None:
    first = load_lexicon()
    (file,) = cache.glob("lexicon-*.txt")
    lexicon.default_lexicon.cache_clear()
    assert load_lexicon() == first
    for damage in (file.read_bytes()[:1000], b"", b"\xff\xfe"):
        file.write_bytes(damage)
        lexicon.default_lexicon.cache_clear()
        assert load_lexicon() == first


def test_a_cache_that_cannot_be_written_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    lexicon.default_lexicon.cache_clear()
    assert len(load_lexicon().words) > 85_000


def test_a_file_keeps_its_order_and_tolerates_what_editors_do(tmp_path: Path) -> None:
    plain = load_lexicon(words_file(tmp_path, "zebra\nÄpfel\nit's\n".encode()))
    assert plain.words == ("zebra", "Äpfel", "it's")
    odd = words_file(tmp_path, "\ufeffzebra\r\n\r\n  Äpfel \r\nzebra\r\nit's".encode())
    assert load_lexicon(odd) == plain
    assert load_lexicon(str(odd)) == plain


def test_the_fingerprint_tells_lists_apart(tmp_path: Path) -> None:
    prints = {
        load_lexicon(words_file(tmp_path, content)).fingerprint
        for content in (b"a\nb", b"b\na", b"ab", b"a\nb\nc")
    }
    assert len(prints) == 4


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "words.txt: has no words"),
        (b"\n \r\n\t\n", "words.txt: has no words"),
        (b"good\nbad\xe4\n", r"words.txt, line 2: byte 0xe4 is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", r"words.txt, line 1: byte 0x89 is not UTF-8"),
        (b"good\n\0\1\2\n", r"words.txt, line 2: has control characters"),
        ("good".encode("utf-16"), r"words.txt, line 1: "),
        (b"one\ntwo words\n", r"words.txt, line 2: 'two words' is not one word"),
    ],
)
def test_a_bad_file_is_one_line_that_names_file_and_line(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint) as error:
        load_lexicon(words_file(tmp_path, content))
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        load_lexicon(tmp_path / "nothing.txt")
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        load_lexicon(tmp_path)


@given(st.binary(max_size=200))
def test_any_bytes_give_words_or_a_complaint(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = words_file(tmp_path_factory.getbasetemp(), content)
    try:
        words = load_lexicon(path).words
    except UserError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert words and all(word and word.split() == [word] for word in words)
