"""Text blocks: perspective-warped lines of text on textures or photographs.

from textblocks_gen import TextRecipe, generate, stream

generate(TextRecipe(counts=(3, 4, 5), total=1000, split="train"), "train.h5")
for sample in stream(TextRecipe(counts=(3,), total=10)):
    sample.image, sample["line_text"], sample.memory(1)
"""

from collections.abc import Callable
from typing import Any

import ivl_shards
from ivl_shards import Generator, Made, Sample
from ivl_shards.generation.randomness import Draws
from ivl_shards.generation.stream import Stream
from ivl_shards.remote import Location
from textblocks_gen.card import NAME, metadata
from textblocks_gen.fields import schema, size
from textblocks_gen.recipe import TextRecipe
from textblocks_gen.render import Canvas, render
from textblocks_gen.studio import Inputs, complete, open_studio

__all__ = ["TEXT", "Inputs", "TextRecipe", "complete", "generate", "start", "stream"]


def start(recipe: TextRecipe, source: Inputs | None) -> Callable[[int], Sample]:
    """Return the function from a row of the dataset to its sample."""
    studio, canvas = open_studio(recipe, source or Inputs()), Canvas(recipe)
    draws = Draws(NAME, recipe.seed, recipe.split)

    def sample(row: int) -> Sample:
        count, index = recipe.place(row)
        return render(studio, canvas, count, draws.at(count, index))

    return sample


TEXT = Generator(
    name=NAME,
    version="2",
    task="text-blocks",
    licence="images CC0-1.0; fonts and backgrounds keep their own licences",
    schema=schema,
    size=size,
    start=start,
    metadata=metadata,
)


def generate(
    recipe: TextRecipe, out: Location | str, source: Inputs | None = None, **options: Any
) -> Made:
    """Generate a dataset; for the options (workers, dask, …) see `ivl_shards.generate`."""
    source = source or Inputs()
    return ivl_shards.generate(TEXT, complete(recipe, source), out, source=source, **options)


def stream(recipe: TextRecipe, source: Inputs | None = None) -> Stream:
    """Return the samples of a dataset one by one, without files and without end."""
    source = source or Inputs()
    return Stream(TEXT, complete(recipe, source), source)
