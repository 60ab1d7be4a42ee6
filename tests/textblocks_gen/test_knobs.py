"""Knobs: one declaration gives options, messages, the card's command and the docs' table."""

from dataclasses import dataclass, replace

import click
import pytest
from click.testing import CliRunner

from commands import ROOT
from ivl_shards import Recipe, UserError
from ivl_shards.generation.knobs import (
    given,
    knob,
    knob_options,
    knob_table,
    knobs_of,
    settle,
    take_knobs,
)
from textblocks_gen import TextRecipe
from textblocks_gen.recipe import STYLES


@dataclass(frozen=True)
class Rain(Recipe):
    style: str = knob("dry", "Set of defaults.", choices=("dry", "wet"))
    rain_drops: int = knob(3, "Drops in an image.", 1, 9, wet=8)
    drift: tuple[float, float] = knob((0.0, 0.5), "Drift.", 0, 1, unit="pixels")
    cold: bool = knob(False, "Whether it is cold.", wet=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self)


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
        ({"rain_drops": 10}, "--rain-drops 10: between 1 and 9"),
        ({"rain_drops": 2.5}, "--rain-drops 2.5: a whole number"),
        ({"rain_drops": "2"}, "--rain-drops 2: is not a number"),
        ({"drift": (0.0, 3.0)}, "--drift 0.0 3.0: between 0 and 1 pixels"),
        ({"drift": (0.5, 0.1)}, "--drift 0.5 0.1: the smaller number comes first"),
        ({"drift": 0.5}, "--drift 0.5: give the least and the greatest number"),
        ({"drift": (0.1, float("nan"))}, "--drift 0.1 nan: between 0 and 1 pixels"),
        ({"style": "warm"}, "--style warm: choose from dry, wet"),
        ({"cold": 1}, "--cold 1: is not of type bool"),
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
    result = CliRunner().invoke(rain, given(recipe))
    assert result.exit_code == 0, result.output
    assert Rain((1,), 2, **eval(result.output)) == recipe


def test_the_help_shows_the_defaults_of_all_styles() -> None:
    said = " ".join(CliRunner().invoke(rain, ["--help"]).output.split())
    assert "Drops in an image. [default: 3; wet: 8]" in said


def test_the_table_of_the_docs_is_that_of_the_recipe() -> None:
    """To write it: python docs/tables.py"""
    page = ROOT / "docs" / "TEXTBLOCKS.md"
    assert knob_table(TextRecipe, *STYLES) in page.read_text("utf-8")


def test_every_knob_of_the_text_blocks_is_an_option() -> None:
    from textblocks_gen.cli import cli

    names = {option.name for option in cli.params}
    assert set(knobs_of(TextRecipe)) <= names
