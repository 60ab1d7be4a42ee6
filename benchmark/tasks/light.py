"""Light: photographs as they might have been at another hour."""

import cv2
import numpy as np

from ivl_shards.schema import Array


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
