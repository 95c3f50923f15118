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

    def translate(self, texts, beam_size, return_details):
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
    assert exports.main([folder, *source]) == 0
    rows = capsys.readouterr().out.splitlines()[-2:]
    assert rows == [
        f"| tiny int8 | 0.0 | {beam} | 2 of 3 | 5.0e-01 |  |  |" for beam in (1, 5)
    ]


def test_the_inputs_are_the_test_set_of_the_preset(monkeypatch):
    pairs = SimpleNamespace(sources=TEXTS, references=[["x"], ["y"], ["z"]])
    asked = []
    monkeypatch.setattr(
        exports, "load_corpus", lambda *a, **b: asked.append((a, b)) or pairs
    )
    assert exports.preset_inputs("luong_local", 2) == (TEXTS[:2], [["x"], ["y"]])
    assert exports.preset_inputs("dates", 3) == (TEXTS, None)
    assert asked == [
        (("multi30k", "en", "de"), {"split": "test_2016_flickr"}),
        (("dates", "mul", "zxx"), {"split": "test"}),
    ]
    pytest.importorskip("matplotlib", reason="formulas are rendered by matplotlib")
    shapes = {
        "show_attend_tell": (80, 80, 3),
        "show_attend_tell_formulas": (48, 160, 3),
    }
    for name, shape in shapes.items():
        images, references = exports.preset_inputs(name, 2)
        assert [image.shape for image in images] == [shape] * 2
        assert references is None


# === Speed ===
class Letters:
    """A tokenizer of letters, from id 4 on."""

    def vocabulary_size(self):
        return 4 + 26

    def id_to_token(self, place):
        return chr(ord("a") + place - 4)

    def tokenize(self, texts):
        return [[ord(x) - ord("a") + 4 for x in text if x != " "] for text in texts]


class FakeBench:
    """Seconds of each system, by the batch; what it was asked is noted."""

    seconds = {"Keras, jax": [4.0, 2.0, 3.0], "ONNX, int8": [1.0, 1.0, 1.0]}
    seconds["opennmt-py"] = [6.0, 6.0, 6.0]

    def __init__(self, work, cores):
        self.work, self.asked = work, []
        FakeBench.last = self

    def print_machine(self):
        pass

    print_load = lambda self, when: None  # noqa: E731

    def measure(self, name, command, environment, log):
        self.asked.append((name, command(), environment))
        single = "--batch=1" in command()
        if name == "ONNX, float32":
            return None, "it failed"
        found = {"load": 0.5, "first": 2.5, "peak_memory": 512.0}
        found |= {"sentences": 2 if single else 1000, "versions": {"keras": "3"}}
        return {**found, "seconds": [0.25] if single else self.seconds[name]}, {}


def test_speeds_are_of_the_preset_its_exports_and_its_peer(
    tmp_path, source, monkeypatch, capsys
):
    folders = [
        write_export(tmp_path / str(kind), name="luong_local", quantize=kind)
        for kind in ("int8", None)
    ]
    model = SimpleNamespace(preprocessor=SimpleNamespace(tokenizer=Letters()))
    monkeypatch.setattr(zoo.serving.runtime, "load", lambda *_: model, raising=False)
    monkeypatch.setattr(exports, "Bench", FakeBench)
    monkeypatch.setattr(exports.peers, "install", lambda *_: None)
    sizes = []

    def peer_jobs(name, bench, data, **changes):
        sizes.append(changes)
        yield exports.decode.Job(name, "luong", ["peer"])

    monkeypatch.setattr(exports.decode, "peer_jobs", peer_jobs)
    options = ["--work", str(tmp_path / "work"), "--backends", "jax", "--beams", "5"]
    # An export fails: the others are printed.
    assert exports.main([*folders, *source, *options, "--few", "2"]) == 1
    [found] = sizes
    assert (found.pop("bucket_size"), found.pop("num_workers")) == (1024, 0)
    assert found == {"layers": 2, "hidden_size": 256, "word_vec_size": 256}
    data = tmp_path / "work/data-luong_local"
    for side in ("source", "target"):
        lines = (data / f"test.{side}").read_text().splitlines()
        assert lines == ["a d o g", "t w o m e n", "a c a t"]
        assert (data / f"few.{side}").read_text().splitlines() == lines[:2]
        assert len((data / f"vocabulary.{side}").read_text().split()) == 26
    name, command, environment = FakeBench.last.asked[0]
    assert (name, environment) == ("Keras, jax", {"KERAS_BACKEND": "jax"})
    assert "luong_local" in command and f"--source={data}/test.source" in command
    assert {"--beam=5", "--length=15", "--runs=3", "--batch=64"} < set(command)
    _, command, _ = FakeBench.last.asked[1]
    assert {f"--source={data}/few.source", "--batch=1", "--runs=1"} < set(command)
    printed = capsys.readouterr().out
    assert "luong_local, beam 5" in printed
    rows = [row for row in printed.splitlines() if row.startswith("| ")][2:]
    assert rows == [
        "| ONNX, int8 | 1000 | 1000 – 1000 | 125.0 | 0.5 | 2.5 | 512 |",
        "| Keras, jax | 333 | 250 – 500 | 125.0 | 0.5 | 2.5 | 512 |",
        "| opennmt-py | 167 | 167 – 167 | 125.0 | 0.5 | 2.5 | 512 |",
    ]


def test_there_is_no_peer_beside_other_models(tmp_path):
    for chosen, name in (([], "luong_local"), (["opennmt-py"], "bahdanau")):
        assert exports.peer_jobs(name, chosen, None, tmp_path) == []
