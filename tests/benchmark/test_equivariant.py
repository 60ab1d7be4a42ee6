"""Equivariant layers: the features of a transformed image are the transformed features."""

import pytest
import torch
from torch.nn.functional import pixel_shuffle, pixel_unshuffle, relu

from benchmark.models.equivariant import (
    EQUIVARIANT,
    FOLDED,
    PLAIN,
    SYMMETRIES,
    EquivariantConv,
    EquivariantNorm,
    EquivariantPlainUnit,
    EquivariantUnit,
    Fold,
    transform,
)

symmetries = pytest.mark.parametrize("symmetry", SYMMETRIES, ids=str)


def randomised(*layers: torch.nn.Module) -> torch.nn.Module:
    """Chain layers, with random weights, so that none of them is the identity."""
    torch.manual_seed(0)
    chain = torch.nn.Sequential(*layers).eval().double()
    for parameter in chain.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return chain


@symmetries
@pytest.mark.parametrize("stride", [1, 2])
def test_layers_are_equivariant(symmetry, stride: int) -> None:
    kernel = 4 if stride == 2 else 3
    layers = randomised(
        EquivariantConv(PLAIN, 3, 2, 6, 2, bias=True),
        EquivariantUnit(2, dilation=2),
        EquivariantConv(EQUIVARIANT, 2, 3, kernel, stride),
        EquivariantNorm(3),
        EquivariantUnit(3, instance_fields=1),
        EquivariantPlainUnit(3),
        EquivariantConv(EQUIVARIANT, 3, 1, 1, bias=True),
        Fold(),
        torch.nn.PixelShuffle(2),
    )
    image = torch.rand(2, 3, 32, 48, dtype=torch.float64)
    seen = layers(image).detach()
    assert float(seen.std()) > 1e-3
    assert torch.allclose(layers(transform(image, symmetry)), transform(seen, symmetry))


@symmetries
def test_folded_pixels_are_permuted_by_a_symmetry(symmetry) -> None:
    layers = randomised(
        EquivariantConv(FOLDED, 1, 3, 3), EquivariantConv(EQUIVARIANT, 3, 1, 3), Fold()
    )

    def seen(memory: torch.Tensor) -> torch.Tensor:
        return pixel_shuffle(relu(layers(pixel_unshuffle(memory, 2))), 2)

    memory = torch.rand(1, 1, 16, 24, dtype=torch.float64)
    assert torch.allclose(seen(transform(memory, symmetry)), transform(seen(memory), symmetry))


def test_a_filter_has_one_weight_for_all_symmetries() -> None:
    layer, plain = EquivariantConv(EQUIVARIANT, 6, 6, 3), torch.nn.Conv2d(48, 48, 3, padding=1)
    assert layer.weight.numel() * len(SYMMETRIES) == plain.weight.numel()
    assert layer(torch.rand(1, 48, 9, 9)).shape == plain(torch.rand(1, 48, 9, 9)).shape


def test_running_statistics_are_the_same_for_all_symmetries() -> None:
    torch.manual_seed(0)
    norm = EquivariantNorm(2).train()
    maps = 3 + 2 * torch.randn(8, 2 * len(SYMMETRIES), 16, 16)
    for _ in range(60):
        normalised = norm(maps).detach()
    assert float(normalised.mean()) == pytest.approx(0, abs=1e-3)
    assert float(normalised.std()) == pytest.approx(1, abs=1e-3)
    assert norm.mean.tolist() == pytest.approx([3, 3], abs=0.1)
    assert norm.variance.tolist() == pytest.approx([4, 4], abs=0.2)
    assert torch.allclose(norm.eval()(maps), normalised, atol=0.15)


def test_instance_fields_do_not_depend_on_brightness_and_contrast() -> None:
    """Nor on the batch or on running statistics; all other fields keep brightness and contrast."""
    torch.manual_seed(0)
    norm = EquivariantNorm(3, instance_fields=1).train()
    for _ in range(5):
        norm(1 + torch.randn(4, 3 * len(SYMMETRIES), 16, 16))
    norm.eval()
    maps = torch.randn(1, 3 * len(SYMMETRIES), 16, 16)
    fields = norm(torch.cat([maps, 3 * maps + 2])).detach().view(2, len(SYMMETRIES), 3, 16, 16)
    assert torch.allclose(fields[0, :, 2], fields[1, :, 2], atol=1e-4)
    assert float(fields[0, :, 2].std()) == pytest.approx(1, abs=1e-3)
    assert torch.allclose(fields[1, :, :2].std(), 3 * fields[0, :, :2].std(), rtol=1e-3)
    assert torch.allclose(norm(maps), norm(torch.cat([maps, 9 * maps]))[:1], atol=1e-5)


def test_instance_fields_have_no_running_statistics() -> None:
    assert EquivariantNorm(3, instance_fields=1).mean.shape == (2,)
    # They are the same in training and in evaluation mode.
    norm, maps = EquivariantNorm(2, instance_fields=1), torch.randn(4, 2 * len(SYMMETRIES), 8, 8)
    trained, used = (
        norm.train(mode)(maps).view(4, len(SYMMETRIES), 2, 8, 8) for mode in (True, False)
    )
    assert torch.allclose(trained[:, :, 1], used[:, :, 1])
    assert not torch.allclose(trained[:, :, 0], used[:, :, 0])
