"""Counting encoders: what sees the objects of an image, before any is counted."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, interpolate, pad, relu

from benchmark.models.equivariant import (
    EQUIVARIANT,
    PLAIN,
    EquivariantConv,
    EquivariantNorm,
    EquivariantUnit,
)
from benchmark.models.layers import PlainUnit, ResidualUnit, grey

_DILATIONS = (1, 1, 2, 2, 4, 4)
_AROUND = 9  # times four pixels: over these the contrast of a photograph is measured


def counting_encoder(inputs: int) -> nn.Sequential:
    """The appendix's: six residual layers of 32 filters 5×5, nothing downsampled."""
    return nn.Sequential(
        *(ResidualUnit(inputs if k == 0 else 32, 32, 5, d) for k, d in enumerate(_DILATIONS))
    )


class DrawingEncoder(nn.Module):
    """Ours for drawings: image (N, C, H, W) → features (N, width, H/4, W/4), rounded up."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.stem1 = nn.Conv2d(channels, width // 2, 5, 2, 2)
        self.stem2 = nn.Conv2d(width // 2, width, 3, 2, 1)
        self.units = nn.Sequential(*(PlainUnit(width, 3, d) for d in _DILATIONS))

    def forward(self, images: Tensor) -> Tensor:
        low = relu(self.stem1(whole(images) - 0.5))
        features: Tensor = relu(self.units(self.stem2(low)))
        return features


class PhotoEncoder(nn.Module):
    """Ours for photographs: a pyramid down to an eighth and back to a quarter of the image.

    What a plane is, among hangars, lorries and markings, takes more layers to tell than what a
    coloured square is; at an eighth of the resolution they are cheap and see far. Every filter is
    used in all eight ways to turn and mirror it, since planes point anywhere. Layers are
    normalised over batches, without which they would learn too slowly; at the time of counting
    that is a fixed scale, the same wherever and however much there is to see. What counts
    everywhere is the light of the photograph: its mean and contrast, which are evened out at once,
    and those of half the fields near and in the middle, so that the height of a peak
    says the same in more kinds of photographs. A few planes more or less hardly change them.
    """

    def __init__(self, channels: int, fields: Sequence[int]) -> None:
        """`fields` of the maps at a half, a quarter and an eighth of the resolution."""
        super().__init__()
        near, middle, far = fields
        self.near = nn.Sequential(
            EquivariantConv(PLAIN, channels + 1, near, 6, 2, bias=True),
            EquivariantUnit(near, alone=near // 2),
        )
        self.middle = nn.Sequential(
            EquivariantConv(EQUIVARIANT, near, middle, 4, 2, bias=True),
            EquivariantUnit(middle, alone=middle // 2),
            EquivariantUnit(middle, alone=middle // 2),
        )
        self.far = nn.Sequential(
            nn.ReLU(),
            EquivariantConv(EQUIVARIANT, middle, far, 4, 2, bias=True),
            *(EquivariantUnit(far, dilation) for dilation in (1, 2, 1, 2)),
            EquivariantNorm(far),
            nn.ReLU(),
            EquivariantConv(EQUIVARIANT, far, middle, 1, bias=True),
        )
        self.last = nn.Sequential(EquivariantUnit(middle), EquivariantNorm(middle), nn.ReLU())

    def forward(self, images: Tensor) -> Tensor:
        shades = torch.cat([even(images), contrast(images)], 1)
        middle = self.middle(self.near(whole(shades, 8)))  # (N, 8 · fields, H/4, W/4)
        far = interpolate(self.far(middle), scale_factor=2.0, mode="bilinear")
        features: Tensor = self.last(middle + far)
        return features


def even(images: Tensor) -> Tensor:
    """Photographs of one mean and contrast: some are as dark as night, in others all is haze."""
    mean = images.mean((1, 2, 3), keepdim=True)
    spread = (images - mean).square().mean((1, 2, 3), keepdim=True)
    return 0.2 * (images - mean) / (spread + 1e-4).sqrt()


def contrast(images: Tensor) -> Tensor:
    """How much brighter a place (N, 1, H, W) is than what is around it, by the measure of what
    varies there: a grey plane on grey ground stands out from it as a white one on black does."""
    shades = grey(images)
    size = (shades.shape[2], shades.shape[3])
    coarse = avg_pool2d(torch.cat([shades, shades.square()], 1), 4, ceil_mode=True)
    around = avg_pool2d(coarse, _AROUND, 1, _AROUND // 2, count_include_pad=False)
    smooth = interpolate(around, size, mode="bilinear")
    mean, square = smooth[:, :1], smooth[:, 1:]
    spread: Tensor = (square - mean.square()).clamp(min=0) + 4e-4
    return 0.2 * (shades - mean) * spread.rsqrt()


def whole(images: Tensor, of: int = 4) -> Tensor:
    """Padded below and to the right to multiples of a number of pixels."""
    height, width = images.shape[-2:]
    below, right = -height % of, -width % of
    return pad(images, (0, right, 0, below)) if below or right else images
