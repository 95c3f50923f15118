import json

import pytest

from tests.presets_for_tests import make_preset
from zoo.cli import main

pytestmark = pytest.mark.backend_free


def test_list(tiny, capsys):
    assert main(["list"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    heads = ["name", "paper", "task", "parameters", "size", "scores", "training"]
    assert header.split() == [*heads, "CPU", "speed"]
    assert row.split("  ")[0] == "tiny"
    assert "Lovelace & Turing 2015" in row and "1,234,567" in row
    assert "BLEU 12.3 (multi30k test_2016_flickr)  3 s, a laptop  52 " in row
    assert row.endswith("52 sentences/s") and header == header.rstrip()
    assert row.index("1,234,567") == header.index("parameters")


def test_list_json(tiny, capsys):
    assert main(["list", "--json"]) == 0
    (card,) = json.loads(capsys.readouterr().out)
    assert card == json.loads((tiny / "card.json").read_text())


def test_list_fits_the_terminal(tiny, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    make_preset(tiny.parent / "odd", name="odd", languages=["[/b] :smile:"])
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].split() == ["name", "paper", "task", "score"]
    assert any(line.startswith("tiny ") and "BLEU 12.3" in line for line in lines)
    assert "[/b]" in "".join(lines) and ":smile:" in "".join(lines)
    assert main(["list", "--wide"]) == 0
    assert "1,234,567" in capsys.readouterr().out
