"""Card: what the dataset card of crops says, with the origin of the images."""

import shlex
from dataclasses import replace
from typing import Any

from dota_crops.plan import NAME
from dota_crops.recipe import DotaRecipe
from ivl_shards import Metadata, Origin, ResponsibleUse

# The images are Google Earth's and others'; DOTA passes them on for this use only.
LICENCE = "DOTA: academic use only, no commercial use"

DESCRIPTION = (
    "Square crops of aerial photographs with a known number of objects of the class {category}, to "
    "be counted one by one. Each sample carries the spatial memory of an ideal counter at every "
    "step: gaussian peaks at the centres of the objects counted so far. It asks whether a "
    "model trained on few objects still counts many."
)
LIMITS = (
    "DOTA's labels are trusted: an object that they miss is not counted.",
    "Crops of one image share its light, ground and kind of objects, and may overlap up to the "
    "recipe's `overlap`: they are fewer independent images than samples.",
    "Counts for which the images held too few windows have fewer samples than were asked for.",
    "With another `cut` than `reject`, objects that do not count may be seen at the edge.",
    "Rows lie in the order of the source images: shuffle them to train.",
)
RESPONSIBLE = ResponsibleUse(
    uses=(
        "Made to test whether models that count one object at a time, trained on crops with few "
        "objects, still count many. For academic use only, as DOTA's licence says.",
        "Not validated for surveillance, safety or any decision about people.",
    ),
    biases=(
        "The images are those that DOTA's authors chose, mostly of airports, harbours and cities: "
        "regions of the world, seasons and sensors are not balanced.",
        "Crops are chosen by their number of objects, so these numbers do not occur as often as "
        "in the images.",
    ),
    personal_information=(
        "Aerial images: buildings and vehicles can be seen, people cannot be recognised. Nothing "
        "was removed from DOTA's images.",
    ),
    social_impact="Methods that count objects in aerial images can also serve surveillance.",
    synthetic=False,
)
_CITE = """\
@inproceedings{Xia18,
  author = {Xia, Gui-Song and Bai, Xiang and Ding, Jian and Zhu, Zhen and Belongie, Serge and
            Luo, Jiebo and Datcu, Mihai and Pelillo, Marcello and Zhang, Liangpei},
  title = {{DOTA}: A Large-scale Dataset for Object Detection in Aerial Images},
  booktitle = {CVPR},
  year = {2018}
}"""


def metadata(recipe: DotaRecipe, source: Any) -> Metadata:
    """Return what the card of a dataset says, with DOTA as the origin of the images."""
    asked = replace(recipe, total=recipe.asked or recipe.total)
    command = [NAME, *asked.options(), "--root", "DOTA"]
    images = Origin(
        "source images and labels",
        f"DOTA, its split {recipe.split}: https://captain-whu.github.io/DOTA/dataset.html; "
        f"SHA-256 over names, labels and pixels {recipe.source_sha256}",
        LICENCE,
        _CITE,
    )
    title = "DOTA Airplanes" if recipe.category == "plane" else f"DOTA Crops: {recipe.category}"
    description = DESCRIPTION.format(category=recipe.category)
    return Metadata(title, description, shlex.join(command), (images,), LIMITS, RESPONSIBLE)
