"""Layers that several models are made of."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import batch_norm, relu
from torch.nn.modules.batchnorm import _BatchNorm

from ivl_shards import UserError


class BatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes, for any number of dimensions.

    torch's own synchronised one needs a GPU; without, two processes would train another model
    than one with the same batch.
    """

    def forward(self, x: Tensor) -> Tensor:
        assert self.running_mean is not None and self.running_var is not None
        assert self.momentum is not None and self.num_batches_tracked is not None
        if self.training:
            self.num_batches_tracked += 1
        return normalised(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.eps,
        )

    def _check_input_dim(self, input: Tensor) -> None:
        """Any will do."""


def normalised(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor,
    bias: Tensor,
    training: bool,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Maps of mean 0 and variance 1 in each channel, scaled and shifted; by the given statistics,
    or in training by those of the batch, which the given ones follow."""
    if not (training and dist.is_initialized() and dist.get_world_size() > 1):
        return batch_norm(x, mean, variance, weight, bias, training, momentum, eps)
    from torch.distributed.nn.functional import all_reduce

    given, x = x.dtype, x.float()  # sums of a batch want more digits than its values have
    others = [0, *range(2, x.ndim)]
    shape = [-1] + [1] * (x.ndim - 2)
    here = torch.stack([x.sum(others), (x * x).sum(others), x.new_full(x.shape[1:2], _count(x))])
    total, squares, count = all_reduce(here)  # type: ignore[no-untyped-call]
    now = total / count
    spread = squares / count - now * now
    with torch.no_grad():
        mean.lerp_(now, momentum)
        variance.lerp_(spread * count / (count - 1), momentum)
    scale: Tensor = weight * torch.rsqrt(spread + eps)
    normal: Tensor = x * scale.view(shape) + (bias - now * scale).view(shape)
    return normal.to(given)


def _count(x: Tensor) -> float:
    """Values of a channel."""
    return x.numel() / x.shape[1]


class ResidualUnit(nn.Module):
    """Pre-activation residual unit with batch normalisation (He et al. 2016), `Res` in the
    paper's appendix."""

    def __init__(self, inputs: int, filters: int, kernel: int, dilation: int, stride: int = 1):
        super().__init__()
        around = dilation * (kernel // 2)
        self.norm1 = BatchNorm(inputs)
        self.conv1 = nn.Conv2d(inputs, filters, kernel, stride, around, dilation, bias=False)
        self.norm2 = BatchNorm(filters)
        self.conv2 = nn.Conv2d(filters, filters, kernel, 1, around, dilation, bias=False)
        same = inputs == filters and stride == 1
        # A stride of its own would do the same, but with few channels, laid out last, its gradient
        # writes beyond its memory (torch 2.13 on CPUs, oneDNN).
        self.stride = stride
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, filters, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(relu(self.norm1(x)))
        kept = x[:, :, :: self.stride, :: self.stride]
        added: Tensor = self.shortcut(kept) + self.conv2(relu(self.norm2(y)))
        return added


class PlainUnit(nn.Module):
    """Residual unit without normalisation, which begins as the identity.

    A norm over the image would make what is seen here depend on how much there is elsewhere,
    which is what a model that is tested on longer sequences must not do.
    """

    def __init__(self, channels: int, kernel: int = 3, dilation: int = 1) -> None:
        super().__init__()
        around = dilation * (kernel // 2)
        self.conv1 = nn.Conv2d(channels, channels, kernel, 1, around, dilation)
        self.conv2 = nn.Conv2d(channels, channels, kernel, 1, around, dilation)
        nn.init.kaiming_normal_(self.conv1.weight, nonlinearity="relu")
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x: Tensor) -> Tensor:
        added: Tensor = x + self.conv2(relu(self.conv1(relu(x))))
        return added


def grey(images: Tensor) -> Tensor:
    """Images (N, 1 or 3, H, W) as (N, 1, H, W), colours weighed as JPEG weighs them."""
    if images.shape[1] == 1:
        return images
    weights = images.new_tensor([0.299, 0.587, 0.114])
    with torch.autocast(images.device.type, enabled=False):  # bfloat16 would round the pixels
        return torch.einsum("nchw,c->nhw", images, weights)[:, None]


def initialise(model: nn.Module, how: str) -> None:
    """First weights: `gaussian` with a deviation of 0.01, as the paper says; `scaled`, so that
    what passes a convolution keeps its size (He et al. 2015); or `own`, as the layers chose."""
    if how not in ("gaussian", "scaled", "own"):
        raise UserError(f"init '{how}': gaussian, scaled or own")
    for module in model.modules():
        if isinstance(module, BatchNorm):
            continue  # scales stay 1: nothing would pass one of 0.01
        if how == "gaussian":
            for parameter in module.parameters(recurse=False):
                nn.init.normal_(parameter, std=0.01)
        elif how == "scaled" and isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
