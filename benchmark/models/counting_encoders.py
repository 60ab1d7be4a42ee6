"""Counting encoders: image features for counters."""

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
from benchmark.models.layers import PlainUnit, ResidualUnit, to_grey

_DILATIONS = (1, 1, 2, 2, 4, 4)
# Window over which the local contrast of a photograph is measured, in cells of 4×4 pixels.
_CONTRAST_WINDOW = 9


def counting_encoder(inputs: int) -> nn.Sequential:
    """Build the paper's encoder (appendix): six residual layers of 32 filters 5×5, without
    downsampling."""
    return nn.Sequential(
        *(ResidualUnit(inputs if k == 0 else 32, 32, 5, d) for k, d in enumerate(_DILATIONS))
    )


class DrawingEncoder(nn.Module):
    """Our encoder for drawings: (N, C, H, W) → (N, width, H/4, W/4), rounded up."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.stem1 = nn.Conv2d(channels, width // 2, 5, 2, 2)
        self.stem2 = nn.Conv2d(width // 2, width, 3, 2, 1)
        self.units = nn.Sequential(*(PlainUnit(width, 3, d) for d in _DILATIONS))

    def forward(self, images: Tensor) -> Tensor:
        low = relu(self.stem1(pad_to_multiple(images) - 0.5))
        features: Tensor = relu(self.units(self.stem2(low)))
        return features


class PhotoEncoder(nn.Module):
    """Our encoder for photographs: a pyramid down to an eighth and back to a quarter resolution.

    - To tell planes from hangars, lorries and markings takes more layers than to recognise a
      coloured square. At an eighth of the resolution they are cheap and have a large receptive
      field.
    - The layers are equivariant, because planes may point in any direction.
    - Batch normalisation makes training fast enough. At test time it is a fixed scale, which does
      not depend on how many objects there are.
    - The mean and contrast of the photograph are normalised first, and half the fields at a half
      and a quarter of the resolution have instance normalisation, so that the height of a peak has
      the same meaning in more kinds of photographs. A few planes hardly change these statistics.
    """

    def __init__(self, channels: int, fields: Sequence[int]) -> None:
        """Set up the layers; `fields` are those at a half, a quarter and an eighth of the
        resolution."""
        super().__init__()
        near, middle, far = fields
        self.near = nn.Sequential(
            EquivariantConv(PLAIN, channels + 1, near, 6, 2, bias=True),
            EquivariantUnit(near, instance_fields=near // 2),
        )
        self.middle = nn.Sequential(
            EquivariantConv(EQUIVARIANT, near, middle, 4, 2, bias=True),
            EquivariantUnit(middle, instance_fields=middle // 2),
            EquivariantUnit(middle, instance_fields=middle // 2),
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
        inputs = torch.cat([standardise(images), local_contrast(images)], 1)
        middle = self.middle(self.near(pad_to_multiple(inputs, 8)))  # (N, 8 · fields, H/4, W/4)
        far = interpolate(self.far(middle), scale_factor=2.0, mode="bilinear")
        features: Tensor = self.last(middle + far)
        return features


def standardise(images: Tensor) -> Tensor:
    """Scale each photograph to mean 0 and standard deviation 0.2: some are dark, others hazy."""
    mean = images.mean((1, 2, 3), keepdim=True)
    variance = (images - mean).square().mean((1, 2, 3), keepdim=True)
    return 0.2 * (images - mean) / (variance + 1e-4).sqrt()


def local_contrast(images: Tensor) -> Tensor:
    """Return the difference of each pixel from the local mean over the local standard deviation,
    (N, 1, H, W): a grey plane on grey ground stands out like a white one on black."""
    shades = to_grey(images)
    size = (shades.shape[2], shades.shape[3])
    coarse = avg_pool2d(torch.cat([shades, shades.square()], 1), 4, ceil_mode=True)
    window = _CONTRAST_WINDOW
    averaged = avg_pool2d(coarse, window, 1, window // 2, count_include_pad=False)
    smooth = interpolate(averaged, size, mode="bilinear")
    mean, square = smooth[:, :1], smooth[:, 1:]
    variance: Tensor = (square - mean.square()).clamp(min=0) + 4e-4
    return 0.2 * (shades - mean) * variance.rsqrt()


def pad_to_multiple(images: Tensor, multiple: int = 4) -> Tensor:
    """Pad images below and on the right to a multiple of some number of pixels."""
    height, width = images.shape[-2:]
    below, right = -height % multiple, -width % multiple
    return pad(images, (0, right, 0, below)) if below or right else images
