import json

import pytest

from tests.presets_for_tests import FACTS
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
