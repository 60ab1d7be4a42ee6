"""Turned: layers that see in all eight ways to turn and mirror an image at once.

From above, a plane is a plane whichever way it points. A filter here is used in all eight
ways, so it need not be learnt eight times, and what is found in a turned image is what is
found in the image, turned (group convolutions, Cohen & Welling 2016). Maps have the channels
of one way after those of another: channel = way · fields + field.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad, relu

from benchmark.models.layers import normalised

# Whether the axes are swapped, and along which of them it is turned over then.
Way = tuple[bool, tuple[int, ...]]
WAYS: tuple[Way, ...] = tuple(
    (swapped, over) for swapped in (False, True) for over in ((), (-1,), (-2,), (-2, -1))
)
# What maps may be made of: one channel that is turned alone, the four pixels that a fold of two
# by two has as channels, which are turned into each other, and maps of such layers themselves.
PLAIN, FOLDED, EQUIVARIANT = 1, 4, 8
_LEAST_VARIANCE = 1e-5


def turn(maps: Tensor, way: Way) -> Tensor:
    """Images, maps or filters (…, H, W) in one of the ways."""
    swapped, over = way
    seen = maps.transpose(-1, -2) if swapped else maps
    return seen.flip(over) if over else seen


@cache
def sources(kind: int) -> tuple[tuple[int, ...], ...]:
    """For each way, which channels of a kind stand where, once the image is turned so."""
    if kind == PLAIN:
        return ((0,),) * len(WAYS)
    if kind == FOLDED:
        return tuple(tuple(turn(_square(), w).flatten().tolist()) for w in WAYS)
    # To turn a map of way f makes it one of way w · f: where f is then, w⁻¹ · f was.
    pattern = _square()
    shown = [turn(pattern, way).tolist() for way in WAYS]
    products = [[shown.index(turn(turn(pattern, w), way).tolist()) for w in WAYS] for way in WAYS]
    return tuple(tuple(row.index(way) for way in range(len(WAYS))) for row in products)


def _square() -> Tensor:
    return torch.arange(4, device="cpu").view(2, 2)


class EquivariantConv(nn.Module):
    """A convolution to `fields` fields in each of the ways.

    An even kernel with a stride of two keeps the middle of the image in its middle; an odd one
    would not, and what it sees would depend on the way.
    """

    places: Tensor

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
        """`inputs` are fields of the given kind."""
        super().__init__()
        self.stride, self.dilation = stride, dilation
        self.around = (dilation * (kernel - 1) + 2 - stride) // 2
        self.weight = nn.Parameter(torch.empty(fields, kind * inputs, kernel, kernel))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)
        self.bias = nn.Parameter(torch.zeros(fields)) if bias else None
        # With values even where a model is built without any, only for the shapes of its weights.
        places = torch.arange(self.weight.numel(), device="cpu").view(self.weight.shape)
        channels = torch.arange(kind * inputs, device="cpu").view(kind, inputs)
        every = torch.cat(
            [
                turn(places, way)[:, channels[list(order)].flatten()]
                for way, order in zip(WAYS, sources(kind), strict=True)
            ]
        )
        self.whole = every.shape
        self.register_buffer("places", every.flatten(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.flatten().index_select(0, self.places).view(self.whole)
        bias = None if self.bias is None else self.bias.repeat(len(WAYS))
        return conv2d(
            x,
            weight.contiguous(memory_format=torch.channels_last),
            bias,
            self.stride,
            self.around,
            self.dilation,
        )


class EquivariantNorm(nn.Module):
    """Batch normalisation whose scales and statistics are the same in all ways.

    The last `alone` fields are normalised by each image alone. What a photograph's light, haze
    and sharpness do to them is then evened out, also where training has seen none like it, and
    the others still tell what there is much of (IBN-Net, Pan and others 2018).
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, fields: int, alone: int = 0) -> None:
        super().__init__()
        self.alone = alone
        self.weight = nn.Parameter(torch.ones(fields))
        self.bias = nn.Parameter(torch.zeros(fields))
        self.register_buffer("mean", torch.zeros(fields - alone))
        self.register_buffer("variance", torch.ones(fields - alone))

    def forward(self, x: Tensor) -> Tensor:
        known = (pad(values, (0, self.alone)) for values in (self.mean, self.variance))
        weight, bias, mean, variance = (
            values.repeat(len(WAYS)) for values in (self.weight, self.bias, *known)
        )
        normal = normalised(x, mean, variance, weight, bias, self.training)
        if self.training:
            # Each way was normalised by statistics of its own, which over many images are alike.
            shared = len(self.mean)
            self.mean.copy_(mean.view(len(WAYS), -1).mean(0)[:shared])
            self.variance.copy_(variance.view(len(WAYS), -1).mean(0)[:shared])
        return self._mixed(normal, x) if self.alone else normal

    def _mixed(self, normal: Tensor, x: Tensor) -> Tensor:
        """Maps normalised by the batch, but for the last fields."""
        n, channels, height, width = x.shape
        shape = (n, height, width, len(WAYS), channels // len(WAYS))  # as it lies in memory
        by_batch = normal.permute(0, 2, 3, 1).reshape(shape)[..., : -self.alone]
        own = x.permute(0, 2, 3, 1).reshape(shape)[..., -self.alone :]
        variance, mean = torch.var_mean(own, (1, 2, 3), correction=0, keepdim=True)
        scale = self.weight[-self.alone :] * torch.rsqrt(variance + _LEAST_VARIANCE)
        by_image = own * scale + (self.bias[-self.alone :] - mean * scale)
        mixed = torch.cat([by_batch, by_image.to(by_batch)], -1)
        return mixed.view(n, height, width, channels).permute(0, 3, 1, 2)


class EquivariantUnit(nn.Module):
    """Pre-activation residual unit of such layers; `alone` fields are first normalised by each
    image alone."""

    def __init__(self, fields: int, dilation: int = 1, alone: int = 0) -> None:
        super().__init__()
        self.norm1, self.norm2 = EquivariantNorm(fields, alone), EquivariantNorm(fields)
        self.conv1 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation)
        self.conv2 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(relu(self.norm1(x)))
        added: Tensor = x + self.conv2(relu(self.norm2(y)))
        return added


class EquivariantPlainUnit(nn.Module):
    """The same without normalisation, which begins as the identity."""

    def __init__(self, fields: int, dilation: int = 1) -> None:
        super().__init__()
        self.conv1 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation, bias=True)
        self.conv2 = EquivariantConv(EQUIVARIANT, fields, fields, 3, dilation=dilation, bias=True)
        nn.init.kaiming_normal_(self.conv1.weight, nonlinearity="relu")
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x: Tensor) -> Tensor:
        added: Tensor = x + self.conv2(relu(self.conv1(relu(x))))
        return added


class Fold(nn.Module):
    """One field (N, 8, H, W) as the four pixels of a fold (N, 4, H, W): each is the mean of the
    two ways that bring the first pixel there."""

    def forward(self, maps: Tensor) -> Tensor:
        corners = torch.tensor([order.index(0) for order in sources(FOLDED)], device=maps.device)
        share = (corners == torch.arange(4, device=maps.device)[:, None]).to(maps) / 2  # (4, 8)
        return torch.einsum("nwyx,cw->ncyx", maps, share)
