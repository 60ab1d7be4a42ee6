"""Decoding: beam search finds the most probable text, and only words of the lexicon."""

import itertools
import logging
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.evaluation.decoding import beam_texts, make_decoder
from benchmark.evaluation.trie import any_text, in_three_cases, lexicon_trie, lines_of_words
from benchmark.models.ctc import greedy_texts
from benchmark.models.line_reader import LineReader
from ivl_shards import UserError
from textblocks_gen.words.lexicon import load_lexicon

LETTERS = " ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@st.composite
def log_probabilities(draw, symbols: int, longest: int = 5) -> torch.Tensor:
    """Draw log-probabilities of a few frames, (1, L, 1 + symbols)."""
    frames, seed = draw(st.integers(1, longest)), draw(st.integers(0, 2**32 - 1))
    peaked = draw(st.sampled_from([0.3, 1.0, 4.0]))
    logits = np.random.default_rng(seed).normal(0, peaked, (1, frames, 1 + symbols))
    return torch.from_numpy(logits).log_softmax(2)


def enumerate_texts(scores: torch.Tensor, alphabet: str) -> dict[str, float]:
    """Return the probability of every text, the sum over all its alignments."""
    found: dict[str, float] = defaultdict(float)
    frames = scores[0].exp().tolist()
    for path in itertools.product(range(1 + len(alphabet)), repeat=len(frames)):
        said = [k for k, _ in itertools.groupby(path)]
        text = "".join(alphabet[k - 1] for k in said if k)
        found[text] += float(np.prod([frame[k] for frame, k in zip(frames, path, strict=True)]))
    return found


def likeliest(texts: dict[str, float], allowed) -> float:
    return max(p for text, p in texts.items() if allowed(text))


@settings(max_examples=50)
@given(log_probabilities(symbols=3))
def test_a_wide_beam_finds_the_most_probable_text(scores: torch.Tensor) -> None:
    texts = enumerate_texts(scores, "ab ")
    [found] = beam_texts(scores, "ab ", any_text("ab "), width=400)
    assert texts[found] == pytest.approx(likeliest(texts, lambda text: True))


@given(
    log_probabilities(symbols=3),
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=4),
)
def test_with_a_lexicon_it_finds_the_most_probable_line_of_its_words(scores, words) -> None:
    texts = enumerate_texts(scores, "ab ")
    [found] = beam_texts(scores, "ab ", lines_of_words(words, "ab "), width=400)

    def allowed(text: str) -> bool:
        return text == "" or all(word in words for word in text.split(" "))

    assert allowed(found)
    assert texts[found] == pytest.approx(likeliest(texts, allowed))


@settings(max_examples=25)
@given(log_probabilities(symbols=len(LETTERS), longest=40), st.sampled_from([1, 4, 32]))
def test_with_a_lexicon_only_its_words_are_predicted(default_trie, scores, width: int) -> None:
    trie, forms = default_trie
    [found] = beam_texts(scores, LETTERS, trie, width)
    assert found == "" or forms.issuperset(found.split(" "))


@pytest.fixture(scope="module")
def default_trie():
    words = load_lexicon().words
    return lexicon_trie(words, LETTERS, "default"), set(in_three_cases(words))


def spelt(text: str, alphabet: str = LETTERS, logit: float = 8.0) -> torch.Tensor:
    """Return log-probabilities, (1, L, V), of a model with high confidence in a text."""
    frames = [f for c in text for f in (alphabet.index(c) + 1, alphabet.index(c) + 1, 0)]
    return (torch.eye(1 + len(alphabet))[frames][None] * logit).log_softmax(2)


@given(st.lists(st.text("abX", min_size=1, max_size=8), max_size=4).map(" ".join))
def test_greedy_and_beam_search_agree_at_high_confidence(text: str) -> None:
    scores = spelt(text) if text else torch.eye(1 + len(LETTERS))[[0]][None].log_softmax(2)
    assert greedy_texts(scores, LETTERS) == [text]
    assert beam_texts(scores, LETTERS, any_text(LETTERS), 8) == [text]


def test_words_keep_their_case_and_misread_ones_are_corrected(default_trie) -> None:
    trie, _ = default_trie
    for text in ("reading whole lines", "READING WHOLE LINES", "Reading Whole Lines", "McKay"):
        assert beam_texts(spelt(text), LETTERS, trie) == [text]
    assert beam_texts(spelt("RAVAGFD occasiqnal"), LETTERS, trie) == ["RAVAGED occasional"]


def test_the_cost_of_a_step_does_not_grow_with_the_lexicon(default_trie) -> None:
    large, _ = default_trie
    small = lexicon_trie(load_lexicon().words[::90], LETTERS, "small")
    assert len(large.final) > 30 * len(small.final)
    # A step visits the edges of its states, which are never more than there are symbols.
    assert np.diff(large.first).max() <= len(LETTERS)
    scores = torch.randn(2, 250, 1 + len(LETTERS), generator=torch.manual_seed(0)).log_softmax(2)

    def seconds(trie) -> float:
        times = []
        for _ in range(5):
            begun = time.process_time()
            beam_texts(scores, LETTERS, trie)
            times.append(time.process_time() - begun)
        return min(times[1:])

    assert seconds(large) < 6 * seconds(small)


def test_lines_without_spaces_and_empty_batches() -> None:
    trie = lines_of_words(["ab"], "ab")
    assert beam_texts(spelt("ab", "ab"), "ab", trie) == ["ab"]
    assert beam_texts(torch.zeros(0, 5, 3), "ab", trie) == []
    assert beam_texts(torch.zeros(1, 0, 3), "ab", trie) == [""]


def test_words_with_unknown_characters_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "words.txt"
    path.write_text("tea\ncafé\n")
    with caplog.at_level(logging.WARNING):
        decode = make_decoder(LETTERS, str(path))
    assert len(caplog.records) == 1 and "'é' in 'café'" in caplog.text
    assert decode(spelt("Tea")) == ["Tea"]
    path.write_text("café\n")
    with pytest.raises(UserError, match="café"):
        make_decoder(LETTERS, str(path))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00\x01\x02", b"\xff\xfe", b"two words\n"])
def test_a_bad_lexicon_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"words\.txt"):
        make_decoder(LETTERS, str(path))
    with pytest.raises(UserError, match=r"missing\.txt"):
        make_decoder(LETTERS, str(tmp_path / "missing.txt"))
    with pytest.raises(UserError, match="--beam 0"):
        make_decoder(LETTERS, beam=0)


def test_the_decoder_of_a_reader_can_be_replaced() -> None:
    torch.manual_seed(0)
    model = LineReader(1, "ab ", finder=8, step=8, reader=[8] * 5, hidden=8).eval()
    images = torch.rand(2, 1, 64, 96)
    encoded, memory = model.encode(images), torch.zeros(2, 64, 96)
    model.decode = make_decoder("ab ", beam=4)
    beam = model.step(encoded, memory).outputs
    model.decode = lambda scores: ["said"] * len(scores)
    assert beam is not None and model.step(encoded, memory).outputs == ["said", "said"]
