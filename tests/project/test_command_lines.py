"""Conventions of all command lines. A new command is found and tested by itself."""

import importlib
import json
import os
import shlex
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import ivl_launch
import shapes_gen
from commands import ROOT, hear_ctrl_c, tool
from font_files import SOURCES, small_font
from ivl_shards.options import run as run_command
from shapes_gen import ColouredRecipe

SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
TOOLS = {name: importlib.import_module(ivl_launch.COMMANDS[name][0]).cli for name in SCRIPTS}


def walk(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from walk((*path, name), part)


COMMANDS = [path for name, command in TOOLS.items() for path in walk((name,), command)]
every_command = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
every_tool = pytest.mark.parametrize("name", TOOLS)


def find(path: tuple[str, ...]) -> click.Command:
    command = TOOLS[path[0]]
    for name in path[1:]:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    return command


def shown(*words: str, **environment: str) -> str:
    """Return what a command prints; it must succeed."""
    result = CliRunner().invoke(TOOLS[words[0]], words[1:], prog_name=words[0], env=environment)
    assert result.exit_code == 0, result.output
    return result.output


@every_command
def test_help_has_an_example_that_can_be_typed(path: tuple[str, ...]) -> None:
    page = shown(*path, "--help")
    assert "\x1b" not in page, "colours are for terminals"
    assert "Example:" in page
    example = " ".join(page.split("Example:")[1].split("Options:")[0].split())
    words = shlex.split(example)
    assert words[0] == path[0]
    command: click.Command = TOOLS[path[0]]
    del words[0]
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    command.make_context(path[0], words)  # parses, and complains of what it does not know


@every_command
def test_every_option_is_explained(path: tuple[str, ...]) -> None:
    for option in find(path).params:
        if isinstance(option, click.Option):
            assert option.help, option.opts


# Options that a user of one tool expects to be the same in another.
FLAGS = {
    "--dense-memory",
    "--force",
    "--json",
    "--overwrite",
    "--quiet",
    "--strict",
    "--char-quads",
}
ALIASES = {"--output", "-o", "--silent", "--number", "--num", "--verbose"}


@every_command
def test_options_of_one_name_are_of_one_kind(path: tuple[str, ...]) -> None:
    for option in find(path).params:
        if not isinstance(option, click.Option):
            continue
        assert not ALIASES & set(option.opts)
        if FLAGS & set(option.opts):
            assert option.is_flag
        if {"--out", "--root"} & set(option.opts):
            assert isinstance(option.type, click.Path)
        if {"--seed", "--n", "--total", "--workers"} & set(option.opts):
            assert option.type is click.INT


@every_tool
def test_version(name: str) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert shown(name, "--version") == f"{name} {version}\n"


@every_tool
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_can_complete(name: str, shell: str) -> None:
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    script = shown(name, **{variable: f"{shell}_source"})
    assert f"{variable}={shell}_complete" in script


def test_bash_completes_commands_and_options(run) -> None:
    script = run("ivl-shards", _IVL_SHARDS_COMPLETE="bash_source")
    assert script.returncode == 0, script.stderr
    assert "_IVL_SHARDS_COMPLETE=bash_complete" in script.stdout
    for words, wanted in (("ivl-shards ", "verify"), ("ivl-shards info --j", "--json")):
        found = run(
            "ivl-shards",
            _IVL_SHARDS_COMPLETE="bash_complete",
            COMP_WORDS=words,
            COMP_CWORD=str(words.count(" ")),
        )
        assert f"plain,{wanted}" in found.stdout.splitlines()


def test_completion_and_json_are_on_the_page() -> None:
    page = " ".join((ROOT / "docs" / "SHARDS.md").read_text("utf-8").split())
    for name in TOOLS:
        assert f"_{name.replace('-', '_').upper()}_COMPLETE" in page
    for path in COMMANDS:
        if any("--json" in option.opts for option in find(path).params):
            assert f"`{' '.join(path)}`" in page.split("**`--json`**")[1].split(" - **")[0]


def test_a_group_alone_shows_its_help(run) -> None:
    result = run("shapes-gen")
    assert result.returncode == 2
    assert "Usage: shapes-gen" in result.stderr


@every_command
def test_counts_are_understood_where_lines_are(path: tuple[str, ...]) -> None:
    names = {name for option in find(path).params for name in option.opts}
    assert "--lines" not in names or "--counts" in names


# --- for scripts -------------------------------------------------------------------------


def test_info_and_verify_as_json(run, make, tmp_path: Path) -> None:
    dataset = make(ColouredRecipe((3, 4), 24), shard_size=10)
    content = dataset.attributes["content_sha256"]
    assert json.loads(run("ivl-shards", "info", "data.h5", "--json").stdout)["samples"] == 24
    sound = run("ivl-shards", "verify", "data.h5", "--json")
    assert sound.returncode == 0
    assert json.loads(sound.stdout) == {
        "path": "data.h5",
        "sound": True,
        "problems": 0,
        "first_problems": [],
        "samples": 24,
        "files": 4,
        "content_sha256": content,
    }
    dataset.shards[1].unlink()
    damaged = run("ivl-shards", "verify", "data.h5", "--json")
    assert damaged.returncode == 1
    told = json.loads(damaged.stdout)
    assert (told["sound"], told["problems"]) == (False, 1)
    assert dataset.shards[1].name in told["first_problems"][0]


def test_verdicts_on_fonts_as_json(run, tmp_path: Path) -> None:
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "good.ttf").write_bytes(small_font(SOURCES[0]))
    listed = json.loads(run("ivl-fonts", "list", "fonts", "--json").stdout)
    assert [face["id"] for face in listed] == ["good.ttf"]
    (tmp_path / "fonts" / "bad.ttf").write_bytes(small_font(SOURCES[0], "ABC"))
    result = run("ivl-fonts", "check", "fonts", "--json")
    assert result.returncode == 1
    verdicts = {row["id"]: row for row in json.loads(result.stdout)}
    assert verdicts["good.ttf"]["usable"]
    assert "lacks" in verdicts["bad.ttf"]["reason"]
    (tmp_path / "fonts" / "good.ttf").unlink()
    none = run("ivl-fonts", "check", "fonts", "--json")
    assert none.returncode == 2
    assert [row["usable"] for row in json.loads(none.stdout)] == [False]


# --- Ctrl-C ------------------------------------------------------------------------------


@every_tool
def test_ctrl_c_is_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(click.Command, "make_context", interrupted)
    with pytest.raises(SystemExit) as ended:
        run_command(TOOLS[name], name)
    assert ended.value.code == 130
    printed = capsys.readouterr().err.strip()
    assert printed.startswith(f"{name}: stopped")
    assert "\n" not in printed


def interrupt(command: list[str], folder: Path, when) -> tuple[int, str]:
    """Start a command, send SIGINT to it and its workers when it is time; code and stderr."""
    process = subprocess.Popen(
        [tool(command[0]), *command[1:]],
        cwd=folder,
        text=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )
    deadline = time.monotonic() + 60
    while not when() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    return process.wait(30), process.communicate()[1]


@pytest.mark.slow
def test_ctrl_c_leaves_no_half_of_an_export(tmp_path: Path) -> None:
    shapes_gen.generate(ColouredRecipe((3,), 6000), tmp_path / "data.h5", workers=1)
    command = ["ivl-shards", "export", "data.h5", "--format", "files", "out"]
    code, said = interrupt(command, tmp_path, lambda: len(list(tmp_path.glob("out.*/*"))) > 20)
    assert code == 130
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["data.h5"]


@pytest.mark.slow
def test_ctrl_c_keeps_the_shards_of_texts(tmp_path: Path) -> None:
    command = ["textblocks-gen", "--lines", "1-10", "--n", "2000", "--shard-size", "20", "out.h5"]
    shards = tmp_path / "out.h5.shards"
    code, said = interrupt(
        [*command, "--workers", "1"], tmp_path, lambda: len(list(shards.glob("*.h5"))) >= 2
    )
    assert code == 130
    assert "Traceback" not in said
    assert len(list(shards.glob("*.h5"))) >= 2
    assert not list(shards.glob("*.tmp"))
