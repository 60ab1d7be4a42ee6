"""Models: their layers are those of the paper's appendix, and they run on any size."""

import numpy as np
import pytest
import torch

from benchmark.data.batches import CountingBatch, ReadingBatch
from benchmark.models.build import build_model
from benchmark.models.contract import Model
from benchmark.models.counter import FastCounter, PaperCounter
from benchmark.models.counting_encoders import counting_encoder
from benchmark.models.reader import PaperReader, toy_encoder
from benchmark.registry import MODELS, TASKS, find_task, find_training


def parameters(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_the_toy_encoder_is_the_appendix_s() -> None:
    encoder = toy_encoder(2)
    convolutions = [layer for layer in encoder if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [16, 16, 16, 16, 32, 32]
    kinds = "".join(type(layer).__name__[0] for layer in encoder)  # Conv2d, ReLU, MaxPool2d
    assert kinds == "CRCRMCRCRMCRCR"
    assert parameters(encoder) == 304 + 3 * 2320 + 4640 + 9248
    assert encoder(torch.zeros(1, 2, 96, 128)).shape == (1, 32, 24, 32)


def test_the_reader_s_decoder_is_the_appendix_s() -> None:
    model = PaperReader(1, "stcSTC")
    assert model.decoder.cell.hidden_size == 128
    assert model.decoder.query.out_features == model.decoder.key.out_features == 128
    update = [layer for layer in model.delta if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in update] == [32, 32, 1]
    assert len(model.tokens) == 6 + 2  # the end of a line and of the block


def test_the_counting_encoder_is_the_appendix_s() -> None:
    encoder = counting_encoder(4)
    assert [unit.conv1.dilation[0] for unit in encoder] == [1, 1, 2, 2, 4, 4]
    assert {unit.conv2.kernel_size for unit in encoder} == {(5, 5)}
    # A unit: two normalisations, two convolutions 5×5 of 32 filters; the first widens.
    unit = 2 * 2 * 32 + 2 * 32 * 32 * 25
    first = 2 * 4 + 2 * 32 + (4 + 32) * 32 * 25 + 4 * 32
    assert parameters(encoder) == first + 5 * unit
    assert encoder(torch.zeros(1, 4, 40, 40)).shape == (1, 32, 40, 40)


def test_the_counter_s_head_is_the_paper_s() -> None:
    model = PaperCounter(3)
    assert parameters(model.delta) == 33
    delta = torch.zeros(2, 8, 8)
    delta[1, 3, 4] = 2.0
    with torch.no_grad():
        model.stop_weight.fill_(-3.0), model.stop_bias.fill_(1.0)
    assert model.stop_logit(delta).tolist() == [1.0, -5.0]


@pytest.mark.parametrize("model", [PaperCounter(3), PaperReader(1, "ab")])
def test_weights_begin_as_the_paper_says(model: Model) -> None:
    drawn = [p for n, p in model.named_parameters() if "norm" not in n]
    together = torch.cat([p.detach().flatten() for p in drawn])
    assert float(together.std()) == pytest.approx(0.01, rel=0.02)
    assert float(together.mean()) == pytest.approx(0, abs=2e-4)


@pytest.mark.parametrize("preset", ["fast", "paper"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_every_model_learns_and_answers(task, name: str, preset: str) -> None:
    """A loss for each sample, gradients for each weight, an answer for each image."""
    torch.manual_seed(0)
    options = find_training(task, name, preset).model
    if preset == "paper" and task.kind == "reading" and task.photographs:
        options = {**options, "shrink": 16}  # the whole is tested with the layers of its list
    model = build_model(name, task, preset, options)
    rngs = [np.random.default_rng(k) for k in range(2)]
    images, lengths = torch.rand(2, task.channels, 72, 64), torch.tensor([1, 2])
    if task.kind == "counting":
        centres = torch.tensor([[[20.0, 20], [0, 0]], [[20, 20], [40, 50]]])
        batch = CountingBatch(
            images, lengths, rngs, centres, torch.full((2,), 2.5), torch.zeros(2, centres.shape[1])
        )
    else:
        steps = torch.zeros(2, 72, 64, dtype=torch.int64)
        steps[:, 8:28, 5:60] = 1
        steps[1, 36:58, 5:60] = 2
        letters = task.alphabet[:3]
        boxes = torch.tensor([[5.0, 8], [60, 8], [60, 28], [5, 28]])
        quads = torch.stack([boxes, boxes + torch.tensor([0.0, 28])]).expand(2, 2, 4, 2)
        texts = [[letters], [letters, letters[:1]]]
        batch = ReadingBatch(images, lengths, rngs, steps, texts, quads)
    losses = model.loss(batch)
    assert losses.shape == (2,) and bool(losses.isfinite().all())
    losses.mean().backward()
    assert [n for n, p in model.named_parameters() if p.grad is None] == []
    if name == "inductive":
        answers = model.eval().predict(images)
        assert len(answers) == 2
        assert isinstance(answers[0], int if task.kind == "counting" else list)


def test_a_fast_step_costs_little_beside_encoding() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    model, image = FastCounter(3).eval(), torch.zeros(1, 3, 128, 128)
    with FlopCounterMode(display=False) as encoding:
        encoded = model.encode(image)
    with FlopCounterMode(display=False) as stepping:
        model.step(encoded, torch.zeros(1, 128, 128))
    again = 11 * (encoding.get_total_flops() + stepping.get_total_flops())
    once = encoding.get_total_flops() + 11 * stepping.get_total_flops()
    assert again > 4 * once  # ten objects are eleven steps


def test_a_counter_sees_the_same_wherever_else_there_is_more() -> None:
    """Nothing far away may change what is seen here, or longer sequences would be other ones."""
    torch.manual_seed(0)
    model = FastCounter(3).eval()
    for unit in model.encoder.units:
        torch.nn.init.normal_(unit.conv2.weight, std=0.05)
    small = torch.rand(1, 3, 128, 128)
    large = torch.rand(1, 3, 512, 512)
    large[..., :128, :128] = small
    with torch.no_grad():
        here = model.encode(small)[..., :4, :4]
        there = model.encode(large)[..., :4, :4]
    assert torch.allclose(here, there, atol=1e-4)


def test_find_task_names_them_all() -> None:
    assert find_task("toy-shapes").alphabet == "stcSTC"
