"""Knobs: one declaration gives options, messages, the card's command and the docs' table."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import click
import pytest
from click.testing import CliRunner

import dota_crops.cli
import icdar_blocks.cli
import shapes_gen.cli
import textblocks_gen.cli
from commands import ROOT
from dota_crops import DotaRecipe
from icdar_blocks import IcdarRecipe
from ivl_shards import Recipe, UserError
from ivl_shards.generation.knobs import (
    changed_options,
    knob,
    knob_options,
    knobs_of,
    take_knobs,
)
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe


@dataclass(frozen=True)
class Rain(Recipe):
    defaults_by: ClassVar[str] = "style"

    style: str = knob("dry", "Set of defaults.", choices=("dry", "wet"))
    rain_drops: int = knob(3, "Drops in an image.", 1, 9, wet=8)
    drift: tuple[float, float] = knob((0.0, 0.5), "Drift.", 0, 1, unit="pixels")
    cold: bool = knob(False, "Whether it is cold.", wet=True)


def test_a_style_is_a_set_of_defaults_and_every_knob_stands_alone() -> None:
    assert Rain((1,), 2).rain_drops == 3
    wet = Rain((1,), 2, style="wet")
    assert (wet.rain_drops, wet.cold) == (8, True)
    assert Rain((1,), 2, style="wet", rain_drops=4).cold
    # A copy keeps its values.
    assert replace(wet, seed=3).rain_drops == 8


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"rain_drops": 10}, "--rain-drops 10: must be between 1 and 9"),
        ({"rain_drops": 2.5}, "--rain-drops 2.5: must be a whole number"),
        ({"rain_drops": "2"}, "--rain-drops 2: must be a number"),
        ({"drift": (0.0, 3.0)}, "--drift 0.0 3.0: must be between 0 and 1 pixels"),
        ({"drift": (0.5, 0.1)}, "--drift 0.5 0.1: give the smaller number first"),
        ({"drift": 0.5}, "--drift 0.5: give a minimum and a maximum"),
        ({"drift": (0.1, float("nan"))}, "--drift 0.1 nan: must be a finite number"),
        ({"style": "warm"}, "--style warm: choose from dry, wet"),
        ({"cold": 1}, "--cold 1: must be of type bool"),
    ],
)
def test_a_message_names_the_option(knobs: dict, said: str) -> None:
    with pytest.raises(UserError) as found:
        Rain((1,), 2, **knobs)
    assert str(found.value) == said


@click.command()
@knob_options(Rain)
def rain(**options) -> None:
    click.echo(repr(take_knobs(Rain, options)))


@pytest.mark.parametrize(
    "recipe",
    [
        Rain((1,), 2),
        Rain((1,), 2, style="wet"),
        Rain((1,), 2, style="wet", cold=False, drift=(0.25, 1.0)),
        Rain((1,), 2, rain_drops=5, cold=True),
    ],
)
def test_the_options_that_are_given_make_the_recipe_again(recipe: Rain) -> None:
    result = CliRunner().invoke(rain, changed_options(recipe))
    assert result.exit_code == 0, result.output
    assert Rain((1,), 2, **eval(result.output)) == recipe


def test_the_help_shows_the_defaults_of_all_styles() -> None:
    said = " ".join(CliRunner().invoke(rain, ["--help"]).output.split())
    assert "Drops in an image. [1–9; default: 3; wet: 8]" in said


def test_the_tables_of_the_docs_are_those_of_the_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import option_tables

    for name in option_tables.TABLES:
        page = (ROOT / "docs" / name).read_text("utf-8")
        assert page == option_tables.page_with_tables(name), "make readme"


@pytest.mark.parametrize(
    ("recipe", "command"),
    [
        (TextRecipe, textblocks_gen.cli.cli),
        (ColouredRecipe, shapes_gen.cli.coloured),
        (ToyRecipe, shapes_gen.cli.toy),
        (DotaRecipe, dota_crops.cli.cli),
        (IcdarRecipe, icdar_blocks.cli.cli),
    ],
)
def test_every_field_is_an_option_or_follows_from_the_data(recipe, command: click.Command) -> None:
    options = {option.name for option in command.params}
    declared = knobs_of(recipe)
    assert {each.name for each in declared} <= options
    settable = {name for each in declared for name in each.fields} | options
    others = {field.name for field in fields(recipe)} - settable
    assert others <= FOUND_IN_THE_DATA


# Fields that a recipe is given when the data are read.
FOUND_IN_THE_DATA = {
    *("asked", "source_sha256"),
    *("counts", "total", "seed", "rule", "fingerprint", "missing", "largest", "most_words"),
    *("name_bytes", "word_bytes", "line_bytes"),
}


@dataclass(frozen=True)
class Drawing(Recipe):
    """One knob of each kind that `Rain` has none of."""

    height: int = knob(3, "Size.", 1, 99, unit="pixels", option="--size", image_size=True)
    width: int = knob(4, option="--size")
    thin: float = knob(1.0, "Width of a line.", 0.5, 8, option="--width")
    thick: float = knob(2.0, option="--width")
    most: int | None = knob(None, "Number of lines.", 1, type_=int)
    frame: tuple[int, int] | None = knob(None, "Frame.", 1, 99, type_=int, image_size=True)


@pytest.mark.parametrize(
    ("options", "recipe"),
    [
        ((), Drawing((1,), 2)),
        (("--size", "9x5"), Drawing((1,), 2, height=5, width=9)),
        (("--width", "1.5", "3.0"), Drawing((1,), 2, thin=1.5, thick=3.0)),
        (("--most", "7", "--frame", "20x10"), Drawing((1,), 2, most=7, frame=(10, 20))),
    ],
)
def test_an_option_may_set_two_fields_or_be_absent(options: tuple, recipe: Drawing) -> None:
    @click.command()
    @knob_options(Drawing)
    def draw(**options) -> None:
        assert Drawing((1,), 2, **take_knobs(Drawing, options)) == recipe

    assert CliRunner().invoke(draw, options).exit_code == 0
    assert tuple(changed_options(recipe)) == options


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"height": 300}, "--size 4x300: must be between 1 and 99 pixels"),
        ({"thin": 3.0}, "--width 3.0 2.0: give the smaller number first"),
        ({"most": 0}, "--most 0: must be at least 1"),
        ({"frame": (1, 300)}, "--frame 300x1: must be between 1 and 99"),
    ],
)
def test_a_message_shows_the_option_as_it_is_typed(knobs: dict, said: str) -> None:
    with pytest.raises(UserError) as found:
        Drawing((1,), 2, **knobs)
    assert str(found.value) == said
