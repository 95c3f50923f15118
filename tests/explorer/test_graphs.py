"""The explorer's ONNX graphs: steps are `what_if.step`, weights lose nothing."""

import json

import numpy as np
import pytest
from keras import tree

from tests.harness import randomize, to_numpy
from tests.marks import long
from tests.serving.conftest import make_translator, needs_onnx, needs_tensorflow
from zoo.explorer import what_if
from zoo.explorer.graphs import store_halves, write_model
from zoo.models import Transformer, TransformerPreprocessor, TransformerTranslator
from zoo.serving.export.manifest import read_version
from zoo.serving.runtime.onnx import OnnxGraph

SOURCE = np.array([[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]], "int32")
TOKENS = np.array([5, 4, 9], "int32")


def make_transformer():
    tokenizer = make_translator().preprocessor.tokenizer
    sizes = {"num_layers": 2, "hidden_dim": 8, "ff_dim": 12, "num_heads": 2}
    backbone = randomize(Transformer(30, **sizes), seed=3)
    return TransformerTranslator(backbone, TransformerPreprocessor(tokenizer, 24, 20))


@pytest.fixture(scope="module", params=[make_translator, make_transformer])
def written(request, tmp_path_factory):
    needs_onnx()
    task, folder = request.param(), tmp_path_factory.mktemp("graphs")
    for variable in task.backbone.weights:  # half of them in float16, as in a preset
        if "embedding" in variable.path:
            variable.assign(to_numpy(variable).astype("float16").astype("float32"))
    write_model(task, folder)
    return task, folder


@needs_tensorflow
@pytest.mark.parametrize(
    ("given", "window"),
    [(None, 0), ({3: 0.75, 1: 0.25}, 4), *(long(None, 4), long({3: 0.75, 1: 0.25}, 0))],
)
def test_a_step_is_that_of_python(written, given, window):
    task, folder = written
    manifest, files = read_version(folder)
    graphs = {name: OnnxGraph(files[f"{name}.onnx"], 1) for name in manifest["graphs"]}
    heads = what_if.heads_of(task.backbone)
    attention = np.zeros((1, *heads, SOURCE.shape[1]), "float32")
    for place, weight in (given or {}).items():
        attention[0, ..., place] = weight
    if heads:
        attention[0, 1, 0] = 0  # that head has its own
    memory = graphs["encode"]({"source_ids": SOURCE})
    state = graphs["start"]({"length": np.array(5, "int32"), **memory})
    state = {name: values.repeat(3, axis=0) for name, values in state.items()}
    backbone = task.backbone
    own_memory = backbone.encode(SOURCE)
    own = backbone.start_for(own_memory, 5)
    own = tree.map_structure(lambda x: to_numpy(x).repeat(3, axis=0), own)
    for _ in range(2):
        outputs = graphs["step"](
            {
                "token_ids": TOKENS,
                "attention": attention,
                "window": np.array(window, "int32"),
                **memory,
                **state,
            }
        )
        state = {name: outputs[f"new_{name}"] for name in state}
        logits, own, weights, details = what_if.step(
            backbone, TOKENS, own, own_memory, attention, window or None
        )
        wanted = {"logits": logits, "weights": weights, **details}
        for name, values in wanted.items():
            np.testing.assert_allclose(outputs[name], values, atol=2e-5)
        assert len(outputs) == len(wanted) + len(state)


@needs_tensorflow
def test_float16_loses_nothing(written):
    import onnx
    from onnx import numpy_helper

    task, folder = written
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["dtype"] == "float32"  # these are too small
    path = folder / "copy.onnx"
    values = np.linspace(-2, 2, 4096, dtype="float16").astype("float32").reshape(64, 64)
    others = values + np.float32(1e-6)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["half", "whole"], ["sum"])],
        "sum",
        [],
        [onnx.helper.make_tensor_value_info("sum", 1, [64, 64])],
        [
            numpy_helper.from_array(values, "half"),
            numpy_helper.from_array(others, "whole"),
        ],
    )
    opset = [onnx.helper.make_opsetid("", 18)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    size = path.stat().st_size
    assert store_halves(path)
    assert size - path.stat().st_size > 8000
    import onnxruntime

    [total] = onnxruntime.InferenceSession(str(path)).run(None, {})
    np.testing.assert_array_equal(total, values + others)
    assert not store_halves(path)
