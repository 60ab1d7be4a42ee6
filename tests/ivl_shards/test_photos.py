"""Photographs that happen to have as many bytes as each other, or of which there is one."""

import pytest

from photos import PhotoRecipe


@pytest.mark.parametrize("total", [1, 257])
def test_a_last_block_of_one_photograph_is_written(make, total: int) -> None:
    dataset = make(PhotoRecipe(counts=(1, 2), total=total))
    assert dataset[total - 1].image.shape[1] == 40
