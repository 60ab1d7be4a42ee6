"""Augmentation of photographs in training: geometry and objects of aerial ones, and colours."""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from ivl_shards.format.schema import Array

MIN_SIZE = 7.5
"""Smallest size of a plane after augmentation, a little less than that in any crop, in pixels."""
MAX_PLANES = 5
"""Largest number of planes in a training crop."""
# Over the size of a plane: the radius that its wings may reach, and that of a patch around it.
_WING_RADIUS, _PATCH_RADIUS = 0.75, 1.1
_SOFT_EDGE = 0.75  # where the soft edge of a patch begins, over its radius
_MAX_ERASABLE_SIZE = 20.0  # in pixels: larger planes cannot be erased completely
_TRIES = 12  # positions tried for a patch


@dataclass(frozen=True)
class Scene:
    """A photograph and its planes."""

    image: Array  # (H, W, 3) uint8
    centres: Array  # (n, 2) x and y in pixels, float32
    sizes: Array  # (n,) in pixels, float32


def augment_planes(scene: Scene, other: Scene, rng: np.random.Generator) -> Scene:
    """Rotate and shrink a crop, add clutter and patches of another crop, and change its colours.

    Planes are smaller in crops of ten planes than in crops of three and may point in any
    direction; ground, light, haze and sensor differ between photographs, and training has few.
    """
    use_ground = rng.random() < 0.4 and other.sizes.max() < _MAX_ERASABLE_SIZE
    augmented = random_affine(scene, erase_planes(other) if use_ground else None, rng)
    for _ in range(rng.integers(0, 4)):
        augmented = paste_patch(augmented, other, rng)
    image = add_clutter(augmented, rng)
    if rng.random() < 0.35:
        image = recolour_planes(replace(augmented, image=image), rng)
    return replace(augmented, image=distort_tones(image, rng))


def paste_patch(scene: Scene, other: Scene, rng: np.random.Generator) -> Scene:
    """Paste a round patch of another photograph: with a plane, if one more is allowed, or without.

    Both kinds of patches have the same edge, so that only their content tells them apart. If no
    suitable position is found, the scene is returned unchanged.
    """
    with_plane = len(scene.centres) < MAX_PLANES and rng.random() < 0.5
    height, width = scene.image.shape[:2]
    corner = np.array([width, height])
    if with_plane:
        index = rng.integers(len(other.centres), size=_TRIES)
        middles, sizes = other.centres[index], other.sizes[index]
        wanted = np.median(scene.sizes) * np.exp(rng.uniform(-0.5, 0.5, _TRIES))
        scales = np.clip(wanted / sizes, MIN_SIZE / sizes, 1.3)
        radii = _PATCH_RADIUS * sizes
        clear = _is_clear(other, middles, radii)
        clear[np.arange(_TRIES), index] = True  # the plane itself is no obstacle
    else:
        middles, radii = rng.uniform(0, corner, (_TRIES, 2)), rng.uniform(5, 30, _TRIES)
        scales = np.exp(rng.uniform(-0.5, 0.3, _TRIES))
        clear = _is_clear(other, middles, radii)
    positions, reaches = rng.uniform(0, corner, (_TRIES, 2)), scales * radii
    inside_source = np.minimum(middles, corner - middles).min(1) >= radii
    margins = np.minimum(positions, corner - positions).min(1)
    inside_target = margins >= (reaches if with_plane else 0)
    free = clear.all(1) & _is_clear(scene, positions, reaches).all(1)
    good = np.flatnonzero(inside_source & inside_target & free)
    if not len(good):
        return scene
    k = good[0]
    image = _blend_patch(
        other.image, middles[k], scene.image, positions[k], reaches[k], scales[k], rng
    )
    if not with_plane:
        return replace(scene, image=image)
    centres = np.vstack([scene.centres, positions[k]]).astype(np.float32)
    return Scene(image, centres, np.append(scene.sizes, scales[k] * sizes[k]).astype(np.float32))


def _blend_patch(
    source: Array,
    middle: Array,
    target: Array,
    position: Array,
    radius: float,
    scale: float,
    rng: np.random.Generator,
) -> Array:
    """Blend a round patch of one image into another, with a soft edge and a random rotation."""
    corner = np.array(target.shape[1::-1])
    low = np.floor(np.clip(position - radius, 0, corner - 1)).astype(int)
    high = np.ceil(np.clip(position + radius, low + 1, corner)).astype(int)
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    ground, position = target[window].astype(np.float32), position - low
    angle = rng.uniform(-np.pi, np.pi)
    matrix = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    offset = position - matrix @ middle
    patch = _warp(source, matrix, offset, np.empty_like(target[window]), cv2.BORDER_REFLECT_101)
    x, y = np.arange(ground.shape[1]) + 0.5, np.arange(ground.shape[0])[:, None] + 0.5
    distance = np.hypot(x - position[0], y - position[1]) / radius
    edge = (distance > _SOFT_EDGE) & (distance < 1)
    # The patch's brightness is moved towards that of the ground, by a random fraction.
    shift = rng.random() * (ground[edge].mean(0) - patch[edge].mean(0)) if edge.any() else 0.0
    alpha = np.clip((1 - distance) / (1 - _SOFT_EDGE), 0, 1)[..., None]
    blended = target.copy()
    blended[window] = (ground + alpha * (patch + shift - ground)).clip(0, 255)
    return blended


def _is_clear(scene: Scene, positions: Array, radii: Array) -> Array:
    """Tell which circles do not touch which planes, (circles, planes)."""
    distance = np.linalg.norm(positions[:, None] - scene.centres, axis=2)
    clear: Array = distance > radii[:, None] + _WING_RADIUS * scene.sizes
    return clear


def _warp(image: Array, matrix: Array, offset: Array, onto: Array, border: int) -> Array:
    """Warp an image onto another one; its point p is moved to matrix · p + offset."""
    # Pixel centres are at + 0.5 here and at integers in OpenCV.
    affine = np.column_stack([matrix, offset + matrix @ [0.5, 0.5] - 0.5])
    size = (onto.shape[1], onto.shape[0])
    warped: Array = cv2.warpAffine(
        image, affine, size, onto, flags=cv2.INTER_LINEAR, borderMode=border
    )
    return warped


def random_affine(scene: Scene, ground: Array | None, rng: np.random.Generator) -> Scene:
    """Rotate, mirror and shrink a crop, on the given ground or on its own median colour."""
    image, centres, sizes = scene.image, scene.centres, scene.sizes
    half = image.shape[0] / 2
    angle = rng.uniform(-np.pi, np.pi) if rng.random() < 0.3 else 0.0
    # The whole crop stays in the image: a plane outside or at the edge would make the count wrong.
    fitting = 1 / (abs(np.cos(angle)) + abs(np.sin(angle)))
    # No plane becomes smaller than those of the test set.
    least = float(np.clip(MIN_SIZE / (fitting * sizes.min()), 0.4, 1.0))
    scale = fitting * (least ** rng.random() if rng.random() < 0.35 else 1.0)
    mirror = -1.0 if rng.random() < 0.5 else 1.0
    matrix = scale * np.array(
        [[mirror * np.cos(angle), -np.sin(angle)], [mirror * np.sin(angle), np.cos(angle)]]
    )
    shift = rng.uniform(-1, 1, 2) * half * (1 - scale / fitting)
    offset = half - matrix @ [half, half] + shift
    if ground is None:
        ground = np.empty_like(image)
        ground[:] = np.median(image[::4, ::4], axis=(0, 1))
    warped = _warp(image, matrix, offset, ground, cv2.BORDER_TRANSPARENT)
    moved = (centres @ matrix.T + offset).astype(np.float32)
    return Scene(warped, moved, (scale * sizes).astype(np.float32))


def recolour_planes(scene: Scene, rng: np.random.Generator) -> Array:
    """Change the contrast of the planes: most are white, but some are as grey as the ground, or
    darker."""
    common = _draw_contrast(rng)
    contrasts = [common if rng.random() < 0.7 else _draw_contrast(rng) for _ in scene.sizes]
    return _scale_contrasts(scene, contrasts)


def erase_planes(scene: Scene) -> Array:
    """Return the image with its planes replaced by ground."""
    return _scale_contrasts(scene, [0.0] * len(scene.sizes))


def _scale_contrasts(scene: Scene, contrasts: list[float]) -> Array:
    """Multiply the difference between each plane and the ground by a factor."""
    image = scene.image
    height, width = image.shape[:2]
    small = cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    ground = cv2.resize(cv2.medianBlur(small, 15), (width, height)).astype(np.float32)
    x, y = np.arange(width, dtype=np.float32) + 0.5, np.arange(height, dtype=np.float32) + 0.5
    factor = np.ones(image.shape[:2], np.float32)
    for (cx, cy), size, contrast in zip(scene.centres, scene.sizes, contrasts, strict=True):
        distance = np.sqrt((x - cx) ** 2 + (y[:, None] - cy) ** 2) / size
        factor += (contrast - factor) * np.clip(2.2 - 2 * distance, 0, 1)
    scaled: Array = ground + (image - ground) * factor[..., None]
    return scaled.clip(0, 255).astype(np.uint8)


def _draw_contrast(rng: np.random.Generator) -> float:
    """Draw a factor for the difference between a plane and the ground; below 0 it is inverted."""
    return float(rng.uniform(0.35, 1) if rng.random() < 0.7 else -rng.uniform(0.4, 0.9))


def distort_tones(image: Array, rng: np.random.Generator) -> Array:
    """Change gamma and colours, or convert to grey, and add blur, uneven light or noise.

    The overall brightness and contrast are not changed: counters normalise them.
    """
    bright = max(1.0, float(np.quantile(image[::4, ::4], 0.99))) / 255
    gamma, cast = np.exp(rng.normal(0, 0.35)), np.exp(rng.normal(0, 0.1, 3))
    levels = (np.arange(256) / 255 / bright)[:, None] ** gamma * bright * cast / cast.max()
    table = np.clip(levels * 255, 0, 255).astype(np.uint8)
    image = np.stack([table[image[..., k], k] for k in range(3)], axis=-1)
    if rng.random() < 0.2:
        image = np.repeat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., None], 3, 2)
    if rng.random() < 0.2:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.3, 1.2))
    deviation = float(image.std())
    if rng.random() < 0.2:
        # Haze and shadows of clouds.
        coarse = rng.normal(0, rng.uniform(0.2, 0.8) * deviation, rng.integers(2, 5, 2))
        field = cv2.resize(
            coarse.astype(np.float32), image.shape[1::-1], interpolation=cv2.INTER_CUBIC
        )
        image = np.clip(image + field[..., None], 0, 255).astype(np.uint8)
    if rng.random() < 0.2:
        noise = rng.normal(0, rng.uniform(0.05, 0.25) * deviation, image.shape[:2])
        image = np.clip(image + noise[..., None], 0, 255).astype(np.uint8)
    return image


def add_clutter(scene: Scene, rng: np.random.Generator) -> Array:
    """Draw rectangles of any colour beside the planes, as hard negatives: a bright object with
    sharp edges need not be a plane."""
    cluttered = scene.image.copy()
    for _ in range(rng.integers(0, 4)):
        length, width = rng.uniform(3, 28), rng.uniform(2, 14)
        angle, middle = rng.uniform(0, np.pi), rng.uniform(0, cluttered.shape[0], 2)
        colour = rng.integers(0, 256, 3) if rng.random() < 0.5 else np.full(3, rng.integers(256))
        distance = np.hypot(*(scene.centres - middle).T)
        if (distance - 1.2 * scene.sizes - np.hypot(length, width) / 2 < 0).any():
            continue  # it may touch the wings of a plane
        along = np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-along[1], along[0]])
        first, second = length * along + width * across, length * along - width * across
        corners = np.array([middle + s / 2 for s in (first, second, -first, -second)])
        points = np.round((corners - 0.5) * 16).astype(np.int32)
        cv2.fillConvexPoly(cluttered, points, colour.tolist(), cv2.LINE_AA, shift=4)
    return cluttered


def jitter_colours(image: Array, rng: np.random.Generator) -> Array:
    """Change brightness, colours, gamma and contrast of an image (H, W, 3), and sometimes blur
    it."""
    gain = np.exp(rng.normal(0, 0.2) + rng.normal(0, 0.06, 3))
    gamma = np.exp(rng.normal(0, 0.2))
    levels = (np.arange(256) / 255)[:, None] ** gamma * gain  # (256, 3)
    middle = levels.mean()
    levels = middle + (levels - middle) * np.exp(rng.normal(0, 0.15))
    levels = levels + rng.normal(0, 0.05)
    table = np.clip(levels * 255, 0, 255).astype(np.uint8)
    jittered = np.stack([table[image[..., k], k] for k in range(3)], axis=-1)
    if rng.random() < 0.3:
        jittered = cv2.GaussianBlur(jittered, (0, 0), rng.uniform(0.3, 1.0))
    return jittered
