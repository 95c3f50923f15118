"""Listing, showing, uploading and drawing presets."""

import json

import numpy as np
import pytest

from tests.presets_for_tests import make_preset
from tests.test_import import python
from zoo import analysis, presets
from zoo.cli import main
from zoo.decoding import Translation
from zoo.presets import registry

pytestmark = pytest.mark.once


def test_list(tiny, capsys):
    assert main(["list"]) == 0
    header, row, *absent = capsys.readouterr().out.splitlines()
    assert absent[-1].endswith("(pip install attention-zoo-presets-free)")
    assert header.split() == "name paper task size licence score".split()
    assert "Lovelace & Turing 2015" in row and row.endswith("BLEU 12.3")


def test_info(tiny, capsys):
    assert main(["info", "tiny"]) == 0
    out = capsys.readouterr().out
    for part in ("Ada Lovelace", "12.35", "nrefs:1", "0123abc", "no weights"):
        assert part in out
    assert main(["info", "tyni"]) == 2
    assert "unknown preset" in capsys.readouterr().err


def test_a_terminal_gets_no_control_characters_of_a_card(tiny, capsys):
    path = tiny / "card.json"
    card = {**json.loads(path.read_text()), "license": "\x1b[2Jcc0\x9b1m\ud800"}
    path.write_text(json.dumps(card))
    for words in ("list", "info tiny", "info \x1b"):
        main(words.split())
        captured = capsys.readouterr()
        assert not set("\x1b\x9b\ud800") & set(captured.out + captured.err)


def test_info_states_what_was_unknown(tmp_path, capsys):
    folder = tmp_path / "mine"
    data = [{"name": "my.en", "terms": "unknown"}]
    make_preset(folder, license="unknown", data=data)
    assert main(["upload", str(folder), "hf://ada/mine"]) == 2
    assert "lacks the licence of the weights and the terms of the data" in (
        capsys.readouterr().err
    )
    assert main(["info", str(folder), "--license", "cc0-1.0", "--terms", "mine"]) == 0
    captured = capsys.readouterr()
    assert "lacks" not in captured.err and "- my.en: mine" in captured.out
    card = presets.verify(folder)
    assert card.license == "cc0-1.0" and card.data[0]["terms"] == "mine"
    for option in ("--license", "--terms"):
        assert main(["info", str(folder), option, "other"]) == 2
    assert presets.verify(folder) == card


def test_upload(tiny, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(presets, "upload", lambda *given: calls.append(given) or "url")
    assert main(["upload", "tiny", "hf://ada/tiny", "--private"]) == 0
    assert calls == [(tiny, "hf://ada/tiny", True)]
    assert capsys.readouterr().out == "url\n"
    (tiny / "task.json").write_text("{}")
    assert main(["upload", "tiny", "hf://ada/tiny"]) == 1
    assert "task.json in " in capsys.readouterr().err and len(calls) == 1


# === Pictures ===


class FakeTask:
    """Translates word by word, in upper case."""

    def translate(self, texts, return_details, **options):
        assert return_details
        return [record(text) for text in texts]


def record(text):
    source = [f"▁{word}" for word in text.split()]
    target = [word.upper() for word in source]
    return Translation(text, 0.0, target, source, np.eye(len(source)))


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    pytest.importorskip("matplotlib")  # an extra
    figures, real = [], analysis.save
    monkeypatch.setattr(analysis, "save", lambda f, p: figures.append(f) or real(f, p))
    return figures


def rows(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_presets_side_by_side_and_a_row_for_each_sentence(
    drawn, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(registry, "load", lambda name: FakeTask())
    for name in "ab":
        make_preset(tmp_path / name, name=name)
    out = str(tmp_path / "dog.png")
    names = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    command = ["plot", names, "A dog runs", "--beam", "2", "--output", out, "one\ncat"]
    assert main(command) == 0
    assert [(axes.get_title(loc="left"), rows(axes)) for axes in drawn[0].axes] == [
        ("a", ["A", "DOG", "RUNS"]),
        ("b", ["A", "DOG", "RUNS"]),
        ("a", ["ONE", "CAT"]),
        ("b", ["ONE", "CAT"]),
    ]
    assert capsys.readouterr().out == f"{out}\n"


def test_training_curves(drawn, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("epoch,loss\n0,3\n1,2\n")
    logs = ["--log", str(tmp_path / "one"), str(tmp_path / "two")]
    assert main(["plot", *logs, "--output", str(tmp_path / "curves.svg")]) == 0
    lines = drawn[0].axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["one", "two"]
    assert "<svg" in (tmp_path / "curves.svg").read_text()


OUT = ["--output", "a.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["luong_local", "x", "--output", "a.pdf"], ".png or .svg, received"),
        (["luong_local", "x", "--output", "no/x.png"], "cannot write no/x.png"),
        (["luong_local", "x"], "required: --output"),
        (["luong_local", *OUT], "give PRESET and TEXT, or --json"),
        (OUT, "give PRESET and TEXT, or --json"),
        (["--json", "log.csv", "--log", "y", *OUT], "or --json, or --log"),
        (["--json", "none", *OUT], "cannot read none"),
        (["--json", "log.csv", *OUT], "log.csv: A translation's record must be"),
        (["birnn", "x", *OUT], "birnn cannot translate"),
    ],
)
def test_bad_input_is_found_before_anything_is_loaded(
    monkeypatch, tmp_path, capsys, arguments, message
):
    monkeypatch.setattr(registry, "load", lambda _: pytest.fail("loaded"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("epoch,loss\n")
    assert main(["plot", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1
    assert not list(tmp_path.glob("*.p*"))


@pytest.mark.parametrize("option", ["--log", "--json"])
def test_curves_and_records_need_no_keras(option, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "log.csv").write_text("epoch,loss\n0,3\n")
    (tmp_path / "dog.json").write_text(record("a dog").to_json())
    given = str(tmp_path / "dog.json" if option == "--json" else tmp_path)
    command = ["plot", option, given, "--output", str(tmp_path / "a.png")]
    code = f"import sys; from zoo.cli import main; assert main({command}) == 0; "
    out = python(f"{code} print(*sys.modules)").split()
    assert "matplotlib" in out and not {"keras", "matplotlib.pyplot"} & set(out)
