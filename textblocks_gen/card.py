"""Card: what the dataset card of text blocks says, with the origin of all that they show."""

import shlex

from fonts import Face
from fonts.catalogue import is_catalogue
from fonts.licences import tally
from ivl_shards import Metadata, Origin, ResponsibleUse
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.studio import Inputs, usable_faces, words_of

NAME = "textblocks-gen"

DESCRIPTION = (
    "Blocks of several lines of printed words in many typefaces, slightly turned and seen in "
    "perspective, on textures or photographs, to be read line by line. Each sample carries the "
    "spatial memory of an ideal reader at every step: the quads of the lines read so far. It "
    "asks whether a model trained on few lines still reads many."
)
LIMITS = (
    "Rendered text: it is cleaner and more regular than text in photographs.",
    "Lines are random words, without grammar or meaning.",
    "One character, one glyph: no ligatures, and no scripts that join their letters.",
    "Text always stands out from its background and lies wholly within the image.",
    "The paper gives no image size and not all of its rendering; the recipe holds what was chosen.",
)
_WORDS = (
    "hunspell's American English dictionary, made from SCOWL, all affixes expanded",
    "SCOWL's own, free for any use if its notices are kept",
)
_OWN_WORDS = ("a list of the maker's own (`--lexicon`)", "the list's")
_TEXT = ("a running text of the maker's own (`--text`)", "the text's")
_TEXTURES = Origin("backgrounds", "textures that the generator draws itself", "CC0-1.0")
_SCENES = Origin("backgrounds", "textures and scenes that the generator draws itself", "CC0-1.0")
_OWN_GROUNDS = Origin(
    "backgrounds", "photographs of the maker's own (`--backgrounds`)", "the photographs'"
)


def metadata(recipe: TextRecipe, source: Inputs | None) -> Metadata:
    """Return what the card of a dataset says, with the origin of fonts, words and backgrounds."""
    source = source or Inputs()
    drawn = _SCENES if recipe.scenes else _TEXTURES
    origins = (
        _fonts(usable_faces(recipe, source), source),
        _words(recipe, source),
        _OWN_GROUNDS if source.backgrounds else drawn,
    )
    description = " ".join(filter(None, (DESCRIPTION, _held_out(recipe))))
    return Metadata(
        "Synthetic Text Blocks",
        description,
        _command(recipe, source),
        origins,
        LIMITS,
        _responsible_use(source),
    )


def _responsible_use(source: Inputs) -> ResponsibleUse:
    own = bool(source.lexicon or source.text or source.backgrounds)
    words = "the maker's own" if source.lexicon or source.text else "English"
    return ResponsibleUse(
        uses=(
            "Made to test whether models that read one line at a time, trained on few lines, "
            "still read many.",
            "A model that is trained on it alone is not ready for photographs.",
        ),
        biases=(
            f"The words are {words}, in the letters and typefaces that the origins list; other "
            "languages, scripts and handwriting do not occur.",
            "Lines, typefaces, colours and transforms are drawn within the recipe's ranges.",
        ),
        personal_information=(
            "Words, texts or photographs are the maker's own; whether they hold personal "
            "information is not known here."
            if own
            else "None: words are drawn at random, and a name among them refers to nobody.",
        ),
        social_impact=(
            "Methods that read text in images help people who cannot see it, and can also serve "
            "surveillance."
        ),
        synthetic=True,
    )


def _words(recipe: TextRecipe, source: Inputs) -> Origin:
    """Return the origin of the words, and how many are left out."""
    where, licence = _TEXT if source.text else _OWN_WORDS if source.lexicon else _WORDS
    if recipe.unfiltered:
        return Origin("words", f"{where}; slurs and profanity are not left out", licence)
    count = words_of(recipe, source).profane
    return Origin("words", f"{where}; {count:,} slurs and swear words are left out", licence)


def _held_out(recipe: TextRecipe) -> str:
    if recipe.holdout == "none":
        return ""
    *others, last = recipe.holdout.split(",")
    kinds = f"{', '.join(others)} and {last}" if others else last
    return f"The {kinds} of this split ({recipe.split}) do not occur in the other splits."


def _command(recipe: TextRecipe, source: Inputs) -> str:
    return shlex.join(
        [
            NAME,
            *recipe.options("--lines", line_height=recipe.default_heights()),
            # Placeholders: paths of the maker's machine are private.
            *(("--fonts", "FONTS") if source.fonts else ()),
            *(("--lexicon", "WORDS.txt") if source.lexicon else ()),
            *(("--text", "TEXT.txt") if source.text else ()),
            *(("--backgrounds", "PHOTOGRAPHS") if source.backgrounds else ()),
        ]
    )


def _fonts(faces: tuple[Face, ...], source: Inputs) -> Origin:
    if is_catalogue(faces[0].path.parent):
        where = "the toolkit's catalogue (`ivl-fonts install`)"
    elif source.fonts:
        where = "a folder of the maker's own (`--fonts`)"
    else:
        where = "Python packages that come with the toolkit"
    return Origin("fonts", f"{len(faces):,} faces of {where}", tally(faces))
