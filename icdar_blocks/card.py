"""Card: what the dataset card of the ICDAR blocks says, with the origin of the photographs."""

import shlex
from typing import Any

from icdar_blocks.recipe import IcdarRecipe
from icdar_blocks.rule import LITERAL, Rule
from ivl_shards import Metadata, Origin, ResponsibleUse
from ivl_shards.generation.knobs import changed_options

NAME = "icdar-blocks"
LICENCE = "ICDAR 2013 Focused Scene Text, for research; see https://rrc.cvc.uab.es/?ch=2"

DESCRIPTION = (
    "Blocks of text of one and more lines, cut from the photographs of ICDAR 2013 Focused Scene "
    "Text, to be read line by line. Each sample carries the spatial memory of an ideal reader at "
    "every step: the boxes of the lines read so far. It asks whether a model trained on few "
    "lines reads many in real photographs."
)
LIMITS = (
    "How words become blocks is this toolkit's reading of a sentence in the paper, the one that "
    "comes closest to the paper's table; it is not known to be the authors' own.",
    "Some blocks join lines that do not belong together, and some slanted lines are split: "
    "docs/ICDAR.md of the toolkit lists those of the test split.",
    "Short words beside a block may show in its image without being labelled.",
    "Boxes are upright, also around slanted text.",
    "Blocks of scenes whose picture was missing (`missing` in the recipe) are left out.",
)
RESPONSIBLE = ResponsibleUse(
    uses=(
        "Made to test whether models that read one line at a time, trained on few lines, still "
        "read many in photographs. For research, as ICDAR's terms say.",
        "Too small to train a text reader for other photographs.",
    ),
    biases=(
        "The photographs are those of ICDAR 2013: text in Latin letters, mostly English, in the "
        "photographer's focus. Other scripts, handwriting and incidental text hardly occur.",
    ),
    personal_information=(
        "Photographs of public places, which may show names, telephone numbers or people. Nothing "
        "was removed from ICDAR's photographs.",
    ),
    social_impact=(
        "Methods that read text in photographs help people who cannot see it, and can also serve "
        "surveillance."
    ),
    synthetic=False,
)
_CITE = """\
@inproceedings{Karatzas13,
  author = {Karatzas, Dimosthenis and Shafait, Faisal and Uchida, Seiichi and Iwamura, Masakazu
            and Gomez i Bigorda, Lluis and Robles Mestre, Sergi and Mas, Joan and
            Fernandez Mota, David and Almazan Almazan, Jon and de las Heras, Lluis Pere},
  title = {{ICDAR} 2013 Robust Reading Competition},
  booktitle = {ICDAR},
  year = {2013}
}"""


def metadata(recipe: IcdarRecipe, source: Any) -> Metadata:
    """Return what the card of a dataset says, with ICDAR 2013 as the origin of the photographs."""
    command = [
        *(NAME, "--root", "ICDAR2013", "--split", recipe.split, *_rule(recipe.rule)),
        *changed_options(recipe),
        *(("--dense-memory",) if recipe.dense_memory else ()),
    ]
    scenes = Origin(
        "photographs and transcriptions",
        f"ICDAR 2013 Robust Reading, Challenge 2, its split {recipe.split}: "
        f"https://rrc.cvc.uab.es/?ch=2; SHA-256 of words and pictures {recipe.fingerprint}",
        LICENCE,
        _CITE,
    )
    return Metadata(
        "ICDAR-2013 Text Blocks", DESCRIPTION, shlex.join(command), (scenes,), LIMITS, RESPONSIBLE
    )


def _rule(rule: Rule) -> list[str]:
    """Return the options that choose a rule.

    >>> _rule(Rule(growth=2.0, repeated=False))
    ['--choice', 'growth=2.0', '--choice', 'repeated=no']
    """
    return ["--rule", "literal"] if rule == LITERAL else changed_options(rule)
