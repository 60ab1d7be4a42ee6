"""The inductive loop ends for each image on its own; memories and targets of training steps."""

from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.data.batches import Batch, CountingBatch, ReadingBatch
from benchmark.evaluation.inductive_loop import run_loop, step_limit
from benchmark.models.contract import InductiveModel
from benchmark.models.counter import FastCounter
from benchmark.models.peaks import draw_peaks, strongest_peak
from benchmark.models.step import Step
from benchmark.models.step_targets import counting_steps, reading_steps
from ivl_shards.format.memory import peaks


class Rows(InductiveModel):
    """Reads an image row by row while its pixels are not 0: the expected steps are known."""

    kind: ClassVar = "reading"
    asked: int = 0

    def encode(self, images: Tensor) -> Tensor:
        self.encoded = len(images)
        return images[:, 0]

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        self.asked += len(encoded)
        left = encoded * (1 - memory)
        row = (left.amax(2) > 0).float().argmax(1)
        delta = torch.zeros_like(memory)
        delta[torch.arange(len(row)), row] = 1
        some = left.amax((1, 2)) > 0
        return Step(delta, (~some).float(), [str(int(r)) for r in row])

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        return (memory + delta).clamp(0, 1)

    def loss(self, batch: Batch) -> Tensor:
        raise NotImplementedError


class Endless(Rows):
    """Never predicts that nothing is left."""

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        step = super().step(encoded, memory)
        return Step(step.delta, torch.zeros_like(step.stop), step.outputs)


class Restless(Endless):
    """Never stops, and always changes the memory a little."""

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        return 1 - memory


def rows(*counts: int) -> Tensor:
    images = torch.zeros(len(counts), 1, 64, 4)
    for image, count in zip(images, counts, strict=True):
        image[0, :count] = 1
    return images


def test_each_image_is_read_to_its_own_end_and_leaves_the_batch() -> None:
    model = Rows()
    traces = run_loop(model, rows(2, 0, 5))
    assert [trace.outputs for trace in traces] == [["0", "1"], [], ["0", "1", "2", "3", "4"]]
    assert [trace.ended for trace in traces] == ["stop"] * 3
    assert model.asked == 3 + 1 + 6  # steps of each image, not of the longest
    assert model.predict(rows(1, 3)) == [["0"], ["0", "1", "2"]]


def test_a_model_that_does_not_stop_is_stopped() -> None:
    stalled = run_loop(Endless(), rows(2))[0]
    assert stalled.ended == "stalled" and len(stalled.outputs) < 64
    lost = run_loop(Restless(), rows(2), limit=7)[0]
    assert lost.ended == "limit" and len(lost.outputs) == 7


def test_the_limit_is_above_what_an_image_can_hold() -> None:
    # 100 lines of toy shapes are 2,424 pixels high; 50 shapes fit into 512×512.
    assert step_limit("reading", 2424, 128) > 3 * 100
    assert step_limit("counting", 512, 512) > 50 * 50


def test_a_watcher_is_called_at_every_step() -> None:
    seen = []
    run_loop(Rows(), rows(1, 2), watch=lambda who, memory, step: seen.append((who, memory)))
    assert [who.tolist() for who, _ in seen] == [[0, 1], [0, 1], [1]]
    assert [float(memory.sum()) for _, memory in seen] == [0, 8, 8]


def test_peaks_are_those_of_the_datasets() -> None:
    centres = np.array([[3.2, 7.9], [20.0, 11.5]], np.float32)
    drawn = draw_peaks(
        torch.from_numpy(centres)[None], torch.ones(1, 2), torch.tensor([2.5]), (24, 32)
    )
    np.testing.assert_allclose(drawn[0].numpy(), peaks(centres, 2.5, (24, 32)), atol=1e-5)


def test_the_strongest_peak_is_found_with_subpixel_accuracy() -> None:
    centres = torch.tensor([[[9.3, 5.8], [20.0, 20.0]]])
    maps = draw_peaks(centres, torch.tensor([[1.0, 0.6]]), torch.tensor([2.5]), (32, 32))
    peak = strongest_peak(maps)
    assert peak.centre[0].tolist() == pytest.approx([9.3, 5.8], abs=0.05)
    assert float(peak.height) == pytest.approx(1, abs=0.02)
    corner = torch.zeros(1, 8, 8)
    corner[0, 0, 7] = 1
    assert strongest_peak(corner).centre[0].tolist() == [7.5, 0.5]


def test_a_counter_adds_one_peak_a_step() -> None:
    model = FastCounter(3)
    delta = draw_peaks(
        torch.tensor([[[10.0, 10.0], [30.0, 30.0]]]),
        torch.tensor([[0.7, 0.9]]),
        torch.tensor([2.5]),
        (40, 40),
    )
    memory = model.update(torch.zeros(1, 40, 40), delta)
    assert float(memory[0, 30, 30]) > 0.9 and float(memory[0, 10, 10]) < 0.01
    assert strongest_peak(memory).centre[0].tolist() == pytest.approx([30, 30], abs=0.1)
    # An object is not counted twice: the loop ends when the memory does not change.
    assert torch.equal(model.update(memory, delta), memory)


def test_counting_steps_are_all_steps_in_random_order() -> None:
    batch = CountingBatch(
        torch.zeros(2, 3, 40, 40),
        torch.tensor([2, 3]),
        [np.random.default_rng(k) for k in (0, 1)],
        torch.tensor([[[8.0, 8], [30, 8], [0, 0]], [[8, 8], [30, 8], [8, 30]]]),
        torch.full((2,), 2.0),
        torch.zeros(2, 3),
    )
    given = counting_steps(batch, every=True)
    assert given.steps.sample.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert given.steps.time.tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert given.steps.last.tolist() == [False, False, True, False, False, False, True]
    # The memory and the target together have each object once.
    both = given.memory + given.target
    assert both.amax() < 1.1
    for k, count in enumerate([2, 2, 2, 3, 3, 3, 3]):
        tops = sum(float(both[k, y, x]) > 0.7 for x, y in ((8, 8), (30, 8), (8, 30)))
        assert tops == count
    assert given.memory[[0, 3]].sum() == 0 and given.target[[2, 6]].sum() == 0
    assert given.steps.mean(torch.arange(7.0), 2).tolist() == [1.0, 4.5]


def test_the_jitter_of_the_memory_grows_with_the_size_of_objects() -> None:
    """Small objects are moved by no more than the jitter."""
    off = []
    for seed in range(100):
        batch = CountingBatch(
            torch.zeros(1, 3, 96, 96),
            torch.tensor([2]),
            [np.random.default_rng(seed)],
            torch.tensor([[[24.0, 48], [72, 48]]]),
            torch.full((1,), 2.0),
            torch.tensor([[6.0, 36]]),
        )
        memory = counting_steps(batch, every=True, jitter=1.0).memory[-1:]  # both are counted
        halves = torch.cat(memory.split(48, 2))
        off.append(strongest_peak(halves).centre - torch.tensor([24.0, 48]))
    small, large = torch.stack(off).abs().amax((0, 2)).tolist()
    assert 0.8 < small <= 1.1 and 2.4 < large <= 3.1


def test_one_step_is_drawn_evenly() -> None:
    steps = torch.zeros(1, 4, 4, dtype=torch.int64)
    times = []
    for seed in range(300):
        batch = ReadingBatch(
            torch.zeros(1, 1, 4, 4),
            torch.tensor([2]),
            [np.random.default_rng(seed)],
            steps,
            [["ab", "c"]],
            torch.zeros(1, 2, 4, 2),
        )
        given = reading_steps(batch, every=False)
        times.append(int(given.steps.time))
        assert given.texts == [["ab", "c", ""][times[-1]]]
    assert min(times.count(t) for t in (0, 1, 2)) > 70


def test_reading_steps_are_those_of_the_step_map() -> None:
    steps = torch.tensor([[[1, 1, 0], [2, 1, 0]]])
    batch = ReadingBatch(
        torch.zeros(1, 1, 2, 3),
        torch.tensor([2]),
        [np.random.default_rng(0)],
        steps,
        [["a", "b"]],
        torch.zeros(1, 2, 4, 2),
    )
    given = reading_steps(batch, every=True)
    assert given.memory.int().tolist() == [
        [[0, 0, 0], [0, 0, 0]],
        [[1, 1, 0], [0, 1, 0]],
        [[1, 1, 0], [1, 1, 0]],
    ]
    assert given.target.int().tolist() == [
        [[1, 1, 0], [0, 1, 0]],
        [[0, 0, 0], [1, 0, 0]],
        [[0, 0, 0], [0, 0, 0]],
    ]
