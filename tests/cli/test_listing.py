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
    assert row.split("  ")[0] == "tiny"
    assert "Lovelace & Turing 2015" in row and "1,234,567" in row
    assert (
        "kB  apache-2.0  BLEU 12.3 (multi30k test_2016_flickr)  3 s, a laptop  52 "
        in row
    )
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
    assert lines[0].split() == ["name", "paper", "task", "licence", "score"]
    assert any(line.startswith("tiny ") and "BLEU 12.3" in line for line in lines)
    assert "[/b]" in "".join(lines) and ":smile:" in "".join(lines)
    assert main(["list", "--wide"]) == 0
    assert "1,234,567" in capsys.readouterr().out


@pytest.fixture
def licensed(tiny):
    """Presets under several licences; `tiny` itself is under apache-2.0."""
    for licence in ("cc-by-4.0", "cc-by-nc-4.0", "cc-by-2.0", "unknown"):
        name = licence.replace(".", "_")
        make_preset(tiny.parent / name, name=name, license=licence)


@pytest.mark.usefixtures("licensed")
@pytest.mark.parametrize(
    "options, names",
    [
        (["--licence", "apache-2.0"], ["tiny"]),
        (["--license", "Apache-2.0"], ["tiny"]),
        (["--licence", "cc-by"], ["cc-by-2_0", "cc-by-4_0"]),
        (["--licence", "cc-by-nc"], ["cc-by-nc-4_0"]),
        (["--licence=cc-by-4.0", "--licence=apache"], ["cc-by-4_0", "tiny"]),
        (["--licence", "unknown"], ["unknown"]),
    ],
)
def test_list_by_licence(options, names, capsys):
    assert main(["list", *options]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == names
    assert main(["list", "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [card["name"] for card in found] == names


@pytest.mark.usefixtures("licensed")
@pytest.mark.parametrize("licence", ["mit", "cc", "cc-by-3.0", ""])
def test_a_licence_that_no_preset_has(licence, capsys):
    assert main(["list", "--licence", "cc-by", "--licence", licence]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == (
        f"zoo: error: there is no preset under the licence {licence!r}; there are "
        "those under apache-2.0, cc-by-2.0, cc-by-4.0, cc-by-nc-4.0, unknown\n"
    )
