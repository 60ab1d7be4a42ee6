"""Drawn: airplanes seen from above, made of a few polygons, of more kinds than training has."""

from dataclasses import dataclass

import cv2
import numpy as np

from ivl_shards.schema import Array

_FINE = 4  # pixels of a drawing for one of the image, in x and y
# Times the size of a plane: as far as it reaches, with its shadow and its blurred edge.
REACH = 0.85
_CLEAR = 30.0  # of 255: the least by which a plane is lighter or darker than its ground
_SHADOW = 0.12  # times the size: as far as a shadow lies off, in x and in y

Range = tuple[float, float]


@dataclass(frozen=True)
class Kind:
    """A kind of plane, in lengths of its fuselage; x is to its right and y ahead."""

    span: Range
    sweep: Range
    """How far the tips of the wings lie behind their roots."""
    root: float
    """Of a wing, along the fuselage."""
    tip: float
    wide: Range
    """The fuselage."""
    at: Range
    """Where the wings begin, ahead of the middle."""
    tail: Range
    """Its span."""
    engines: tuple[float, ...]
    """Where they may hang, in spans."""
    share: float
    """Of all planes."""


KINDS = (
    Kind((0.85, 1.05), (0.18, 0.3), 0.2, 0.06, (0.09, 0.13), (0.05, 0.15), (0.33, 0.42),
         (0.16, 0.3), 0.4),  # airliners
    Kind((1.0, 1.35), (-0.02, 0.03), 0.17, 0.13, (0.09, 0.14), (0.12, 0.25), (0.32, 0.45),
         (), 0.25),  # light planes
    Kind((0.55, 0.75), (0.2, 0.35), 0.42, 0.08, (0.1, 0.18), (-0.02, 0.12), (0.3, 0.45),
         (), 0.2),  # fighters
    Kind((1.0, 1.3), (0.0, 0.05), 0.15, 0.08, (0.1, 0.14), (0.05, 0.15), (0.38, 0.48),
         (0.15, 0.28), 0.15),  # with propellers on their wings
)  # fmt: skip


def lay_plane(image: Array, middle: Array, size: float, rng: np.random.Generator) -> Array:
    """An image (H, W, 3) with a plane drawn into it, any way round, of any kind and colour. Its
    size is the square root of length times span."""
    low = np.maximum(np.floor(middle - REACH * size), 0).astype(int)
    high = np.minimum(np.ceil(middle + REACH * size), image.shape[1::-1]).astype(int)
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    ground = image[window].astype(np.float32)
    turn = rng.uniform(-np.pi, np.pi)
    spin = size * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    parts = [part @ spin.T + middle - low for part in polygons(rng)]
    fall = rng.uniform(-_SHADOW, _SHADOW, 2) * size
    depth = rng.uniform(0.2, 0.6) if rng.random() < 0.7 else 0.0
    soft = rng.uniform(0.3, 0.8)
    shadow, _ = _filled([part + fall for part in parts], [0.0] * len(parts), ground, soft)
    cover, shades = _filled(parts, rng.normal(0, 8, len(parts)).tolist(), ground, soft)
    drawn = ground * (1 - depth * shadow)
    drawn += cover * (_livery(ground, rng) - drawn) + shades
    laid = image.copy()
    laid[window] = drawn.clip(0, 255)
    return laid


def polygons(rng: np.random.Generator) -> list[Array]:
    """Wings, tail, engines and fuselage of a plane of size 1, corners (n, 2) of each; what comes
    later lies above."""
    kind = KINDS[rng.choice(len(KINDS), p=[kind.share for kind in KINDS])]
    span, sweep, wide, at, tail = (
        rng.uniform(*values) for values in (kind.span, kind.sweep, kind.wide, kind.at, kind.tail)
    )
    root, tip = kind.root * rng.uniform(0.8, 1.25), kind.tip * rng.uniform(0.8, 1.25)
    parts = [
        _wings(span, sweep, root, tip, at),
        _wings(tail, 0.3 * sweep + 0.04, 0.13, 0.07, -0.36),
    ]
    for out in kind.engines[: rng.integers(1, 3)]:
        y, half = at - 2 * sweep * out, rng.uniform(0.018, 0.028)
        for x in (-out * span, out * span):
            left, right = x - half, x + half
            parts.append(
                np.array([(left, y + 0.1), (right, y + 0.1), (right, y - 0.06), (left, y - 0.06)])
            )
    side = [(0.6, 0.46), (1, 0.36), (1, -0.15), (0.35, -0.5)]
    parts.append(_both([(0.0, 0.5), *((x * wide / 2, y) for x, y in side)]))
    return [part / np.sqrt(span) for part in parts]


def _wings(span: float, sweep: float, root: float, tip: float, at: float) -> Array:
    ends = [(span / 2, at - sweep + tip / 2), (span / 2, at - sweep - tip / 2)]
    return _both([(0.0, at + root / 2), *ends, (0.0, at - root / 2)])


def _both(right: list[tuple[float, float]]) -> Array:
    """An outline from its right half; what is at x = 0 stands once."""
    return np.array(right + [(-x, y) for x, y in reversed(right) if x])


def _filled(
    parts: list[Array], shades: list[float], ground: Array, soft: float
) -> tuple[Array, Array]:
    """How much of each pixel polygons cover, 0 to 1, and their shades in it, (h, w, 1) each."""
    height, width = ground.shape[:2]
    cover = np.zeros((height * _FINE, width * _FINE), np.float32)
    shaded = np.zeros_like(cover)
    for part, shade in zip(parts, shades, strict=True):
        # Pixel centres lie at + 0.5 for us and at whole numbers for OpenCV.
        corners = np.rint((part * _FINE - 0.5) * 16).astype(np.int32)
        cv2.fillPoly(cover, [corners], 1.0, cv2.LINE_8, 4)
        cv2.fillPoly(shaded, [corners], shade, cv2.LINE_8, 4)
    both = cv2.resize(np.dstack([cover, shaded]), (width, height), interpolation=cv2.INTER_AREA)
    smooth = cv2.GaussianBlur(both, (0, 0), soft)
    return smooth[..., :1], smooth[..., 1:]


def _livery(ground: Array, rng: np.random.Generator) -> Array:
    """White or light grey, as most are, or a colour: such as stand out from the ground, or any
    spot on it might be a plane."""
    mean, least = ground.mean((0, 1)), max(_CLEAR, 2.5 * float(ground.std((0, 1)).mean()))
    light = float(mean.max()) + least
    if light < 255 and rng.random() < 0.6:
        return np.full(3, rng.uniform(light, 255))
    lighter = mean.mean() + least < 255 and (mean.mean() < least or rng.random() < 0.5)
    tint = rng.normal(0, 12, 3) if np.ptp(mean) > 1 else 0.0  # none in a grey image
    side = 1 if lighter else -1
    return np.asarray(mean + side * least * rng.uniform(1, 2) + tint).clip(0, 255)
