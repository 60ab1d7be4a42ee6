"""About the text blocks: what their card says, and whose fonts, words and grounds they show."""

import shlex

from fonts import Face
from fonts.catalogue import is_catalogue
from fonts.licences import tally
from ivl_shards import About, Origin
from ivl_shards.command import drawing, knobs
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.studio import Source, usable_faces

NAME = "textblocks-gen"

DESCRIPTION = (
    "Blocks of several lines of printed words in many typefaces, slightly turned and seen in "
    "perspective, on textures or photographs, to be read line by line. Each sample carries the "
    "spatial memory of an ideal reader at every step: the quads of the lines read so far. Made to "
    "ask whether a model trained on few lines still reads many."
)
LIMITS = (
    "Rendered text: it is cleaner and more regular than text in photographs.",
    "Lines are random words, without grammar or meaning.",
    "One character, one glyph: no ligatures, and no scripts that join their letters.",
    "Text always stands out from its ground and lies wholly within the image.",
    "The paper gives no image size and not all of its rendering; the recipe holds what was chosen.",
)
_CHANCES = (
    "rotation", "shear", "perspective", "foreshortening", "upper_case", "title_case",
    "punctuation", "digits", "contrast", "shadow", "outline", "blur", "noise", "quality",
    "char_quads",
)  # fmt: skip
_WORDS = Origin(
    "words",
    "hunspell's American English dictionary, made from SCOWL, all affixes expanded",
    "SCOWL's own, free for any use if its notices are kept",
)
_TEXTURES = Origin("grounds", "textures that the generator draws itself", "CC0-1.0")
_OWN_WORDS = Origin("words", "a list of the maker's own (`--lexicon`)", "the list's")
_OWN_GROUNDS = Origin(
    "grounds", "photographs of the maker's own (`--backgrounds`)", "the photographs'"
)


def about(recipe: TextRecipe, source: Source | None) -> About:
    """Title, description, command, limits, and where fonts, words and grounds come from."""
    source = source or Source()
    origins = (
        _fonts(usable_faces(recipe, source), source),
        _OWN_WORDS if source.lexicon else _WORDS,
        _OWN_GROUNDS if source.backgrounds else _TEXTURES,
    )
    return About("Synthetic Text Blocks", DESCRIPTION, _command(recipe, source), origins, LIMITS)


def _command(recipe: TextRecipe, source: Source) -> str:
    resized = (recipe.width, recipe.height) != (TextRecipe.width, TextRecipe.height)
    own = knobs(
        recipe, *_CHANCES,
        words=("fewest_words", "most_words"), line_height=("smallest_line", "largest_line"),
    )  # fmt: skip
    return shlex.join(
        [
            *(NAME, *drawing(recipe, "lines"), *own),
            *(("--size", f"{recipe.width}x{recipe.height}") if resized else ()),
            # Placeholders: where things lie on the maker's machine is nobody's business.
            *(("--fonts", "FONTS") if source.fonts else ()),
            *(("--lexicon", "WORDS.txt") if source.lexicon else ()),
            *(("--backgrounds", "PHOTOGRAPHS") if source.backgrounds else ()),
        ]
    )


def _fonts(faces: tuple[Face, ...], source: Source) -> Origin:
    if is_catalogue(faces[0].path.parent):
        where = "the toolkit's catalogue (`ivl-fonts install`)"
    elif source.fonts:
        where = "a folder of the maker's own (`--fonts`)"
    else:
        where = "Python packages that come with the toolkit"
    return Origin("fonts", f"{len(faces):,} faces of {where}", tally(faces))
