import json

import pytest

from tests.presets_for_tests import FACTS, make_preset
from zoo import presets
from zoo.cli import main

pytestmark = pytest.mark.backend_free


def test_info(tiny, capsys):
    assert main(["info", "tiny"]) == 0
    out = capsys.readouterr().out
    for part in ("Ada Lovelace", "BLEU 12.35 on", "nrefs:1", "0123abc", "no weights"):
        assert part in out
    assert main(["info", str(tiny), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == FACTS["seed"]


def test_info_of_an_unknown_name(tiny, capsys):
    assert main(["info", "tyni"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("zoo: error: unknown preset (did you mean tiny?)")
    assert captured.err.count("\n") == 1


def test_info_states_what_was_unknown(tmp_path, capsys):
    folder = tmp_path / "mine"
    make_preset(
        folder,
        license="unknown",
        data=[{"name": "my.en", "terms": "unknown"}],
    )
    assert main(["info", str(folder)]) == 0
    assert "lacks the licence of the weights and the terms of the data" in (
        capsys.readouterr().err
    )
    assert main(["info", str(folder), "--license", "cc0-1.0", "--terms", "mine"]) == 0
    captured = capsys.readouterr()
    assert "lacks" not in captured.err and "my.en: mine" in captured.out
    card = presets.verify(folder)
    assert card.license == "cc0-1.0" and card.data[0]["terms"] == "mine"
    assert 'license: "cc0-1.0"' in (folder / "README.md").read_text()


def test_info_states_nothing_of_a_bundled_preset(tiny, capsys):
    before = (tiny / "card.json").read_bytes()
    assert main(["info", "tiny", "--license", "cc0-1.0"]) == 2
    assert "a model of your own" in capsys.readouterr().err
    assert (tiny / "card.json").read_bytes() == before
