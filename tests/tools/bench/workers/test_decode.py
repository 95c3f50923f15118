import json

import pytest

from tools.bench.workers import decode

pytestmark = pytest.mark.once


@pytest.fixture
def data(tmp_path):
    """Vocabularies and lines to translate, of two lengths."""
    for side in ("source", "target"):
        words = "\n".join(f"{side}{place}" for place in range(9))
        (tmp_path / f"vocabulary.{side}").write_text(words + "\n", "utf-8")
    lines = ["source1 source2", "source3 unseen source4 source5"] * 3
    (tmp_path / "test.source").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("model", ["luong", "transformer"])
def test_zoo_writes_as_many_words_as_are_wanted(data, capsys, model):
    arguments = ["--data", str(data), "--source", str(data / "test.source")]
    arguments += ["--model", model, "--beam", "2", "--length", "3", "--runs", "2"]
    decode.main(arguments)
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(found["seconds"]) == 2
    assert (found["sentences"], found["tokens"]) == (6, 18)
