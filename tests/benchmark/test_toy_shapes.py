"""Augmentation of toy shapes: a mirrored image is one of the same dataset."""

import numpy as np
import pytest

from benchmark.registry import find_task
from ivl_shards import Sample
from shapes_gen import ToyRecipe

TOY = find_task("toy-shapes")


def augmented(sample: Sample, draws: int = 20) -> list[Sample]:
    assert TOY.preprocess is not None
    return [TOY.preprocess(sample, np.random.default_rng(k), None) for k in range(draws)]


@pytest.fixture
def sample(make) -> Sample:
    return make(ToyRecipe((4,), 1))[0]


def test_half_of_the_training_samples_are_mirrored(sample: Sample) -> None:
    mirrored = [not np.array_equal(s.image, sample.image) for s in augmented(sample, 200)]
    assert 70 <= sum(mirrored) <= 130


def test_a_mirrored_sample_has_its_labels_where_they_belong(sample: Sample) -> None:
    texts = TOY.line_texts(sample)
    for other in augmented(sample):
        if np.array_equal(other.image, sample.image):
            assert TOY.line_texts(other) == texts
            continue
        assert np.array_equal(other.image[:, ::-1], sample.image)
        assert TOY.line_texts(other) == [text[::-1] for text in texts]
        for t, (x0, y0, x1, y1) in enumerate(other["line_box"].tolist()):
            box = np.zeros_like(other.image)
            box[y0:y1, x0:x1] = 1
            assert np.array_equal(other.delta(t), box)
            assert other.image[y0:y1, [x0, x1 - 1]].any(0).all()  # shapes touch both ends


def test_what_is_tested_is_not_mirrored(sample: Sample) -> None:
    assert TOY.preprocess is not None
    assert TOY.preprocess(sample, None, None) is sample
