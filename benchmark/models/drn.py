"""DRN: the paper's encoder for text (appendix), after the DRN-C-26 of Yu et al. (2017)."""

from dataclasses import dataclass

from torch import nn

from benchmark.models.layers import BatchNorm, ResidualUnit


@dataclass(frozen=True)
class Layer:
    """One row of the table of layers in the paper's appendix."""

    kind: str
    kernel: int
    filters: int
    dilation: int
    stride: int = 1


LAYERS = (
    Layer("Conv", 5, 16, 1),
    Layer("Res", 3, 16, 1, 2),
    Layer("Res", 3, 32, 1, 2),
    Layer("Res", 3, 64, 1),
    Layer("Res", 3, 64, 1, 2),
    Layer("Res", 3, 128, 1),
    Layer("Res", 3, 128, 1),
    Layer("Res", 3, 256, 2),
    Layer("Res", 3, 256, 2),
    Layer("Res", 3, 512, 4),
    Layer("Res", 3, 512, 4),
    Layer("Conv", 3, 512, 2),
    Layer("Conv", 3, 512, 2),
    Layer("Conv", 3, 512, 1),
    Layer("Conv", 3, 512, 1),
)


def drn_encoder(inputs: int, shrink: int = 1) -> nn.Sequential:
    """Build the encoder (N, inputs, H, W) → (N, 512, ⌈H/8⌉, ⌈W/8⌉).

    `shrink` divides the number of filters of every layer.
    """
    layers: list[nn.Module] = []
    for layer in LAYERS:
        filters = max(1, layer.filters // shrink)
        if layer.kind == "Res":
            layers.append(ResidualUnit(inputs, filters, layer.kernel, layer.dilation, layer.stride))
        else:
            layers.append(_conv(inputs, filters, layer))
        inputs = filters
    return nn.Sequential(*layers)


def _conv(inputs: int, filters: int, layer: Layer) -> nn.Sequential:
    padding = layer.dilation * (layer.kernel // 2)
    return nn.Sequential(
        nn.Conv2d(inputs, filters, layer.kernel, 1, padding, layer.dilation, bias=False),
        BatchNorm(filters),
        nn.ReLU(),
    )
