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

    task_name = "translate"

    def translate(self, texts, beam_size, return_details=False):
        texts = [texts] if isinstance(texts, str) else texts
        records = [
            SimpleNamespace(text=text, tokens=text.split(), score=score)
            for text, score in map(self.answers.get, texts)
        ]
        return records


EXPORTED = Model(["ein Hund", "zwei", "Katze"], [-1.0, -2.0, -3.0])
KERAS = Model(["ein Hund", "drei", "Katze"], [-1.5, -9.0, -3.25])


def test_only_equal_translations_have_their_scores_compared():
    records, wanted = (exports.best(x, TEXTS, 5) for x in (EXPORTED, KERAS))
    assert exports.compare(records, wanted) == (2, 0.5)


def write_export(folder, **described):
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"name": "tiny", "quantize": "int8", "task": "translate"}
    manifest |= {"format": "zoo-onnx", "format_version": 1, "graphs": {}}
    manifest |= {"settings": {}, "files": {}, **described}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return str(folder)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source").write_text("\n".join(TEXTS))
    return ["--source", str(tmp_path / "source")]


def test_a_row_for_each_beam(tmp_path, source, monkeypatch, capsys):
    folder = write_export(tmp_path)
    monkeypatch.setattr(zoo, "load", {"tiny": KERAS}.__getitem__, raising=False)
    monkeypatch.setattr(zoo.serving.runtime, "load", lambda *_: EXPORTED, raising=False)
    for name in ("tune_process", "start_backend"):
        monkeypatch.setattr(exports, name, lambda: None)
    exports.main([folder, *source])
    rows = capsys.readouterr().out.splitlines()[-4:]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    exported, scores = "tiny, onnx int8", [["3 of 3", "0.0e+00"]] * 2
    scores += [["2 of 3", "5.0e-01"]] * 2
    assert [[c[0], c[2]] for c in cells] == [
        [name, beam] for name in ("tiny", exported) for beam in ("1", "5")
    ]
    assert [c[3:5] for c in cells] == scores
    assert all(float(c[5]) > 0 and c[7] == "" for c in cells)


def test_translators_get_the_test_set_of_their_first_score(monkeypatch):
    pairs = SimpleNamespace(sources=TEXTS, references=[["x"], ["y"], ["z"]])
    asked = []
    monkeypatch.setattr(zoo.data, "load", lambda *a, **b: asked.append((a, b)) or pairs)
    assert exports.inputs_of("luong_local", 2) == (TEXTS[:2], [["x"], ["y"]])
    assert exports.inputs_of("dates", 3) == (TEXTS, None)
    assert asked == [
        (("multi30k", "en", "de"), {"split": "test_2016_flickr"}),
        (("dates", "mul", "zxx"), {"split": "test"}),
    ]
