"""Models: the layers are those of the paper's appendix, and images may have any size."""

import numpy as np
import pytest
import torch

from benchmark.data.batches import CountingBatch, ReadingBatch
from benchmark.models.build import build_model
from benchmark.models.contract import Model
from benchmark.models.counter import FastCounter, PaperCounter
from benchmark.models.counting_encoders import counting_encoder
from benchmark.models.paper_reader import PaperReader, toy_encoder
from benchmark.registry import MODELS, TASKS, find_task, find_training


def parameters(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_the_toy_encoder_is_that_of_the_appendix() -> None:
    encoder = toy_encoder(2)
    convolutions = [layer for layer in encoder if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [16, 16, 16, 16, 32, 32]
    kinds = "".join(type(layer).__name__[0] for layer in encoder)  # Conv2d, ReLU, MaxPool2d
    assert kinds == "CRCRMCRCRMCRCR"
    assert parameters(encoder) == 304 + 3 * 2320 + 4640 + 9248
    assert encoder(torch.zeros(1, 2, 96, 128)).shape == (1, 32, 24, 32)


def test_the_decoder_of_the_reader_is_that_of_the_appendix() -> None:
    model = PaperReader(1, "stcSTC")
    assert model.decoder.cell.hidden_size == 128
    assert model.decoder.query.out_features == model.decoder.key.out_features == 128
    update = [layer for layer in model.delta if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in update] == [32, 32, 1]
    assert len(model.tokens) == 6 + 2  # the end of a line and of the block


def test_the_counting_encoder_is_that_of_the_appendix() -> None:
    encoder = counting_encoder(4)
    assert [unit.conv1.dilation[0] for unit in encoder] == [1, 1, 2, 2, 4, 4]
    assert {unit.conv2.kernel_size for unit in encoder} == {(5, 5)}
    # A unit has two normalisations and two convolutions 5×5 of 32 filters; the first one also has
    # a shortcut.
    unit = 2 * 2 * 32 + 2 * 32 * 32 * 25
    first = 2 * 4 + 2 * 32 + (4 + 32) * 32 * 25 + 4 * 32
    assert parameters(encoder) == first + 5 * unit
    assert encoder(torch.zeros(1, 4, 40, 40)).shape == (1, 32, 40, 40)


def test_the_head_of_the_counter_is_that_of_the_paper() -> None:
    model = PaperCounter(3)
    assert parameters(model.delta) == 33
    delta = torch.zeros(2, 8, 8)
    delta[1, 3, 4] = 2.0
    with torch.no_grad():
        model.stop_weight.fill_(-3.0), model.stop_bias.fill_(1.0)
    assert model.stop_logit(delta).tolist() == [1.0, -5.0]


@pytest.mark.parametrize("model", [PaperCounter(3), PaperReader(1, "ab")])
def test_weights_are_initialised_as_in_the_paper(model: Model) -> None:
    drawn = [p for n, p in model.named_parameters() if "norm" not in n]
    weights = torch.cat([p.detach().flatten() for p in drawn])
    assert float(weights.std()) == pytest.approx(0.01, rel=0.02)
    assert float(weights.mean()) == pytest.approx(0, abs=2e-4)


@pytest.mark.parametrize("preset", ["fast", "paper"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_every_model_trains_and_predicts(task, name: str, preset: str) -> None:
    """A loss for each sample, gradients for each weight, a prediction for each image."""
    torch.manual_seed(0)
    options = find_training(task, name, preset).model
    if preset == "paper" and task.kind == "reading" and task.photographs:
        options = {**options, "shrink": 16}  # test_text_models tests the full size
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
        predictions = model.eval().predict(images)
        assert len(predictions) == 2
        assert isinstance(predictions[0], int if task.kind == "counting" else list)


def test_a_fast_step_is_cheap_compared_with_encoding() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    model, image = FastCounter(3).eval(), torch.zeros(1, 3, 128, 128)
    with FlopCounterMode(display=False) as encoding:
        encoded = model.encode(image)
    with FlopCounterMode(display=False) as stepping:
        model.step(encoded, torch.zeros(1, 128, 128))
    encoded_each_step = 11 * (encoding.get_total_flops() + stepping.get_total_flops())
    encoded_once = encoding.get_total_flops() + 11 * stepping.get_total_flops()
    assert encoded_each_step > 4 * encoded_once  # ten objects are eleven steps


def test_the_features_of_a_counter_do_not_depend_on_what_is_far_away() -> None:
    """Otherwise longer sequences would have other features than those of training."""
    torch.manual_seed(0)
    model = FastCounter(3).eval()
    for unit in model.encoder.units:
        torch.nn.init.normal_(unit.conv2.weight, std=0.05)
    small = torch.rand(1, 3, 128, 128)
    large = torch.rand(1, 3, 512, 512)
    large[..., :128, :128] = small
    with torch.no_grad():
        alone = model.encode(small)[..., :4, :4]
        within = model.encode(large)[..., :4, :4]
    assert torch.allclose(alone, within, atol=1e-4)


def test_a_task_is_found_by_its_name() -> None:
    assert find_task("toy-shapes").alphabet == "stcSTC"
