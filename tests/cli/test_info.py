import json

import pytest

from tests.presets_for_tests import FACTS, make_preset
from zoo import presets
from zoo.cli import main

pytestmark = pytest.mark.backend_free


def test_info(tiny, capsys):
    assert main(["info", "tiny"]) == 0
    out = capsys.readouterr().out
    for part in (
        "Ada Lovelace",
        "12.35",
        "nrefs:1",
        "0123abc",
        "no weights",
        "apache-2.0",
    ):
        assert part in out
    assert main(["info", str(tiny), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == FACTS["seed"]
    assert main(["info", "tyni"]) == 2
    assert "unknown preset (did you mean tiny?)" in capsys.readouterr().err


def test_info_states_what_was_unknown(tmp_path, capsys):
    folder = tmp_path / "mine"
    data = [{"name": "my.en", "terms": "unknown"}]
    make_preset(folder, license="unknown", data=data)
    assert main(["info", str(folder)]) == 0
    assert "lacks the licence of the weights and the terms of the data" in (
        capsys.readouterr().err
    )
    assert main(["info", str(folder), "--license", "cc0-1.0", "--terms", "mine"]) == 0
    captured = capsys.readouterr()
    assert "lacks" not in captured.err and "- my.en: mine" in captured.out
    card = presets.verify(folder)
    assert card.license == "cc0-1.0" and card.data[0]["terms"] == "mine"
    assert 'license: "cc0-1.0"' in (folder / "README.md").read_text()
    for option in ("--license", "--terms"):
        assert main(["info", str(folder), option, "other"]) == 2
    assert presets.verify(folder) == card


def test_info_states_nothing_of_a_bundled_preset(tiny, capsys):
    before = (tiny / "card.json").read_bytes()
    assert main(["info", "tiny", "--license", "cc0-1.0"]) == 2
    assert "are for a folder, received tiny" in capsys.readouterr().err
    assert (tiny / "card.json").read_bytes() == before
