"""Lexicon: the words that lines are made of.

By default hunspell's American English (SCOWL) with its affixes expanded, which is the recipe
of the paper's list of approximately 90k words.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fonts.places import recall, remember
from ivl_shards.errors import UserError

_DICTIONARY = "hunspell/data/en/en_US"
# hunspell's mark on stems that occur only within compounds (1th).
_COMPOUND = "c"
# A running text in memory: some millions of words.
_LARGEST_TEXT = 64 * 2**20
_PLAIN = str.maketrans(
    {
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "‐": "-",
        "‑": "-",
        "–": "-",
        "—": "-",
        "…": "...",
    }
)


@dataclass(frozen=True)
class Lexicon:
    """Words in a stable order, and their fingerprint."""

    words: tuple[str, ...]
    fingerprint: str
    """sha256 of the words, one a line."""


def load_lexicon(path: Path | str | None = None) -> Lexicon:
    """Return the words of a file, or the default ones.

    Parameters
    ----------
    path
        One word a line, UTF-8; empty lines and spaces around a word are ignored, a word that
        comes twice counts once. None: the default lexicon.

    >>> lexicon = load_lexicon()
    >>> lexicon.words[:3], len(lexicon.words) > 85_000
    (('A', 'AA', 'AAA'), True)
    """
    if path is not None:
        return _lexicon(_read_words(Path(path)))
    return default_lexicon()


def load_text(path: Path | str) -> tuple[str, ...]:
    """Return the words of a running text in their order, marks included.

    A text is a UTF-8 file; how it is broken into lines does not matter. Curly quotes and long
    dashes become plain ones, which all fonts have.
    """
    path = Path(path)
    words = tuple(
        word
        for number, line in enumerate(_lines(path), 1)
        for word in _decoded(path, number, line).translate(_PLAIN).split()
    )
    if not words:
        raise UserError(f"{path}: has no words: --text takes a file of running text")
    return words


def fingerprint_of(words: Sequence[str], running: bool = False) -> str:
    """Return the sha256 of words; a running text differs from a lexicon of the same words."""
    head = "running text\n" if running else ""
    return hashlib.sha256((head + "\n".join(words)).encode()).hexdigest()


@cache
def default_lexicon() -> Lexicon:
    """Return the words of hunspell's English dictionary, expanded once and cached on disk."""
    root = _dictionary()
    rules, stems = root.with_suffix(".aff").read_bytes(), root.with_suffix(".dic").read_bytes()
    # Named by its source, so that another version of the dictionary is expanded afresh.
    name = f"lexicon-2-{hashlib.sha256(rules + stems).hexdigest()[:16]}.txt"
    cached = recall(name)
    if cached is not None:
        return _lexicon(tuple(cached.decode().split("\n")))
    affixes = _read_affixes(rules.decode())
    forms = {form for line in stems.decode().splitlines()[1:] for form in _expand(line, affixes)}
    words = tuple(sorted(form for form in forms if form.isascii() and form.isalpha()))
    remember(name, "\n".join(words).encode())
    return _lexicon(words)


def _lexicon(words: tuple[str, ...]) -> Lexicon:
    return Lexicon(words, fingerprint_of(words))


def _dictionary() -> Path:
    spec = find_spec("spylls")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        root = Path(folder) / _DICTIONARY
        if root.with_suffix(".dic").is_file():
            return root
    raise UserError(
        "the default lexicon is not there: `pip install spylls`, or give a file with --lexicon"
    )


@dataclass(frozen=True)
class _Affix:
    prefix: bool
    combines: bool
    """Whether it goes with an affix of the other side."""
    strip: str
    add: str
    fits: re.Pattern[str]

    def apply(self, word: str) -> str | None:
        if not self.fits.search(word):
            return None
        if self.prefix:
            return self.add + word.removeprefix(self.strip)
        return word.removesuffix(self.strip) + self.add


def _read_affixes(text: str) -> dict[str, list[_Affix]]:
    """Return the affixes of a hunspell .aff file by flag."""
    affixes: dict[str, list[_Affix]] = {}
    combines: dict[str, bool] = {}
    for line in text.splitlines():
        parts = line.split()
        if not parts or parts[0] not in ("PFX", "SFX"):
            continue
        kind, flag = parts[:2]
        if len(parts) == 4:  # the head of a group: PFX flag cross-product count
            combines[flag] = parts[2] == "Y"
            continue
        strip, add, condition = ("" if part == "0" else part for part in parts[2:5])
        fits = re.compile(f"^{condition}" if kind == "PFX" else f"{condition}$")
        affix = _Affix(kind == "PFX", combines[flag], strip, add, fits)
        affixes.setdefault(flag, []).append(affix)
    return affixes


def _expand(line: str, affixes: dict[str, list[_Affix]]) -> Iterator[str]:
    """Return a stem of a .dic file and every form that its flags allow."""
    stem, _, flags = line.strip().partition("/")
    if _COMPOUND in flags:
        return
    yield stem
    mine = [affix for flag in flags for affix in affixes.get(flag, ())]
    prefixes = [affix for affix in mine if affix.prefix and affix.combines]
    for affix in mine:
        form = affix.apply(stem)
        if form is None:
            continue
        yield form
        if not affix.prefix and affix.combines:
            yield from (both for p in prefixes if (both := p.apply(form)) is not None)


def _read_words(path: Path) -> tuple[str, ...]:
    words = dict.fromkeys(_word(path, number, line) for number, line in enumerate(_lines(path), 1))
    words.pop("", None)
    if not words:
        raise UserError(f"{path}: has no words: give one a line")
    return tuple(words)


def _word(path: Path, number: int, line: bytes) -> str:
    word = _decoded(path, number, line).strip()
    if len(word.split()) > 1:
        raise UserError(f"{path}, line {number}: '{word[:40]}' is not one word: give one a line")
    return word


def _lines(path: Path) -> list[bytes]:
    """Read a file in lines, not yet decoded, so that a complaint can name the line."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_TEXT + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST_TEXT:
        raise UserError(f"{path}: is larger than {_LARGEST_TEXT >> 20} MB: give a part of it")
    return content.removeprefix(b"\xef\xbb\xbf").splitlines()


def _decoded(path: Path, number: int, line: bytes) -> str:
    """Decode a line; a letter and its accents become one character (NFC), as fonts have them."""
    try:
        text = line.decode("utf-8")
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
            # Soft hyphens and the like are instructions to a typesetter, not characters.
            text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {number}: byte {line[error.start]:#04x} is not UTF-8: "
            "words and texts are read as UTF-8"
        ) from None
    if not text.isprintable() and not "".join(text.split()).isprintable():
        raise UserError(f"{path}, line {number}: has control characters: is it a text file?")
    return text
