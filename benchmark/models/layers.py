"""Layers that several models are made of."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import batch_norm, relu
from torch.nn.modules.batchnorm import _BatchNorm

from ivl_shards import UserError


class BatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes, for any number of dimensions.

    torch's SyncBatchNorm needs a GPU. Without synchronisation, two processes would train a
    different model than one process with the same total batch.
    """

    def forward(self, x: Tensor) -> Tensor:
        assert self.running_mean is not None and self.running_var is not None
        assert self.momentum is not None and self.num_batches_tracked is not None
        if self.training:
            self.num_batches_tracked += 1
        return normalise(
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
        """Accept any number of dimensions."""


def normalise(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor,
    bias: Tensor,
    training: bool,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Apply batch normalisation to each channel.

    In training, the statistics are those of the batches of all processes, and the running `mean`
    and `variance` are updated in place; otherwise these two are used.
    """
    if not (training and dist.is_initialized() and dist.get_world_size() > 1):
        return batch_norm(x, mean, variance, weight, bias, training, momentum, eps)
    from torch.distributed.nn.functional import all_reduce

    dtype, x = x.dtype, x.float()  # sums over a batch need more digits than its values have
    dims = [0, *range(2, x.ndim)]
    shape = [-1] + [1] * (x.ndim - 2)
    size = x.numel() / x.shape[1]  # values of a channel
    local = torch.stack([x.sum(dims), (x * x).sum(dims), x.new_full(x.shape[1:2], size)])
    total, squares, count = all_reduce(local)  # type: ignore[no-untyped-call]
    batch_mean = total / count
    batch_variance = squares / count - batch_mean * batch_mean
    with torch.no_grad():
        mean.lerp_(batch_mean, momentum)
        variance.lerp_(batch_variance * count / (count - 1), momentum)
    scale: Tensor = weight * torch.rsqrt(batch_variance + eps)
    y: Tensor = x * scale.view(shape) + (bias - batch_mean * scale).view(shape)
    return y.to(dtype)


class ResidualUnit(nn.Module):
    """Pre-activation residual unit with batch normalisation (He et al. 2016), `Res` in the
    paper's appendix."""

    def __init__(self, inputs: int, filters: int, kernel: int, dilation: int, stride: int = 1):
        super().__init__()
        padding = dilation * (kernel // 2)
        self.norm1 = BatchNorm(inputs)
        self.conv1 = nn.Conv2d(inputs, filters, kernel, stride, padding, dilation, bias=False)
        self.norm2 = BatchNorm(filters)
        self.conv2 = nn.Conv2d(filters, filters, kernel, 1, padding, dilation, bias=False)
        same = inputs == filters and stride == 1
        # The input is strided before the 1×1 convolution. A strided convolution would do the same,
        # but with few channels in channels_last layout its gradient writes beyond its memory
        # (torch 2.13 on CPUs, oneDNN).
        self.stride = stride
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, filters, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(relu(self.norm1(x)))
        strided = x[:, :, :: self.stride, :: self.stride]
        out: Tensor = self.shortcut(strided) + self.conv2(relu(self.norm2(y)))
        return out


class PlainUnit(nn.Module):
    """Residual unit without normalisation, initialised as the identity.

    With normalisation over the image, the features at one place would depend on how many objects
    are elsewhere. A model that is tested on longer sequences must not depend on that.
    """

    def __init__(self, channels: int, kernel: int = 3, dilation: int = 1) -> None:
        super().__init__()
        padding = dilation * (kernel // 2)
        self.conv1 = nn.Conv2d(channels, channels, kernel, 1, padding, dilation)
        self.conv2 = nn.Conv2d(channels, channels, kernel, 1, padding, dilation)
        nn.init.kaiming_normal_(self.conv1.weight, nonlinearity="relu")
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.conv2(relu(self.conv1(relu(x))))
        return out


def to_grey(images: Tensor) -> Tensor:
    """Convert images (N, 1 or 3, H, W) to grey, (N, 1, H, W), with the luma weights of JPEG."""
    if images.shape[1] == 1:
        return images
    weights = images.new_tensor([0.299, 0.587, 0.114])
    with torch.autocast(images.device.type, enabled=False):  # bfloat16 would round the pixels
        return torch.einsum("nchw,c->nhw", images, weights)[:, None]


def initialise(model: nn.Module, how: str) -> None:
    """Initialise the weights of a model.

    `gaussian` has a standard deviation of 0.01, as in the paper; `scaled` is that of He et al.
    (2015) for convolutions; `own` keeps the defaults of the layers.
    """
    if how not in ("gaussian", "scaled", "own"):
        raise UserError(f"init '{how}': gaussian, scaled or own")
    for module in model.modules():
        if isinstance(module, BatchNorm):
            continue  # its scales stay 1: with 0.01 the signal would vanish
        if how == "gaussian":
            for parameter in module.parameters(recurse=False):
                nn.init.normal_(parameter, std=0.01)
        elif how == "scaled" and isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
