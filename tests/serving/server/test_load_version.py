import asyncio
import base64
import functools
import json
import subprocess
import sys
import types

import numpy as np
import pytest

from tests.serving.conftest import (
    IMAGES,
    MAKERS,
    needs_tensorflow,
)
from tests.serving.server.conftest import run
from tests.serving.writers import check_writer
from tests.test_images import header
from zoo.analysis.caption_scores import draw_tests
from zoo.images import encode_images
from zoo.serving import runtime
from zoo.serving.protocol import make_tensor, takes_bytes
from zoo.serving.server.load_version import load_version
from zoo.serving.server.model_versions import ServedModel
from zoo.serving.server.rest import answer_rest
from zoo.serving.server.signatures import Refusal, stack

TEXTS = ["A dog runs.", "qwxz 日本 dog", "Two men sit at a table.", ""]
GIVEN = ["a brown dog", "", "er rennt."]


@pytest.mark.backend_free
def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(ValueError, match=r"manifest.json or saved_model.pb in it"):
        load_version(tmp_path)


@pytest.mark.backend_free
def test_the_servers_parts_import_no_keras():
    parts = "rest", "ray_proxy", "ray_serve"
    code = "import sys, " + ", ".join(f"zoo.serving.server.{part}" for part in parts)
    code += "\nprint({'keras', 'tensorflow', 'jax', 'torch', 'ray'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"set()\n"


@pytest.fixture(scope="module")
def onnx(exported):
    return load_version(exported / "1")


def arrays(signature, *texts):
    inputs = dict(zip(signature.inputs, texts, strict=True))
    rows = signature.run(inputs)
    assert set(rows) == set(signature.outputs)
    return {name: stack(rows[name], *like) for name, like in signature.outputs.items()}


TOLERANCES = {"atol": 1e-3}, {"atol": 1e-4}, {"atol": 1e-3}


def test_onnx_answers_as_keras(export, onnx):
    task, _ = export("luong_local")
    ask = lambda name, *values: arrays(onnx[name], *values)  # noqa: E731
    check_writer(task, ask, TEXTS, TEXTS, ["Ein Hund rennt.", ""], 5, 5, TOLERANCES)
    assert onnx["serving_default"] is onnx["translate"]
    with pytest.raises(Refusal, match="must not be blank"):
        arrays(onnx["score"], ["a", ""], ["b", "c"])


def test_onnx_takes_no_texts_and_cuts_long_ones(onnx):
    for signature in onnx.values():
        none = [[] for _ in signature.inputs]
        for name, (_, rank) in signature.outputs.items():
            assert arrays(signature, *none)[name].shape == (0,) * rank
    with pytest.warns(UserWarning, match="were cut"):
        found = arrays(onnx["greedy"], ["a dog " * 1000])
    assert found["translation"][0]


def test_onnx_captions_as_keras(export):
    pytest.importorskip("PIL", reason="image files need Pillow")
    task, folder = export("show_attend_tell")
    onnx, images = load_version(folder / "1"), draw_tests("scenes", range(4))
    contents, _ = encode_images(images)
    ask = lambda name, *values: arrays(onnx[name], *values)  # noqa: E731
    captions = ["a red ring", "a star"]
    check_writer(task, ask, contents, images, captions, 5, 5, TOLERANCES)
    assert onnx["serving_default"] is onnx["caption"]
    for signature in onnx.values():
        none = [[] for _ in signature.inputs]
        for name, (_, rank) in signature.outputs.items():
            assert arrays(signature, *none)[name].shape == (0,) * rank
    for wrong, message in (
        ([contents[0], contents[1][:99]], r"image_bytes\[1\]: .*damaged"),
        ([header(6000, 5001)], r"image_bytes\[0\]: .*at most 30,000,000 pixels"),
        ([header(5000, 3000)] * 3, "images of a request.*received 45,000,000"),
    ):
        with pytest.raises(Refusal, match=message) as refused:
            arrays(onnx["greedy"], wrong)
        assert refused.value.code == "INVALID_ARGUMENT"


@needs_tensorflow
@pytest.mark.parametrize("over_grpc", [False, True])
def test_a_captioner_answers_over_both_protocols(tasks, graphs, over_grpc):
    pytest.importorskip("PIL", reason="image files need Pillow")
    pytest.importorskip("tensorflow_serving", reason="PredictionService's messages")
    from tensorflow_serving.apis import predict_pb2

    from zoo.serving.server.prediction import answer_grpc

    model = ServedModel("made", graphs("captioner"), run)
    model.refresh()

    def ask(*images):
        if over_grpc:
            request = predict_pb2.PredictRequest()
            request.model_spec.name = "made"
            request.inputs["image_bytes"].CopyFrom(make_tensor(list(images)))
            data = request.SerializeToString()
            found = asyncio.run(answer_grpc({"made": model}, "Predict", data)).outputs
            return list(found["caption"].string_val), list(found["score"].float_val)
        encoded = [{"b64": base64.b64encode(image).decode()} for image in images]
        body = json.dumps({"inputs": encoded}).encode()
        path = "/v1/models/made:predict"
        status, answer = asyncio.run(answer_rest({"made": model}, "POST", path, body))
        if status != 200:
            raise Refusal("INVALID_ARGUMENT" if status == 400 else "", answer["error"])
        found = answer["outputs"]
        return [text.encode() for text in found["caption"]], found["score"]

    wanted = tasks["captioner"].caption(IMAGES[:3], return_details=True)
    captions, scores = ask(*encode_images(IMAGES[:3])[0])
    assert captions == [record.text.encode() for record in wanted]
    np.testing.assert_allclose(scores, [record.score for record in wanted], atol=1e-4)
    assert ask() == ([], [])
    with pytest.raises(Refusal, match=r"image_bytes\[0\]: .*damaged") as refused:
        ask(b"no image")
    assert refused.value.code == "INVALID_ARGUMENT"


@pytest.fixture(scope="module")
def loaded(saved):
    return functools.cache(lambda name: load_version(saved / name / "1"))


@needs_tensorflow
@pytest.mark.parametrize("name", MAKERS)
def test_a_saved_model_answers_as_its_function(saved, loaded, name):
    import tensorflow as tf

    signatures = loaded(name)
    functions = tf.saved_model.load(str(saved / name / "1")).signatures
    assert set(signatures) == set(functions)
    for key, signature in signatures.items():
        texts = [
            encode_images(IMAGES[:3])[0] if takes_bytes(name) else GIVEN
            for name in signature.inputs
        ]
        inputs = dict(zip(signature.inputs, map(tf.constant, texts), strict=True))
        for output, tensor in functions[key](**inputs).items():
            found = arrays(signature, *texts)[output]
            wanted = tensor.numpy()
            assert found.shape == wanted.shape
            if found.dtype == object:
                wanted = np.char.decode(wanted.astype(bytes), "utf-8").astype(object)
                assert found.tolist() == wanted.tolist()
            else:
                np.testing.assert_allclose(found, wanted, atol=1e-5)


@needs_tensorflow
def test_what_a_saved_model_refuses_is_the_requests_fault(loaded):
    score = loaded("translator")["score"]
    with pytest.raises(Refusal, match="a target for each source") as refused:
        score.run({"source": ["a"], "target": ["b", "c"]})
    assert refused.value.code == "INVALID_ARGUMENT"


@needs_tensorflow
def test_models_of_words_answer_as_their_graphs(graphs):
    folder = graphs("tagger") / "1"
    tagged = runtime.load(folder).tag(GIVEN)
    found = arrays(load_version(folder)["tag"], GIVEN)
    rows = zip(found["words"], found["tags"], strict=True)
    assert [[x for x in zip(*row, strict=True) if x[0]] for row in rows] == tagged
    folder = graphs("language_model") / "1"
    model, signatures = runtime.load(folder), load_version(folder)
    found = arrays(signatures["generate"], GIVEN)["text"]
    assert found.tolist() == model.generate(GIVEN)
    found = arrays(signatures["score"], GIVEN)["log_probability"]
    np.testing.assert_allclose(found, model.score(GIVEN), atol=1e-4)
    long, cut = arrays(signatures["score"], ["a " * 600, "a " * 512])["log_probability"]
    assert long == pytest.approx(cut)
    found = arrays(load_version(graphs("tagger") / "1")["tag"], ["a " * 600, "a"])
    assert found["tags"].shape == (2, 512) and found["tags"][0, 511]


def test_a_classifier_answers_with_probabilities(tmp_path, monkeypatch):
    (tmp_path / "manifest.json").write_text("{}")
    record = types.SimpleNamespace(label="b", probabilities={"a": 0.25, "b": 0.75})
    model = types.SimpleNamespace(
        task_name="classify", classify=lambda texts, return_details: [record] * 2
    )
    monkeypatch.setattr("zoo.serving.runtime.onnx.load", lambda *_, workers: model)
    found = arrays(load_version(tmp_path)["serving_default"], ["x", "y"])
    assert found["class"].tolist() == ["b", "b"]
    assert found["probabilities"].tolist() == [[0.25, 0.75]] * 2
