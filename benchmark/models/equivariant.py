"""Equivariant layers: group convolutions over the eight symmetries of the square.

From above, a plane may point in any direction. A filter of these layers is applied in all eight
rotations by right angles and reflections, so it need not be learned eight times, and the features
of a rotated image are the rotated features of the image (Cohen & Welling 2016). The channels are
ordered by symmetry, then by field: channel = symmetry · fields + field.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad, relu

from benchmark.models.layers import normalise

# Whether the axes are swapped, and along which of them the result is flipped.
Symmetry = tuple[bool, tuple[int, ...]]
SYMMETRIES: tuple[Symmetry, ...] = tuple(
    (swapped, flipped) for swapped in (False, True) for flipped in ((), (-1,), (-2,), (-2, -1))
)
# Kinds of input fields, by their number of channels: one channel, which is transformed alone; the
# four pixels of a 2×2 cell as channels (pixel_unshuffle), which are also permuted; and the outputs
# of equivariant layers.
PLAIN, FOLDED, EQUIVARIANT = 1, 4, 8
_EPS = 1e-5


def transform(maps: Tensor, symmetry: Symmetry) -> Tensor:
    """Apply a symmetry to images, maps or filters (…, H, W)."""
    swapped, flipped = symmetry
    transposed = maps.transpose(-1, -2) if swapped else maps
    return transposed.flip(flipped) if flipped else transposed


@cache
def channel_orders(kind: int) -> tuple[tuple[int, ...], ...]:
    """Return for each symmetry how it permutes the channels of a field of that kind."""
    if kind == PLAIN:
        return ((0,),) * len(SYMMETRIES)
    if kind == FOLDED:
        return tuple(tuple(transform(_square(), s).flatten().tolist()) for s in SYMMETRIES)
    # Symmetry s maps the channel of symmetry f to that of s · f: channel f comes from s⁻¹ · f.
    pattern = _square()
    images = [transform(pattern, s).tolist() for s in SYMMETRIES]
    products = [
        [images.index(transform(transform(pattern, f), s).tolist()) for f in SYMMETRIES]
        for s in SYMMETRIES
    ]
    return tuple(tuple(row.index(s) for s in range(len(SYMMETRIES))) for row in products)


def _square() -> Tensor:
    return torch.arange(4, device="cpu").view(2, 2)


class EquivariantConv(nn.Module):
    """An equivariant convolution.

    With a stride of two, an even kernel keeps the centre of the image at the centre. An odd one
    would not, and would break the equivariance.
    """

    indices: Tensor

    def __init__(
        self,
        kind: int,
        inputs: int,
        fields: int,
        kernel: int,
        stride: int = 1,
        dilation: int = 1,
        bias: bool = False,
    ) -> None:
        """Set up the layer; `inputs` is the number of input fields, all of the given kind."""
        super().__init__()
        self.stride, self.dilation = stride, dilation
        self.padding = (dilation * (kernel - 1) + 2 - stride) // 2
        self.weight = nn.Parameter(torch.empty(fields, kind * inputs, kernel, kernel))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)
        self.bias = nn.Parameter(torch.zeros(fields)) if bias else None
        # On the CPU even where the model is built on the meta device: these are not weights.
        indices = torch.arange(self.weight.numel(), device="cpu").view(self.weight.shape)
        channels = torch.arange(kind * inputs, device="cpu").view(kind, inputs)
        expanded = torch.cat(
            [
                transform(indices, symmetry)[:, channels[list(order)].flatten()]
                for symmetry, order in zip(SYMMETRIES, channel_orders(kind), strict=True)
            ]
        )
        self.expanded_shape = expanded.shape
        self.register_buffer("indices", expanded.flatten(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.flatten().index_select(0, self.indices).view(self.expanded_shape)
        bias = None if self.bias is None else self.bias.repeat(len(SYMMETRIES))
        return conv2d(
            x,
            weight.contiguous(memory_format=torch.channels_last),
            bias,
            self.stride,
            self.padding,
            self.dilation,
        )


class EquivariantNorm(nn.Module):
    """Batch normalisation with the same scales and statistics for all symmetries.

    The last `instance_fields` fields have instance normalisation instead. It removes the influence
    of a photograph's light, haze and sharpness, also for kinds of photographs that training did
    not have, while the other fields keep this information (IBN-Net, Pan et al. 2018).
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, fields: int, instance_fields: int = 0) -> None:
        super().__init__()
        self.instance_fields = instance_fields
        self.weight = nn.Parameter(torch.ones(fields))
        self.bias = nn.Parameter(torch.zeros(fields))
        self.register_buffer("mean", torch.zeros(fields - instance_fields))
        self.register_buffer("variance", torch.ones(fields - instance_fields))

    def forward(self, x: Tensor) -> Tensor:
        padding = (0, self.instance_fields)
        running = (pad(values, padding) for values in (self.mean, self.variance))
        weight, bias, mean, variance = (
            values.repeat(len(SYMMETRIES)) for values in (self.weight, self.bias, *running)
        )
        y = normalise(x, mean, variance, weight, bias, self.training)
        if self.training:
            # Each symmetry was normalised by its own statistics, which agree over many images.
            shared = len(self.mean)
            self.mean.copy_(mean.view(len(SYMMETRIES), -1).mean(0)[:shared])
            self.variance.copy_(variance.view(len(SYMMETRIES), -1).mean(0)[:shared])
        return self._with_instance_fields(y, x) if self.instance_fields else y

    def _with_instance_fields(self, y: Tensor, x: Tensor) -> Tensor:
        """Replace the last fields of `y`, the batch-normalised `x`, by instance-normalised ones."""
        n, channels, height, width = x.shape
        count = self.instance_fields
        shape = (n, height, width, len(SYMMETRIES), channels // len(SYMMETRIES))  # channels_last
        by_batch = y.permute(0, 2, 3, 1).reshape(shape)[..., :-count]
        last = x.permute(0, 2, 3, 1).reshape(shape)[..., -count:]
        variance, mean = torch.var_mean(last, (1, 2, 3), correction=0, keepdim=True)
        scale = self.weight[-count:] * torch.rsqrt(variance + _EPS)
        by_image = last * scale + (self.bias[-count:] - mean * scale)
        mixed = torch.cat([by_batch, by_image.to(by_batch)], -1)
        return mixed.view(n, height, width, channels).permute(0, 3, 1, 2)


class EquivariantUnit(nn.Module):
    """Equivariant pre-activation residual unit; its first normalisation has `instance_fields`."""

    def __init__(self, fields: int, dilation: int = 1, instance_fields: int = 0) -> None:
        super().__init__()
        self.norm1 = EquivariantNorm(fields, instance_fields)
        self.norm2 = EquivariantNorm(fields)
        self.conv1 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation)
        self.conv2 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(relu(self.norm1(x)))
        out: Tensor = x + self.conv2(relu(self.norm2(y)))
        return out


class EquivariantPlainUnit(nn.Module):
    """Equivariant residual unit without normalisation, initialised as the identity."""

    def __init__(self, fields: int, dilation: int = 1) -> None:
        super().__init__()
        self.conv1 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation, bias=True)
        self.conv2 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation, bias=True)
        nn.init.kaiming_normal_(self.conv1.weight, nonlinearity="relu")
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.conv2(relu(self.conv1(relu(x))))
        return out


class Fold(nn.Module):
    """Converts an equivariant field (N, 8, H, W) to the four pixels of 2×2 cells (N, 4, H, W).

    Each pixel is the mean of the two symmetries that move the first pixel there.
    """

    def forward(self, maps: Tensor) -> Tensor:
        orders = channel_orders(FOLDED)
        corners = torch.tensor([order.index(0) for order in orders], device=maps.device)
        weights = (corners == torch.arange(4, device=maps.device)[:, None]).to(maps) / 2  # (4, 8)
        return torch.einsum("nwyx,cw->ncyx", maps, weights)
