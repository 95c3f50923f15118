import json
from types import SimpleNamespace

import pytest

import zoo
from tools.bench import exports

pytestmark = pytest.mark.backend_free
TEXTS = ["a dog", "two men", "a cat"]


class Model:
    """Gives each text an answer and a score."""

    def __init__(self, answers, scores):
        self.answers = dict(zip(TEXTS, zip(answers, scores, strict=True), strict=True))

    def translate(self, texts, beam_size, batch_size=64, return_details=False):
        if isinstance(texts, str):
            return self.answers[texts][0]
        records = [
            SimpleNamespace(text=text, tokens=text.split(), score=score)
            for text, score in map(self.answers.get, texts)
        ]
        return records if return_details else [record.text for record in records]


EXPORTED = Model(["ein Hund", "zwei", "Katze"], [-1.0, -2.0, -3.0])
KERAS = Model(["ein Hund", "drei", "Katze"], [-1.5, -9.0, -3.25])


def test_only_equal_translations_have_their_scores_compared():
    found = exports.compare(EXPORTED, KERAS, TEXTS, 5)
    assert found == (["ein Hund", "zwei", "Katze"], 2, 0.5)


@pytest.mark.parametrize("form", ["onnx", "litert"])
def test_the_command_prints_a_line_for_each_beam(tmp_path, monkeypatch, capsys, form):
    (tmp_path / "source").write_text("\n".join(TEXTS))
    manifest = {"name": "tiny", "quantize": "int8", "task": "translate"}
    manifest |= {"format": f"zoo-{form}", "format_version": 1, "graphs": {}}
    manifest |= {"settings": {}, "files": {}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(zoo, "load", {"tiny": KERAS}.__getitem__, raising=False)
    monkeypatch.setattr(zoo.runtime, "load", lambda *_: EXPORTED, raising=False)
    arguments = [str(tmp_path), "--source", str(tmp_path / "source"), "--speed"]
    assert exports.main([*arguments, "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "tiny int8: 0.0 MB" in out
    for beam in (1, 5):
        assert f"beam {beam}: 2 of 3 equal, scores within 5.0e-01" in out
        text = (tmp_path / f"out/{form}.tiny.int8.beam{beam}").read_text()
        assert text.splitlines() == ["ein Hund", "zwei", "Katze"]
    assert out.count("sentences/s at 64") == 4
