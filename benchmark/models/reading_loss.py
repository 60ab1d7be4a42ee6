"""Reading loss: CTC over the lines of a batch, cut out where they are or where they were found."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from benchmark.data.batches import spell
from benchmark.models.ctc import BLANK
from benchmark.models.strips import Band, perturb_bands, quad_bands
from ivl_shards.format.schema import Array

# Lines that are read at once in training; fewer where that leaves less padding.
_AT_ONCE, _FEW_AT_ONCE = 16, 8


@dataclass(frozen=True)
class LineTargets:
    """The M lines (or words) of a batch, all images together."""

    image: Tensor  # (M,) index of the image that has the line
    line: Tensor  # (M,) index of the line among those of its image
    labels: list[list[int]]  # classes of its symbols
    lengths: Tensor  # (M,) number of symbols
    true: Band  # ground truth
    perturbed: Band  # the same with random errors, as a model makes them


def line_targets(
    texts: Sequence[Sequence[str]],
    quads: Tensor,
    alphabet: str,
    errors: Array,
    rngs: Sequence[np.random.Generator],
) -> LineTargets:
    """Return the lines of images as targets.

    Parameters
    ----------
    texts
        For each image the texts of its lines.
    quads
        Corners of the lines, (N, L, 4, 2).
    errors
        Standard deviations (5,) of the errors of a band; see `perturb_bands`.
    rngs
        One random generator for each image.
    """
    spelt = [[spell(text, alphabet) for text in lines] for lines in texts]
    pairs = [(i, k) for i, lines in enumerate(spelt) for k in range(len(lines))]
    image, line = torch.tensor(pairs, device=quads.device).T
    classes = {symbol: k for k, symbol in enumerate(alphabet, 1)}
    labels = [[classes[c] for c in spelt[i][k]] for i, k in pairs]
    lengths = torch.tensor([len(label) for label in labels], device=quads.device)
    drawn = [rng.normal(0, errors, (len(lines), 5)) for rng, lines in zip(rngs, spelt, strict=True)]
    true = quad_bands(quads[image, line])
    noise = torch.from_numpy(np.concatenate(drawn)).to(quads)
    return LineTargets(image, line, labels, lengths, true, perturb_bands(true, noise))


def reading_loss(
    images: Tensor,
    targets: LineTargets,
    band: Band,
    groups: Iterable[Tensor],
    read: Callable[[Tensor, Band], tuple[Tensor, Tensor]],
) -> Tensor:
    """Return the CTC loss of each image (N,), over the number of its symbols.

    Parameters
    ----------
    images
        (N, C, H, W).
    band
        Where each of the M lines is cut out.
    groups
        Rows of the lines that are read at once; see `group_by_length`.
    read
        Reads bands of images, one of each; returns log-probabilities (n, L, V) and the number of
        frames in use, (n,).
    """
    losses = images.new_zeros(len(images))
    for rows in groups:
        image = targets.image[rows]
        characters, frames = read(images[image], band[rows])
        labels = [label for row in rows.tolist() for label in targets.labels[row]]
        loss = functional.ctc_loss(
            characters.transpose(0, 1),
            torch.tensor(labels, dtype=torch.long, device=images.device),
            frames,
            targets.lengths[rows],
            blank=BLANK,
            reduction="none",
            zero_infinity=True,
        )
        losses = losses.index_add(0, image, loss)
    symbols = torch.zeros_like(losses).index_add(0, targets.image, targets.lengths.to(losses))
    return losses / symbols.clamp(min=1)


def group_by_length(band: Band, synchronised: bool = False) -> Iterator[Tensor]:
    """Yield rows of lines of similar length, so that batches of their strips have little padding.

    If normalisation is `synchronised` over processes, all of them must go through the layers
    equally often.
    """
    order = (band.length / band.heights.mean(1)).argsort()
    if synchronised:
        yield from torch.split(order, len(order) if dist.is_initialized() else _AT_ONCE)
    else:  # groups of equal size: the statistics of a small one would be noise
        yield from torch.tensor_split(order, -(-len(order) // _FEW_AT_ONCE))
