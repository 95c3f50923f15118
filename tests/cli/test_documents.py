"""The commands that the documents show are ones that zoo and pip take."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from zoo.cli import main
from zoo.cli.common import COMMANDS
from zoo.training.recipe import load_recipe, recipes
from zoo.training.recipes.arguments import parse

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
BLOCK = re.compile(r"^    .*(?:\n    .*)*", re.MULTILINE)
EXTRAS = re.compile(r"(?:\"\.|attention-zoo|\.whl)\[([\w,-]+)\]")
COMMAND = re.compile(r"(?:^|(?<!cd)\s)zoo((?: (?!\\)[^&;|#\n]*)?)(?= *(?:[&;|#\n]|$))")


def commands():
    """Yields page and words of each command in an indented block."""
    for page in sorted(PAGES):
        if "generated" in page.parts:
            continue
        text = page.read_text("utf-8").replace("\\\n", " ")
        for block in BLOCK.findall(text):
            for line in block.split("\n"):
                for words in COMMAND.findall(line):
                    if not words.startswith(" = "):
                        yield pytest.param(
                            shlex.split(words), id=f"{page.stem}:{words.strip()}"
                        )


SHOWN = {given.id: given for given in commands()}


@pytest.mark.parametrize("words", SHOWN.values())
def test_a_command_is_taken(words, monkeypatch):
    given = []
    for command in COMMANDS.values():
        monkeypatch.setattr(command, "run", given.append)
    if not words:
        return  # the menu
    main(words)
    [arguments] = given
    if words[0] == "train" and arguments.words[0] in recipes():
        name, *options = arguments.words
        parse(load_recipe(recipes()[name]).RECIPE, options)


def test_there_are_commands():
    assert len(SHOWN) > 30


def test_the_extras_of_install_commands_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    shown = {
        (page.name, extra)
        for page in PAGES
        for extras in EXTRAS.findall(page.read_text("utf-8"))
        for extra in extras.split(",")
    }
    assert len(shown) > 10
    known = project["optional-dependencies"]
    assert not [each for each in shown if each[1] not in known]
