"""Aerial: photographs of planes as they might have been taken elsewhere, for training."""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from ivl_shards.format.schema import Array

MIN_PLANE_SIZE = 7.5  # a little less than the least size of a plane in a crop, in pixels
MAX_PLANES = 5  # planes in a crop to train with
# Times the size of a plane: as far as its wings may reach, and what of its ground is taken along.
_WINGS, _AROUND = 0.75, 1.1
_RIM = 0.75  # of a piece's radius: where its soft edge begins
_ERASABLE = 20.0  # pixels: of larger planes something would be left
_TRIES = 12  # places looked at for a piece


@dataclass(frozen=True)
class Scene:
    """A photograph and its planes."""

    image: Array  # (H, W, 3) uint8
    centres: Array  # (n, 2) x and y in pixels, float32
    sizes: Array  # (n,) in pixels, float32


def another_photograph(scene: Scene, other: Scene, rng: np.random.Generator) -> Scene:
    """The planes of a crop turned, farther away, among other things and with planes of another
    crop, in other light.

    Crops of ten planes show them smaller than those of three, and a plane may stand at any
    angle; ground, light, haze and film differ from scene to scene, of which training has few.
    """
    ground = rng.random() < 0.4 and other.sizes.max() < _ERASABLE
    changed = move(scene, erased(other) if ground else None, rng)
    for _ in range(rng.integers(0, 4)):
        changed = borrow(changed, other, rng)
    image = add_clutter(changed, rng)
    if rng.random() < 0.35:
        image = repaint(replace(changed, image=image), rng)
    return replace(changed, image=other_film(image, rng))


def borrow(scene: Scene, other: Scene, rng: np.random.Generator) -> Scene:
    """A round piece of another photograph laid into this one: a plane, if there may be one more,
    or a piece with none. Pieces of both kinds have the same edge, so that only what is in
    them tells what they are."""
    plane = len(scene.centres) < MAX_PLANES and rng.random() < 0.5
    height, width = scene.image.shape[:2]
    corner = np.array([width, height])
    tries = np.arange(_TRIES)
    if plane:
        which = rng.integers(len(other.centres), size=_TRIES)
        middles, sizes = other.centres[which], other.sizes[which]
        usual = np.median(scene.sizes) * np.exp(rng.uniform(-0.5, 0.5, _TRIES))
        scales = np.clip(usual / sizes, MIN_PLANE_SIZE / sizes, 1.3)
        radii = _AROUND * sizes
        there = _room(other, middles, radii)
        there[tries, which] = True  # the plane itself is no obstacle
    else:
        middles, radii = rng.uniform(0, corner, (_TRIES, 2)), rng.uniform(5, 30, _TRIES)
        scales = np.exp(rng.uniform(-0.5, 0.3, _TRIES))
        there = _room(other, middles, radii)
    places, reaches = rng.uniform(0, corner, (_TRIES, 2)), scales * radii
    whole = np.minimum(middles, corner - middles).min(1) >= radii
    inside = np.minimum(places, corner - places).min(1) >= (reaches if plane else 0)
    free = there.all(1) & _room(scene, places, reaches).all(1)
    good = np.flatnonzero(whole & inside & free)
    if not len(good):
        return scene
    k = good[0]
    image = _lay(other.image, middles[k], scene.image, places[k], reaches[k], scales[k], rng)
    if not plane:
        return replace(scene, image=image)
    centres = np.vstack([scene.centres, places[k]]).astype(np.float32)
    return Scene(image, centres, np.append(scene.sizes, scales[k] * sizes[k]).astype(np.float32))


def _lay(
    source: Array,
    middle: Array,
    target: Array,
    place: Array,
    reach: float,
    scale: float,
    rng: np.random.Generator,
) -> Array:
    """A round piece of one image laid into another, with a soft edge and turned at random."""
    corner = np.array(target.shape[1::-1])
    low = np.floor(np.clip(place - reach, 0, corner - 1)).astype(int)
    high = np.ceil(np.clip(place + reach, low + 1, corner)).astype(int)
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    ground, place = target[window].astype(np.float32), place - low
    turn = rng.uniform(-np.pi, np.pi)
    matrix = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    offset = place - matrix @ middle
    piece = _warped(source, matrix, offset, np.empty_like(target[window]), cv2.BORDER_REFLECT_101)
    x, y = np.arange(ground.shape[1]) + 0.5, np.arange(ground.shape[0])[:, None] + 0.5
    away = np.hypot(x - place[0], y - place[1]) / reach
    rim = (away > _RIM) & (away < 1)
    # On ground of the same brightness, more or less.
    shift = rng.random() * (ground[rim].mean(0) - piece[rim].mean(0)) if rim.any() else 0.0
    share = np.clip((1 - away) / (1 - _RIM), 0, 1)[..., None]
    laid = target.copy()
    laid[window] = (ground + share * (piece + shift - ground)).clip(0, 255)
    return laid


def _room(scene: Scene, places: Array, radii: Array) -> Array:
    """Whether a plane stays out of a circle, (circles, planes)."""
    away = np.linalg.norm(places[:, None] - scene.centres, axis=2)
    room: Array = away > radii[:, None] + _WINGS * scene.sizes
    return room


def _warped(image: Array, matrix: Array, offset: Array, onto: Array, border: int) -> Array:
    """An image whose point p comes to lie at matrix · p + offset, on another one."""
    # Pixel centres lie at + 0.5 for us and at whole numbers for OpenCV.
    whole = np.column_stack([matrix, offset + matrix @ [0.5, 0.5] - 0.5])
    size = (onto.shape[1], onto.shape[0])
    warped: Array = cv2.warpAffine(
        image, whole, size, onto, flags=cv2.INTER_LINEAR, borderMode=border
    )
    return warped


def move(scene: Scene, around: Array | None, rng: np.random.Generator) -> Scene:
    """A crop turned, mirrored, and smaller, on other ground or on ground of its own colour."""
    image, centres, sizes = scene.image, scene.centres, scene.sizes
    half = image.shape[0] / 2
    turn = rng.uniform(-np.pi, np.pi) if rng.random() < 0.3 else 0.0
    # Small enough that the whole crop stays in the image: a plane that left it, or was cut,
    # would make the count wrong.
    fits = 1 / (abs(np.cos(turn)) + abs(np.sin(turn)))
    # No plane is to become smaller than those that are tested on.
    least = float(np.clip(MIN_PLANE_SIZE / (fits * sizes.min()), 0.4, 1.0))
    scale = fits * (least ** rng.random() if rng.random() < 0.35 else 1.0)
    mirror = -1.0 if rng.random() < 0.5 else 1.0
    matrix = scale * np.array(
        [[mirror * np.cos(turn), -np.sin(turn)], [mirror * np.sin(turn), np.cos(turn)]]
    )
    shift = rng.uniform(-1, 1, 2) * half * (1 - scale / fits)
    offset = half - matrix @ [half, half] + shift
    if around is None:
        around = np.empty_like(image)
        around[:] = np.median(image[::4, ::4], axis=(0, 1))
    warped = _warped(image, matrix, offset, around, cv2.BORDER_TRANSPARENT)
    moved = (centres @ matrix.T + offset).astype(np.float32)
    return Scene(warped, moved, (scale * sizes).astype(np.float32))


def repaint(scene: Scene, rng: np.random.Generator) -> Array:
    """The planes in other paint: most are white, but some are as grey as the ground, or darker."""
    one = _paint(rng)
    paints = [one if rng.random() < 0.7 else _paint(rng) for _ in scene.sizes]
    return _painted(scene, paints)


def erased(scene: Scene) -> Array:
    """The ground without its planes."""
    return _painted(scene, [0.0] * len(scene.sizes))


def _painted(scene: Scene, paints: list[float]) -> Array:
    """What differs from the ground around a plane differs less, or the other way round."""
    image = scene.image
    height, width = image.shape[:2]
    small = cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    ground = cv2.resize(cv2.medianBlur(small, 15), (width, height)).astype(np.float32)
    x, y = np.arange(width, dtype=np.float32) + 0.5, np.arange(height, dtype=np.float32) + 0.5
    share = np.ones(image.shape[:2], np.float32)
    for (cx, cy), size, paint in zip(scene.centres, scene.sizes, paints, strict=True):
        away = np.sqrt((x - cx) ** 2 + (y[:, None] - cy) ** 2) / size
        share += (paint - share) * np.clip(2.2 - 2 * away, 0, 1)
    painted: Array = ground + (image - ground) * share[..., None]
    return painted.clip(0, 255).astype(np.uint8)


def _paint(rng: np.random.Generator) -> float:
    """What is left of a plane's difference from the ground."""
    return float(rng.uniform(0.35, 1) if rng.random() < 0.7 else -rng.uniform(0.4, 0.9))


def other_film(image: Array, rng: np.random.Generator) -> Array:
    """The same photograph in other tones and colours, in grey, in uneven light, blurred or
    grainy. How bright it is and how rich in contrast as a whole is left alone: counters even
    that out."""
    bright = max(1.0, float(np.quantile(image[::4, ::4], 0.99))) / 255
    gamma, cast = np.exp(rng.normal(0, 0.35)), np.exp(rng.normal(0, 0.1, 3))
    levels = (np.arange(256) / 255 / bright)[:, None] ** gamma * bright * cast / cast.max()
    table = np.clip(levels * 255, 0, 255).astype(np.uint8)
    image = np.stack([table[image[..., k], k] for k in range(3)], axis=-1)
    if rng.random() < 0.2:
        image = np.repeat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., None], 3, 2)
    if rng.random() < 0.2:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.3, 1.2))
    spread = float(image.std())
    if rng.random() < 0.2:
        # Haze and shadows of clouds.
        coarse = rng.normal(0, rng.uniform(0.2, 0.8) * spread, rng.integers(2, 5, 2))
        field = cv2.resize(
            coarse.astype(np.float32), image.shape[1::-1], interpolation=cv2.INTER_CUBIC
        )
        image = np.clip(image + field[..., None], 0, 255).astype(np.uint8)
    if rng.random() < 0.2:
        grain = rng.normal(0, rng.uniform(0.05, 0.25) * spread, image.shape[:2])
        image = np.clip(image + grain[..., None], 0, 255).astype(np.uint8)
    return image


def add_clutter(scene: Scene, rng: np.random.Generator) -> Array:
    """Slabs of any colour beside the planes: what is bright and has edges need not be a plane."""
    cluttered = scene.image.copy()
    for _ in range(rng.integers(0, 4)):
        long, wide = rng.uniform(3, 28), rng.uniform(2, 14)
        turn, middle = rng.uniform(0, np.pi), rng.uniform(0, cluttered.shape[0], 2)
        colour = rng.integers(0, 256, 3) if rng.random() < 0.5 else np.full(3, rng.integers(256))
        # As far from a plane as its wings may reach.
        away = np.hypot(*(scene.centres - middle).T) - 1.2 * scene.sizes - np.hypot(long, wide) / 2
        if (away < 0).any():
            continue
        along = np.array([np.cos(turn), np.sin(turn)])
        across = np.array([-along[1], along[0]])
        sides = [long * along + wide * across, long * along - wide * across]
        corners = np.array([middle + s / 2 for s in (sides[0], sides[1], -sides[0], -sides[1])])
        points = np.round((corners - 0.5) * 16).astype(np.int32)
        cv2.fillConvexPoly(cluttered, points, colour.tolist(), cv2.LINE_AA, shift=4)
    return cluttered


def other_light(image: Array, rng: np.random.Generator) -> Array:
    """The same photograph, (H, W, 3), brighter or darker, hazier, on other film."""
    gain = np.exp(rng.normal(0, 0.2) + rng.normal(0, 0.06, 3))
    gamma = np.exp(rng.normal(0, 0.2))
    levels = (np.arange(256) / 255)[:, None] ** gamma * gain  # (256, 3)
    middle = levels.mean()
    levels = middle + (levels - middle) * np.exp(rng.normal(0, 0.15))
    levels = levels + rng.normal(0, 0.05)
    table = np.clip(levels * 255, 0, 255).astype(np.uint8)
    lit = np.stack([table[image[..., k], k] for k in range(3)], axis=-1)
    if rng.random() < 0.3:
        lit = cv2.GaussianBlur(lit, (0, 0), rng.uniform(0.3, 1.0))
    return lit
