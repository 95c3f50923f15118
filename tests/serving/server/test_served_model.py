import subprocess
import sys
import types

import numpy as np
import pytest

from tests.serving.conftest import needs_tensorflow
from tests.serving.writers import check_writer
from zoo.serving import runtime
from zoo.serving.protocol import ServingError
from zoo.serving.server.served_model import ServedModel, run_together, stack

TEXTS = ["A dog runs.", "qwxz 日本 dog", "Two men sit at a table.", ""]
GIVEN = ["a brown dog", "", "er rennt."]


# === Requests that run together ===
@pytest.mark.backend_free
def test_rows_are_stacked():
    dimensions = {"score": "B", "tokens": "BT", "alignment": "BTS"}
    numbers = stack([1, 2.5], "score", dimensions)
    assert numbers.dtype == np.float32 and numbers.tolist() == [1, 2.5]
    words = stack([["a"], [], ["b", "c"]], "tokens", dimensions).tolist()
    assert words == [["a", ""], ["", ""], ["b", "c"]]
    rows = [np.ones((1, 3)), np.ones((2, 0)), np.ones((0, 2))]
    found = stack(rows, "alignment", dimensions)
    assert found.shape == (3, 2, 3) and found.sum(axis=(1, 2)).tolist() == [3, 0, 0]
    for rank, name in enumerate(dimensions, 1):
        assert stack([], name, dimensions).shape == (0,) * rank


@pytest.mark.backend_free
def test_requests_of_a_signature_run_together(model):
    rows = ["a"], ["b", "c"], [], ["d"]
    requests = [model.request("translate", {"text": texts}) for texts in rows]
    requests.append(model.request("score", {"source": ["a"], "target": ["b"]}))
    *found, score = run_together(requests)
    texts = [outputs["translation"].tolist() for outputs in found]
    assert texts == [["A"], ["B", "C"], [], ["D"]]
    assert score["log_probability"].tolist() == [-2] and model.batches == [4, 1]


@pytest.mark.backend_free
def test_one_request_does_not_spoil_another(model):
    rows = ["a"], ["b", "bad"], ["c"]
    requests = [model.request("", {"text": texts}) for texts in rows]
    first, bad, last = run_together(requests)
    assert (first["translation"], last["translation"]) == (["A"], ["C"])
    assert bad.code == "INTERNAL"
    with pytest.raises(ServingError, match="equally many rows"):
        model.request("score", {"source": ["a"], "target": []})


# === Exports ===
@pytest.mark.backend_free
def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(ValueError, match=r"manifest.json in it"):
        ServedModel("made", tmp_path)


@pytest.mark.backend_free
def test_the_servers_parts_import_no_keras():
    parts = "predict", "served_model", "ray_serve"
    code = "import sys, " + ", ".join(f"zoo.serving.server.{part}" for part in parts)
    code += "\nprint({'keras', 'tensorflow', 'jax', 'torch', 'ray'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"set()\n"


@pytest.fixture(scope="module")
def onnx(exported):
    return ServedModel("made", exported)


def answer(model, signature, *values):
    names = model.signature(signature).inputs
    request = model.request(signature, dict(zip(names, values, strict=True)))
    [found] = run_together([request])
    if isinstance(found, ServingError):
        raise found
    return found


def check_nothing(model):
    """Of no rows each signature gives none."""
    for name, spec in model.signatures.items():
        for output, array in answer(model, name, *([[]] * len(spec.inputs))).items():
            assert array.shape == (0,) * len(spec.outputs[output])


TOLERANCES = {"atol": 1e-3}, {"atol": 1e-4}, {"atol": 1e-3}


def test_onnx_answers_as_keras(export, onnx):
    task, _ = export("luong_local")
    ask = lambda name, *values: answer(onnx, name, *values)  # noqa: E731
    check_writer(task, ask, TEXTS, TEXTS, ["Ein Hund rennt.", ""], 5, 5, TOLERANCES)
    with pytest.raises(ServingError, match="must not be blank"):
        ask("score", ["a", ""], ["b", "c"])
    check_nothing(onnx)
    with pytest.warns(UserWarning, match="were cut"):
        assert ask("greedy", ["a dog " * 1000])["translation"][0]


@needs_tensorflow
def test_a_tagger_answers_as_its_graph(graphs):
    folder = graphs("tagger")
    found = answer(ServedModel("made", folder), "tag", GIVEN)
    rows = zip(found["words"], found["tags"], strict=True)
    tagged = [[x for x in zip(*row, strict=True) if x[0]] for row in rows]
    assert tagged == runtime.load(folder).tag(GIVEN)


def test_a_classifier_answers_with_probabilities(tmp_path, monkeypatch):
    (tmp_path / "1").mkdir()
    record = types.SimpleNamespace(label="b", probabilities={"a": 0.25, "b": 0.75})
    model = types.SimpleNamespace(
        task_name="classify", classify=lambda texts, return_details: [record] * 2
    )
    monkeypatch.setattr("zoo.serving.runtime.onnx.load", lambda *_, workers: model)
    found = answer(ServedModel("made", tmp_path), "", ["x", "y"])
    assert found["class"].tolist() == ["b", "b"]
    assert found["probabilities"].tolist() == [[0.25, 0.75]] * 2
