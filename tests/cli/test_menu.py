"""`zoo --help`, and `zoo COMMAND --help`."""

import shlex

import pytest

import zoo
from zoo import cli
from zoo.cli import MODULES, main

pytestmark = pytest.mark.backend_free


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_menu_has_each_command_with_an_example(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    menu = printed(capsys, "--help")
    lines = menu.splitlines()
    assert max(map(len, lines)) < 80
    for name, module in MODULES.items():
        (row,) = [i for i, line in enumerate(lines) if line.startswith(f"  {name} ")]
        assert lines[row].split(maxsplit=1)[1] == module.HELP
        assert lines[row + 1].strip() == module.EXAMPLE
    for title in ("use a preset", "train your own", "serve", "look"):
        assert lines[lines.index(title) - 1] == ""
    assert "Exit codes: 0 success, 1 failure, 2 bad" in menu
    assert printed(capsys) == menu


@pytest.mark.parametrize("name", MODULES)
def test_the_help_of_a_command_ends_with_its_example(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(capsys, name, "--help").splitlines()
    assert lines[-1].strip() == MODULES[name].EXAMPLE
    assert max(map(len, lines)) < 80


@pytest.mark.parametrize("name", MODULES)
def test_examples_can_be_parsed(name):
    words = shlex.split(MODULES[name].EXAMPLE)
    if words[0] == "eval":
        words = words[1].strip("$()").split()
    assert words[:2] == ["zoo", name]
    arguments = cli._parse(words[1:])
    assert arguments.run is MODULES[name].run


def test_a_misspelled_command(capsys):
    assert main(["transalte", "luong_local", "a"]) == 2
    assert "no command 'transalte' (did you mean translate" in capsys.readouterr().err


def test_version(capsys):
    assert printed(capsys, "--version") == f"{zoo.__version__}\n"
