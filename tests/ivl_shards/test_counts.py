"""Ranges on the command line, and which sample has which count."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivl_shards import UserError
from ivl_shards.generation.recipe import format_counts, parse_counts, place

counts_lists = st.lists(st.integers(0, 60), min_size=1, unique=True).map(sorted).map(tuple)


@given(counts_lists)
def test_what_is_written_is_read_again(counts: tuple[int, ...]) -> None:
    assert parse_counts(format_counts(counts)) == counts


@pytest.mark.parametrize("text", ["5-3", "", "a", "3-", "-3", "3,,4", "3-5,4", "1.5", "1-99999999"])
def test_what_is_no_range_is_refused_by_name(text: str) -> None:
    with pytest.raises(UserError, match=r"counts|backwards|twice|large"):
        parse_counts(text)


@given(counts_lists, st.integers(1, 500))
def test_counts_are_spread_evenly_and_no_index_comes_twice(
    counts: tuple[int, ...], total: int
) -> None:
    places = [place(counts, row) for row in range(total)]
    assert len(set(places)) == total
    by_count = Counter(count for count, _ in places)
    assert max(by_count.values()) - min(by_count.get(c, 0) for c in counts) <= 1
    assert all(index < by_count[count] for count, index in places)
