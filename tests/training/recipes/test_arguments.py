"""A recipe's command line, before anything is read or trained."""

import json
import os

import pytest

from tests.training.own_files import recipe
from zoo.training.recipes.arguments import parse

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--valid", "a", "b"], "--valid needs --train"),
        (["--scale", "medium"], "others are for your own text"),
        (["--train", "a", "b", "--from", "x", "--scale", "tiny"], "sizes: no --scale"),
        (["--train", "a", "b", "c"], "received 3"),
        (["--train", "a.en", "b.de"], "a.en"),
        (["--train", "a.en", "b.de", "--set", "epoch=2"], "key is one of"),
    ],
)
def test_what_can_not_be_is_told_before_any_work(argv, message, tmp_path, capsys):
    output = tmp_path / "x"
    try:
        code = recipe("luong_dot").main([*argv, f"--output={output}"])
    except SystemExit as stop:
        code = stop.code
    assert code == 2 and message in capsys.readouterr().err
    assert not output.exists()


def test_without_an_output_the_folder_has_the_files_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = parse(recipe("luong_dot"), ["--train", "a/my.en", "a/my.de"])
    assert str(arguments.output) == os.path.join("runs", "luong_dot-my")
    assert arguments.train == [[str(tmp_path / "a" / f"my.{x}") for x in ("en", "de")]]


def test_a_resumed_run_has_defaults_where_its_file_has_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    name = {"recipe": {"name": "luong_dot"}, "backend": "torch", "set": ["epochs=2"]}
    arguments = {"scale": "small", "seed": None, "train": None}
    text = json.dumps({**name, "arguments": arguments})
    (tmp_path / "config.json").write_text(text)
    found = parse(recipe("luong_dot"), ["--resume", str(tmp_path), "--epochs=3"])
    assert (found.scale, found.seed, found.changes) == ("small", 1, ["epochs=3"])
