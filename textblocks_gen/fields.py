"""Fields of a dataset of text blocks."""

from ivl_shards import DEFLATE, ENCODED, Field, Schema
from ivl_shards.format.memory import step_dtype
from textblocks_gen.effects.look import ALIGNMENTS
from textblocks_gen.other_words import KINDS as OTHERS
from textblocks_gen.other_words import MOST
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.typesetting.block import FACE_NAME
from textblocks_gen.typesetting.typeset import POLYGON
from textblocks_gen.typesetting.warp import KINDS
from textblocks_gen.words.spelling import OTHER_TEXT, line_bytes


def schema(recipe: TextRecipe) -> Schema:
    """Return the fields of a dataset, as docs/TEXTBLOCKS.md lists them."""
    lines = max(recipe.counts)
    words = lines * recipe.words[1]
    text = f"S{line_bytes(recipe)}"
    fields = [
        Field("image", "u1", (), "RGB photograph", storage=ENCODED),
        Field("image_size", "i4", (2,), "height and width of the image", "pixels"),
        Field(
            "steps",
            step_dtype(lines),
            size(recipe),
            f"first step whose line {'polygon' if recipe.bend else 'quad'} has the pixel's centre, "
            "0 where none does",
            storage=DEFLATE,
        ),
        Field("line_count", "i4", (), "number of lines", "lines"),
        Field("line_text", text, (lines,), "what each line says", counted_by="line_count"),
        Field(
            "line_quad",
            "f4",
            (lines, 4, 2),
            "corners (x, y) around the ink of each line, "
            "clockwise from the upper left as one reads",
            "pixels",
            counted_by="line_count",
        ),
        Field(
            "line_height",
            "f4",
            (lines,),
            "height of each line, tails to tops, before the transform",
            "pixels",
            counted_by="line_count",
        ),
        Field("word_count", "i4", (), "number of words", "words"),
        Field(
            "word_quad",
            "f4",
            (words, 4, 2),
            "corners (x, y) around the ink of each word, in reading order",
            "pixels",
            counted_by="word_count",
        ),
        Field("word_line", "u1", (words,), "line of each word, from 0", counted_by="word_count"),
        Field("font", FACE_NAME, (), "name of the face of the first line"),
        Field("alignment", "u1", (), "of the lines", classes=ALIGNMENTS),
        Field("warp", "u1", (), "kind of the transform", classes=KINDS),
        Field("transform", "f4", (3, 3), "homography from the upright block to the image"),
    ]
    if recipe.bend:
        fields.append(
            Field(
                "line_polygon",
                "f4",
                (lines, POLYGON, 2),
                "outline (x, y) of each line, which "
                "follows its bend: along its top, then back along its foot",
                "pixels",
                counted_by="line_count",
            )
        )
    if recipe.mixed_faces:
        fields.append(
            Field(
                "line_font",
                FACE_NAME,
                (lines,),
                "name of each line's face",
                counted_by="line_count",
            )
        )
    if recipe.cut or recipe.distant:
        fields += [
            Field("other_count", "i4", (), "number of words that are not to be read", "words"),
            Field(
                "other_quad",
                "f4",
                (MOST, 4, 2),
                "corners (x, y) of those, which may lie outside the image",
                "pixels",
                counted_by="other_count",
            ),
            Field(
                "other_text",
                OTHER_TEXT,
                (MOST,),
                "what they say as a whole",
                counted_by="other_count",
            ),
            Field(
                "other_kind",
                "u1",
                (MOST,),
                "why they are not to be read",
                classes=OTHERS,
                counted_by="other_count",
            ),
        ]
    if recipe.char_quads:
        characters = lines * line_bytes(recipe) // 2
        fields += [
            Field("char_count", "i4", (), "number of characters, without spaces", "characters"),
            Field(
                "char_quad",
                "f4",
                (characters, 4, 2),
                "corners (x, y) around the ink of each character, in reading order",
                "pixels",
                storage=DEFLATE,
                counted_by="char_count",
            ),
        ]
    return Schema("steps", "line_count", tuple(fields))


def size(recipe: TextRecipe) -> tuple[int, int]:
    """Return height and width of the images."""
    return recipe.height, recipe.width
