import keras
import numpy as np
import pytest

from tests.serving.conftest import needs_onnx, needs_tensorflow
from zoo.models import LuongTranslator
from zoo.serving import export_onnx
from zoo.serving.export.manifest import read_version
from zoo.serving.export.onnx_export import Function, write_graphs
from zoo.serving.runtime import onnx as runtime

TEXTS = ["a brown dog", "the old man sits down", "", "dog"]


@pytest.fixture(scope="module")
def task(tasks):
    needs_onnx()
    return tasks["translator"]


@pytest.fixture
def version(task, graphs):
    return graphs("translator") / "1"


@needs_tensorflow
def test_the_manifest_describes_the_graphs(task, version):
    import onnx

    assert [path.name for path in version.parent.iterdir()] == ["1"]
    manifest, files = read_version(version)
    wanted = {
        "name": "translator",
        "task": "translate",
        "architecture": "LuongTranslator",
        "parameters": task.count_params(),
        "preset": "01ab",
        "quantize": None,
        "settings": {"source_length": 24, "target_length": 20, "source_end": False},
    }
    assert {key: manifest[key] for key in wanted} == wanted
    assert files["vocabulary.spm"] == task.preprocessor.tokenizer.proto
    assert set(files) == {"vocabulary.spm"} | {f"{x}.onnx" for x in manifest["graphs"]}
    for name, described in manifest["graphs"].items():
        graph = onnx.load_from_string(files[f"{name}.onnx"]).graph
        for key, tensors in (("inputs", graph.input), ("outputs", graph.output)):
            assert [x["name"] for x in described[key]] == [t.name for t in tensors]
        assert all(node.domain in ("", "ai.onnx") for node in graph.node)
    encode = manifest["graphs"]["encode"]
    ids = {"name": "source_ids", "dtype": "int32", "shape": ["B", "S"]}
    assert encode["inputs"] == [ids]
    step = manifest["graphs"]["step"]["inputs"]
    shapes = {x["name"]: x["shape"] for x in step}
    assert shapes["token_ids"] == ["R"] and shapes["memory.0"] == ["B", "S", 8]
    assert shapes["state.0"] == ["R", 8]


@needs_tensorflow
@pytest.mark.usefixtures("task")  # which needs the extra
def test_an_operation_that_onnx_lacks_is_named(tmp_path):
    import tensorflow as tf

    def step(numbers):
        return tf.bitcast(numbers, "float32")

    functions = {"step": Function(step, [("numbers", ("B",), "int32")], ["bits"])}
    with pytest.raises(ValueError, match="cannot be exported to ONNX: .*'step'.*Bitc"):
        write_graphs(functions, tmp_path, None)


@needs_tensorflow
@pytest.mark.usefixtures("task")  # which needs the extra
def test_a_tagger_has_a_graph_of_its_own(graphs):
    manifest, files = read_version(graphs("tagger") / "1")
    assert (manifest["task"], manifest["settings"]) == ("tag", {"word_length": 16})
    assert set(files) == {"tag.onnx", "tagger.json"}
    [words, letters] = manifest["graphs"]["tag"]["inputs"]
    assert (words["shape"], letters["shape"]) == (["B", "T"], ["B", "T", 16])


@needs_tensorflow
def test_smaller_graphs_still_translate(task, version, tmp_path):
    whole = runtime.load(version)
    written = export_onnx(task, tmp_path / "small", quantize="int8")
    assert written == tmp_path / "small" / "1"
    smaller = runtime.load(written)
    assert read_version(written)[0]["quantize"] == "int8"
    targets = ["ein brauner Hund", "er rennt", "ein", "er"]
    sources = [text or "a" for text in TEXTS]
    wanted, found = (x.score(sources, targets) for x in (whole, smaller))
    np.testing.assert_allclose(found, wanted, rtol=0.1)
    assert found != wanted
    assert len(smaller.translate(TEXTS, beam_size=2, max_length=6)) == 4


@needs_tensorflow
def test_what_is_not_exported(task, tasks, tmp_path):
    for name, found in (("language_model", "Recurrent"), ("captioner", "ShowAtt")):
        with pytest.raises(TypeError, match=f"can be of any. Received: {found}"):
            export_onnx(tasks[name], tmp_path / "out")
    with pytest.raises(TypeError, match="of zoo.models.*Received: Luong"):
        export_onnx(task.backbone, tmp_path / "out")
    with pytest.raises(ValueError, match="`quantize` must be one of"):
        export_onnx(task, tmp_path / "out", quantize="float16")
    with pytest.raises(ValueError, match="An export needs a preprocessor"):
        export_onnx(LuongTranslator(task.backbone), tmp_path / "out")
    half = type(task.backbone).from_config(
        {**task.backbone.get_config(), "dtype": "float16"}
    )
    with pytest.raises(ValueError, match=r"must be float32.*\['float16'\]"):
        export_onnx(LuongTranslator(half, task.preprocessor), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="the others'")
def test_other_backends_are_told_what_to_do(task, tmp_path):
    with pytest.raises(RuntimeError, match="zoo export FOLDER --format onnx"):
        export_onnx(task, tmp_path / "out")
