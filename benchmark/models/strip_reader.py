"""Strip readers: predict the symbols of strips of text, trained with CTC."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.models.ctc import BLANK
from benchmark.models.layers import BatchNorm
from benchmark.models.strips import Strips

COLUMNS = 4
"""Columns of a strip for one step of the LSTM, which is expensive."""
# Frames of CTC for each step, so that narrow letters have a frame of their own.
_FRAMES = 2


class StripReader(nn.Module):
    """Reads strips: convolutions that reduce the height to 1, then an LSTM along the line."""

    def __init__(
        self, channels: int, symbols: int, rows: int, widths: tuple[int, ...], hidden: int
    ) -> None:
        """Set up the layers: `widths` are the channels of five convolutions, `hidden` is the size
        of the LSTM in each direction."""
        super().__init__()
        a, b, c, d, e = widths
        self.layers = nn.Sequential(
            _synced_conv(channels, a, 5, (2, 2)),
            _synced_conv(a, b, 3),
            nn.MaxPool2d(2, ceil_mode=True),
            _synced_conv(b, c, 3),
            _synced_conv(c, d, 3),
            nn.MaxPool2d((2, 1)),
            _synced_conv(d, e, 3),
        )  # (N, e, rows / 8, columns / 4)
        self.flatten = nn.Sequential(
            nn.Conv1d(e * (rows // 8), e, 1, bias=False), BatchNorm(e), nn.ReLU()
        )
        self.along = nn.LSTM(e, hidden, bidirectional=True, batch_first=True)
        self.characters = nn.Linear(2 * hidden, _FRAMES * (1 + symbols))

    def forward(self, strips: Strips) -> tuple[Tensor, Tensor]:
        """Return log-probabilities for CTC (N, L, V) and the number of frames in use (N,).

        The frames after these are blank.
        """
        x = self.layers(strips.pixels.contiguous(memory_format=torch.channels_last))
        x = self.flatten(x.flatten(1, 2))  # (N, e, steps)
        x, _ = self.along(x.transpose(1, 2))  # (N, steps, 2 · hidden)
        logits = self.characters(x).unflatten(2, (_FRAMES, -1)).flatten(1, 2)  # (N, L, V)
        frames = -(-strips.columns // COLUMNS) * _FRAMES
        return blank_padding(logits, frames).log_softmax(2), frames


class ResidualReader(nn.Module):
    """Convolutions that halve the height three times, then an LSTM along the line.

    Its batch normalisation is not synchronised over processes: a batch has enough strips for good
    statistics, and processes need not wait for each other in every layer.
    """

    def __init__(
        self, channels: int, symbols: int, rows: int, widths: tuple[int, ...], hidden: int
    ) -> None:
        """Set up the layers: `widths` are the channels of the stem, of three stages, and of the
        sequence, `hidden` the size of the LSTM in each direction."""
        super().__init__()
        stem, first, second, third, sequence = widths
        self.layers = nn.Sequential(
            _conv(channels, stem, (5, 5), (2, 2)),
            _conv(stem, first, (3, 3)),
            nn.MaxPool2d(2, ceil_mode=True),
            _conv(first, second, (3, 3)),
            _Residual(second),
            nn.MaxPool2d((2, 1)),
            _conv(second, third, (3, 3)),
            _Residual(third),
        )  # (N, third, rows / 8, columns / 4)
        self.flatten = _conv(third, sequence, (rows // 8, 1))
        self.along = nn.LSTM(sequence, hidden, bidirectional=True, batch_first=True)
        self.characters = nn.Linear(2 * hidden, _FRAMES * (1 + symbols))

    def forward(self, strips: Strips) -> tuple[Tensor, Tensor]:
        """Return log-probabilities for CTC (N, L, V) and the number of frames in use (N,)."""
        x = self.layers(strips.pixels.contiguous(memory_format=torch.channels_last))
        x = self.flatten(x)[:, :, 0]  # (N, sequence, steps)
        x, _ = self.along(x.transpose(1, 2))  # (N, steps, 2 · hidden)
        logits = self.characters(x).unflatten(2, (_FRAMES, -1)).flatten(1, 2)  # (N, L, V)
        frames = -(-strips.columns // COLUMNS) * _FRAMES
        return blank_padding(logits.float(), frames).log_softmax(2), frames


def blank_padding(logits: Tensor, frames: Tensor) -> Tensor:
    """Return logits (N, L, V) that predict the blank after the frames in use, (N,)."""
    padding = torch.arange(logits.shape[1], device=logits.device) >= frames[:, None]  # (N, L)
    symbols = torch.arange(logits.shape[2], device=logits.device)
    blank = torch.where(symbols == BLANK, 50.0, -50.0).to(logits)
    return torch.where(padding[..., None], blank, logits)


class _Residual(nn.Module):
    """A convolution with batch normalisation, added to its input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.norm(self.conv(x)))


def _conv(
    before: int, after: int, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1)
) -> nn.Sequential:
    """Return a convolution, batch normalisation and ReLU; padded unless one column wide."""
    padding = (kernel[0] // 2, kernel[1] // 2) if kernel[1] > 1 else (0, 0)
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, padding, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


def _synced_conv(
    before: int, after: int, kernel: int, stride: tuple[int, int] = (1, 1)
) -> nn.Sequential:
    """Return a convolution, batch normalisation over all processes, and ReLU."""
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False),
        BatchNorm(after),
        nn.ReLU(),
    )
