"""Trie: the texts that a decoder may predict, as states with edges for the symbols.

The edges of a state are contiguous in two arrays, so the cost of a step depends on the number of
symbols that may follow, not on the number of words.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ivl_shards import UserError

log = logging.getLogger(__name__)

_ROOT = 0
Table = NDArray[np.uint32]


@dataclass(frozen=True)
class Trie:
    """A finite automaton; state 0 is the start. Symbols are numbered from 1."""

    first: NDArray[np.int32]  # (S + 1,) the edges of state s are first[s] … first[s + 1] - 1
    symbols: NDArray[np.int32]  # (E,) the symbol of each edge
    targets: NDArray[np.int32]  # (E,) the state that it leads to
    final: NDArray[np.bool_]  # (S,) whether a text may end there


def any_text(alphabet: str) -> Trie:
    """Return a trie of all texts: a single state that all symbols lead back to."""
    count = len(alphabet)
    return Trie(
        np.array([0, count], np.int32),
        np.arange(1, count + 1, dtype=np.int32),
        np.full(count, _ROOT, np.int32),
        np.ones(1, np.bool_),
    )


def lines_of_words(words: Iterable[str], alphabet: str) -> Trie:
    """Return a trie of all texts of one or more words with single spaces between them.

    >>> trie = lines_of_words(["to", "tea"], "aeot ")
    >>> len(trie.final), int(trie.final.sum())  # '', t, te, tea, to
    (5, 2)
    """
    table = _sorted_table(words, alphabet)  # (W, L)
    node = _nodes(table)  # (W, L)
    rows, columns = np.nonzero(_is_new(table))
    parents = np.where(columns == 0, _ROOT, node[rows, columns - 1])
    symbols, targets = table[rows, columns], node[rows, columns]
    final = np.zeros(len(rows) + 1, np.bool_)
    lengths = (table > 0).sum(1)
    final[node[np.arange(len(table)), lengths - 1]] = True
    if " " in alphabet:  # from the end of a word back to the start
        ends = np.flatnonzero(final)
        parents = np.concatenate([parents, ends])
        symbols = np.concatenate([symbols, np.full(len(ends), alphabet.index(" ") + 1)])
        targets = np.concatenate([targets, np.full(len(ends), _ROOT)])
    order = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[order], np.arange(len(final) + 1))
    return Trie(
        first.astype(np.int32),
        symbols[order].astype(np.int32),
        targets[order].astype(np.int32),
        final,
    )


def _sorted_table(words: Iterable[str], alphabet: str) -> Table:
    """Return words as rows of symbols, sorted by the alphabet's order and padded with zeros."""
    numbers = str.maketrans(alphabet, "".join(map(chr, range(1, len(alphabet) + 1))))
    coded = np.array(sorted({word.translate(numbers) for word in words}))
    return coded.view(np.uint32).reshape(len(coded), -1)


def _is_new(table: Table) -> NDArray[np.bool_]:
    """Tell where a prefix occurs for the first time in a sorted table, (W, L)."""
    differs = np.ones(table.shape, np.bool_)
    differs[1:] = np.logical_or.accumulate(table[1:] != table[:-1], axis=1)
    return differs & (table > 0)


def _nodes(table: Table) -> NDArray[np.int64]:
    """Return the state after each symbol of each word, (W, L)."""
    new = _is_new(table)
    numbers = np.zeros(table.shape, np.int64)
    numbers[new] = np.arange(1, new.sum() + 1)
    # A prefix that is not new has the state of the last row where it was.
    return np.maximum.accumulate(numbers, axis=0)


def in_three_cases(words: Iterable[str]) -> list[str]:
    """Return each word as it is, Capitalised, and in CAPITALS.

    >>> in_three_cases(["tea", "McKay"])
    ['tea', 'Tea', 'TEA', 'McKay', 'MCKAY']
    """
    forms = ((word, word[:1].upper() + word[1:], word.upper()) for word in words)
    return list(dict.fromkeys(form for three in forms for form in three))


def lexicon_trie(words: Sequence[str], alphabet: str, name: str) -> Trie:
    """Return a trie of the lines that consist of a lexicon's words, in three cases.

    Words with characters that the alphabet lacks are left out with a warning, which gives the
    `name` of the lexicon.
    """
    letters = set(alphabet) - {" "}
    readable = [form for form in in_three_cases(words) if letters.issuperset(form)]
    known = {form.casefold() for form in readable}
    unreadable = [word for word in words if word.casefold() not in known]
    if unreadable:
        character = min(set(unreadable[0]) - letters, default="")
        reason = (
            f"{name}: {len(unreadable)} of {len(words)} words have characters that the model "
            f"cannot read, such as {character!r} in '{unreadable[0][:30]}'"
        )
        if not readable:
            raise UserError(reason)
        log.warning("%s: left out", reason)
    return lines_of_words(readable, alphabet)
