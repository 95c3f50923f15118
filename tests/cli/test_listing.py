import json

import pytest

from tests.presets_for_tests import make_preset
from zoo.cli import main

pytestmark = pytest.mark.backend_free


def test_list(tiny, capsys):
    assert main(["list"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    heads = ["name", "paper", "task", "parameters", "size", "licence", "scores"]
    assert header.split() == [*heads, "training", "CPU", "speed"]
    assert "Lovelace & Turing 2015" in row and "BLEU 12.3 (multi30k test_2016" in row
    assert row.endswith("52 sentences/s") and header == header.rstrip()
    assert row.index("1,234,567") == header.index("parameters")
    assert main(["list", "--json"]) == 0
    (card,) = json.loads(capsys.readouterr().out)
    assert card == json.loads((tiny / "card.json").read_text())


def test_list_fits_the_terminal(tiny, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    environment = {"COLUMNS": "60", "LINES": "30", "NO_COLOR": "1", "TERM": "dumb"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    make_preset(tiny.parent / "odd", name="odd", languages=["[/b] :smile:"])
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].split() == ["name", "paper", "task", "licence", "score"]
    assert any(line.startswith("tiny ") and "BLEU 12.3" in line for line in lines)
    assert "[/b]" in "".join(lines) and ":smile:" in "".join(lines)
    assert main(["list", "--wide"]) == 0
    assert "1,234,567" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, names",
    [
        (["--license", "Apache-2.0"], ["tiny"]),
        (["--licence", "cc-by"], ["cc-by-2_0", "cc-by-4_0"]),
        (["--licence", "cc-by-nc"], ["cc-by-nc-4_0"]),
        (["--licence=cc-by-4.0", "--licence=apache"], ["cc-by-4_0", "tiny"]),
        (["--licence", "unknown"], ["unknown"]),
        (["--licence", "cc"], None),
        (["--licence", "cc-by-3.0"], None),
    ],
)
def test_list_by_licence(options, names, tiny, capsys):
    for licence in ("cc-by-4.0", "cc-by-nc-4.0", "cc-by-2.0", "unknown"):
        name = licence.replace(".", "_")
        make_preset(tiny.parent / name, name=name, license=licence)
    assert main(["list", "--json", *options]) == (0 if names else 2)
    captured = capsys.readouterr()
    if names:
        assert [card["name"] for card in json.loads(captured.out)] == names
    else:
        assert "under apache-2.0, cc-by-2.0, cc-by-4.0, cc-by-nc-4.0" in captured.err
