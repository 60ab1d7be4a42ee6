"""Page: one HTML file of all scenes of a split, with words, lines and blocks drawn over them."""

import base64
from importlib.resources import files
from pathlib import Path
from typing import Any

import cv2

from icdar_blocks.extract import encode
from icdar_blocks.plan import Grouped
from icdar_blocks.rule import Rule
from icdar_blocks.scenes import Scene, Split, read_picture
from icdar_blocks.table import counted_lines, format_table
from icdar_blocks.words import Block, around
from ivl_shards.disk import write_whole
from ivl_shards.inspect.gallery import script_json

_SIDE = 640  # pixels; a page of all scenes stays below some 20 MB
_QUALITY = 75


def write_page(grouped: Grouped, out: Path) -> None:
    """Write the page of all scenes of a split."""
    pairs = zip(grouped.split.scenes, grouped.blocks, strict=True)
    data = {
        "title": f"ICDAR 2013, {grouped.split.name} split",
        "rule": describe_rule(grouped.rule),
        "table": format_table(grouped.table),
        "scenes": [_scene(grouped, scene, blocks) for scene, blocks in pairs],
    }
    template = files("icdar_blocks").joinpath("page.html").read_text("utf-8")
    write_whole(out, template.replace("/*DATA*/null", script_json(data)).encode())


def describe_rule(rule: Rule) -> str:
    """Return a grouping rule in plain words, with rounded numbers.

    >>> describe_rule(Rule()).split(".")[0]
    'Two words share a line if their tops differ by at most 0'
    """
    apart = {
        "edges": "the gap between them is",
        "centres": "the horizontal distance of their centres is",
    }[rule.horizontal]
    grown = "as it was before stretching" if rule.area == "original" else "after stretching"
    times = "This is repeated until no two blocks merge" if rule.repeated else "This is done once"
    counted = {
        "alnum3": "Words of three or more letters or digits count in the table",
        "all": "All words count in the table",
    }[rule.counted]
    return (
        f"Two words share a line if their {rule.vertical} differ by at most {rule.rise:.2g} times, "
        f"and {apart} at most {rule.reach:.2g} times, the smaller of their heights. "
        f"The box of each line is stretched to {rule.growth:.2g} times its height, and two lines "
        f"join a block if their stretched boxes overlap by at least {rule.share:.0%} of the "
        f"{rule.of} one's area {grown}. {times}. {counted}; blocks without such a word are pale."
    )


def _scene(grouped: Grouped, scene: Scene, blocks: tuple[Block, ...]) -> dict[str, Any]:
    image, height, width = _picture(grouped.split, scene)
    return {
        "name": scene.name,
        "image": image,
        "height": height,
        "width": width,
        "blocks": [_block(grouped, block) for block in blocks],
    }


def _block(grouped: Grouped, block: Block) -> dict[str, Any]:
    return {
        "box": block.box,
        "counted": len(counted_lines(block, grouped.rule)),
        "lines": [
            {"box": line.box, "text": line.text, "words": [word.box for word in line]}
            for line in block
        ],
    }


def _picture(split: Split, scene: Scene) -> tuple[str, float, float]:
    """Return a small picture as a URL, and the height and width of the original."""
    if scene.image is None or split.images is None:
        # No picture: room for the words, which are drawn on grey.
        box = around(word.box for word in scene.words) if scene.words else (0, 0, 1, 1)
        return "", 1.05 * box[3], 1.05 * box[2]
    pixels = read_picture(split.images.read(scene.image), split.images.where(scene.image))
    height, width = pixels.shape[:2]
    scale = min(1.0, _SIDE / max(height, width))
    shape = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(pixels, shape, interpolation=cv2.INTER_AREA)
    data = base64.b64encode(encode(small, _QUALITY).tobytes()).decode()
    return f"data:image/jpeg;base64,{data}", height, width
