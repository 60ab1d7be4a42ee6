"""Camera: light, blur, low resolution and grain, which finish an image."""

from dataclasses import dataclass

import cv2
import numpy as np

from ivl_shards.format.schema import Array
from textblocks_gen.backgrounds.noise import centred, ramp, smooth
from textblocks_gen.effects.look import SPARE, Grain, Light
from textblocks_gen.effects.pixels import add_light, add_noise, scale_light, smear
from textblocks_gen.recipe import TextRecipe

# Number of fields of light and of reflections in memory.
_FIELDS, _GLARES = 12, 8
# The shortest line of an enlarged image had so many pixels before: it can just be read.
_LEAST_ENLARGED = 7.0
# Blur of the 5 × 5 and the 3 × 3 kernel, in pixels.
_WIDE_BLUR, _NARROW_BLUR = 1.1, 0.45


@dataclass(frozen=True)
class CameraFields:
    """Fields of light and noise that images are finished with, computed once a process."""

    noise: Array
    """(H + SPARE, W + SPARE, 3): within 0 … 255, around 128."""
    lights: tuple[Array, ...]
    glares: tuple[Array, ...]
    vignette: Array
    """Fields of light are (H, W, 3): 128 where light is not changed; glares 0 where none is."""


def make_camera_fields(recipe: TextRecipe) -> CameraFields:
    """Make the fields for images of a recipe."""
    rng = np.random.Generator(np.random.Philox(key=recipe.seed))
    size = (recipe.height, recipe.width)
    noise = rng.integers(256, size=(size[0] + SPARE, size[1] + SPARE, 3), dtype=np.uint8)
    if not (recipe.light or recipe.glare or recipe.vignette):
        none = np.zeros((0, 0, 3), np.uint8)
        return CameraFields(noise, (), (), none)
    lights = tuple(_light(rng, *size) for _ in range(_FIELDS))
    glares = tuple(_glare(rng, *size) for _ in range(_GLARES))
    return CameraFields(noise, lights, glares, _vignette(*size))


def _light(rng: np.random.Generator, height: int, width: int) -> Array:
    """Return a field of uneven light with a cast of colour, 128 in the mean."""
    coarse = max(3, (min(height, width) - 1).bit_length() - 1)
    field = ramp(rng, height, width).astype(np.int32) * 2
    field += centred(smooth(rng, height, width, coarse))
    if rng.random() < 0.3:
        # The soft edge of a shadow.
        edge = ramp(rng, height, width).astype(np.int32) - int(rng.integers(-40, 41))
        field += np.clip(edge * 8, -40, 40)
    cast = rng.integers(-24, 25, 3)
    lit: Array = np.clip(128 + (field[..., None] >> 1) + cast, 0, 255).astype(np.uint8)
    return lit


def _glare(rng: np.random.Generator, height: int, width: int) -> Array:
    """Return a bright spot or streak, 0 elsewhere."""
    y, x = np.mgrid[:height, :width]
    cy, cx = int(rng.integers(height)), int(rng.integers(width))
    slope = int(rng.integers(-8, 9))
    along, away = (x - cx) * 8 + (y - cy) * slope, (y - cy) * 8 - (x - cx) * slope
    long, short = int(rng.integers(8, 60)) * width // 16, int(rng.integers(8, 24)) * height // 16
    distance = along * along * 256 // (long * long) + away * away * 256 // (short * short)
    spot = np.clip(256 - distance, 0, 255)
    return np.repeat((spot * spot >> 8).astype(np.uint8)[..., None], 3, axis=2)


def _vignette(height: int, width: int) -> Array:
    """Return a field of light that is darker in the corners."""
    y, x = np.mgrid[:height, :width]
    far = (2 * y - height) ** 2 * 128 // height**2 + (2 * x - width) ** 2 * 128 // width**2
    return np.repeat((128 - np.minimum(far // 2, 128)).astype(np.uint8)[..., None], 3, axis=2)


def light_up(image: Array, camera: CameraFields, light: Light) -> None:
    """Light an image unevenly, with dark corners and a reflection."""
    if light.strength:
        field = camera.lights[int(light.field * _FIELDS)]
        scale_light(image, field, int(light.strength * 256))
    if light.vignette:
        scale_light(image, camera.vignette, int(light.vignette * 256))
    if light.glare:
        glare = camera.glares[int(light.glare_field * _GLARES)]
        add_light(image, glare, int(light.glare * 256))


def add_grain(image: Array, camera: CameraFields, grain: Grain) -> None:
    """Make an image grainy."""
    add_noise(image, camera.noise, 2 * grain.strength, grain.down, grain.right)


def defocus(image: Array, radius: float) -> Array:
    """Blur an image by a radius in pixels, in steps of what small kernels do."""
    if radius < _NARROW_BLUR:
        return image
    if radius < 2 * _WIDE_BLUR:
        size = 3 if radius < _WIDE_BLUR else 5
        return np.asarray(cv2.GaussianBlur(image, (size, size), 0))
    # A disc, as a lens has it, is much like two boxes; and they take the same time at any size.
    size = 2 * int(radius) + 1
    return np.asarray(cv2.blur(cv2.blur(image, (size, size)), (3, 3)))


def shake(image: Array, across: float, down: float) -> Array:
    """Blur an image along a line of some pixels."""
    dx, dy = round(across), round(down)
    taps = max(abs(dx), abs(dy)) + 1
    if taps < 2:
        return image
    out = np.empty_like(image)
    smear(image, out, dx, dy, taps)
    return out


def enlarge(image: Array, times: float, lowest: float) -> Array:
    """Show an image as if enlarged from a smaller one, in which lines are still readable."""
    times = min(times, lowest / _LEAST_ENLARGED)
    if times < 1.1:
        return image
    height, width = image.shape[:2]
    size = (round(width / times), round(height / times))
    # A box before is what a large pixel sees, and one after makes steps slopes; both are the same
    # on every machine, and take a third of the time of an exact bilinear filter.
    box = (2 * int(times / 2) + 1,) * 2
    small = cv2.resize(cv2.blur(image, box), size, interpolation=cv2.INTER_NEAREST_EXACT)
    large = cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST_EXACT)
    return np.asarray(cv2.blur(large, box))
