import keras
import numpy as np
import pytest

from tests.harness import randomize
from tests.marks import long
from tests.runtime.conftest import needs_extra
from tests.serving.conftest import needs_tensorflow
from tests.serving.test_onnx_export import make_show_attend_tell
from zoo.models import Luong, LuongTranslator
from zoo.runtime import litert as runtime
from zoo.serving import export_litert
from zoo.serving.manifest import read_version

TEXTS = ["a brown dog", "the old man sits down", "", "dog"]
ONE = (24,)  # a single bucket: an export takes seconds for each


@pytest.fixture(scope="module")
def task(tasks):
    needs_extra("litert")
    return tasks["translator"]


@needs_tensorflow
def test_the_manifest_describes_the_signatures(task, graphs):
    from ai_edge_litert.interpreter import Interpreter

    manifest, files = read_version(graphs("translator", "litert") / "1")
    wanted = {
        "format": "zoo-litert",
        "name": "translator",
        "task": "translate",
        "preset": "01ab",
        "card": {"name": "x"},
        "quantize": None,
        # The preprocessor's source_length, 24, is less than 64.
        "settings": {"source_length": 24, "target_length": 20, "source_end": False},
    }
    assert {key: manifest[key] for key in wanted} == wanted
    assert set(files) == {"vocabulary.spm", "model.tflite"}
    first, last = manifest["buckets"]
    assert (first["source"], first["target"]) == (8, None)  # its state doesn't grow
    assert last["signatures"] == {
        "encode": ["encode_24"],
        "start": ["start_24"],
        "step": ["step_24", "step_24_5"],
        "window": ["window_24", "window_24_5"],
    }
    interpreter = Interpreter(model_content=files["model.tflite"])
    found = interpreter.get_signature_list()
    assert set(found) == set(manifest["graphs"]) and len(found) == 12
    for name, described in manifest["graphs"].items():
        for key in ("inputs", "outputs"):
            assert {x["name"] for x in described[key]} == set(found[name][key])
    step = manifest["graphs"]["step_8_5"]["inputs"]
    shapes = {x["name"]: x["shape"] for x in step}
    assert shapes["token_ids"] == [5] and shapes["memory_0"] == [1, 8, 8]
    assert shapes["state_0"] == [5, 8]
    # Eight signatures read them; they are there once.
    words = task.backbone.token_embedding.embeddings
    weights = keras.ops.convert_to_numpy(words).tobytes()
    assert files["model.tflite"].count(weights) == 1


@needs_tensorflow
def test_the_signatures_of_a_language_model(task, graphs):
    manifest, files = read_version(graphs("language_model", "litert") / "1")
    assert set(files) == {"vocabulary.txt", "model.tflite"}
    assert manifest["settings"]["sequence_length"] == 12
    names = ("start", "step", "read")
    assert manifest["buckets"] == [
        {
            "source": length,
            "target": length,  # an LSTMN's state has room for so many steps
            "signatures": {name: [f"{name}_{length}"] for name in names},
        }
        for length in (4, 12)
    ]
    described = manifest["graphs"]
    assert described["start_12"]["inputs"] == []
    shapes = {x["name"]: x["shape"] for x in described["step_12"]["inputs"]}
    assert shapes["token_ids"] == [1] and shapes["state_1"] == [1, 13]
    shapes = {x["name"]: x["shape"] for x in described["read_4"]["inputs"]}
    assert shapes["labels"] == [1, 4] and shapes["carry_0"] == [1, 4]


@needs_tensorflow
@pytest.mark.parametrize("quantize", [long("float16"), "int8"])
def test_smaller_graphs_still_translate(task, tmp_path, quantize):
    version = export_litert(task, tmp_path / quantize, quantize, lengths=ONE)
    assert version == tmp_path / quantize / "1"
    smaller = runtime.load(version)
    assert read_version(version)[0]["quantize"] == quantize
    targets = ["ein brauner Hund", "er rennt", "ein", "er"]
    sources = [text or "a" for text in TEXTS]
    wanted, found = (x.score(sources, targets) for x in (task, smaller))
    np.testing.assert_allclose(found, wanted, rtol=0.1)
    assert found != wanted
    assert len(smaller.translate(TEXTS, beam_size=2, max_length=6)) == 4


@needs_tensorflow
def test_windows_of_local_m_go_on_where_five_rows_end(task, tmp_path):
    sizes = {"num_layers": 1, "hidden_dim": 8, "embedding_dim": 6, "window": 1}
    backbone = randomize(Luong(30, **sizes, attention="local_m"), seed=5)
    translator = LuongTranslator(backbone, task.preprocessor)
    found = runtime.load(export_litert(translator, tmp_path / "m", lengths=ONE))
    given = ["the old man sits down", "dog"], ["ein brauner Hund rennt", "er"]
    records, wanted = (x.align(*given) for x in (found, translator))
    assert len(wanted[0].tokens) > 10
    for record, other in zip(records, wanted, strict=True):
        np.testing.assert_array_equal(record.focus, other.focus)
        np.testing.assert_array_equal(record.windows, other.windows)
    # One row at a time has a signature of its own.
    one = found.backbone.windows(np.zeros((2, 1, 8), "float32"), np.full((2, 3), 7))
    np.testing.assert_array_equal(one[1], [[[0, 1]], [[0, 1]]])


@needs_tensorflow
@pytest.mark.long
def test_show_attend_tell_over_text_is_a_translator(task, tmp_path):
    translator = make_show_attend_tell(task, "soft")
    version = export_litert(translator, tmp_path / "xu", lengths=ONE)
    options = {"beam_size": 3, "max_length": 9, "return_details": True}
    found = runtime.load(version).translate(TEXTS, **options)
    for record, other in zip(
        found, translator.translate(TEXTS, **options), strict=True
    ):
        assert record.tokens == other.tokens
        assert record.score == pytest.approx(other.score, abs=1e-3)
        np.testing.assert_allclose(record.alignment, other.alignment, atol=1e-4)


@needs_tensorflow
@pytest.mark.long
def test_an_operation_that_litert_lacks_is_named(task, tmp_path):
    with pytest.raises(ValueError, match="cannot be exported to LiteRT: .*BitwiseAnd"):
        export_litert(make_show_attend_tell(task, "hard"), tmp_path / "xu", lengths=ONE)
    assert not list((tmp_path / "xu").iterdir())


@needs_tensorflow
def test_what_is_not_exported(task, tmp_path):
    with pytest.raises(TypeError, match="LiteRT must be a Translator or .*: Luong$"):
        export_litert(task.backbone, tmp_path / "out")
    with pytest.raises(ValueError, match="`quantize` must be one of"):
        export_litert(task, tmp_path / "out", quantize="int4")
    with pytest.raises(ValueError, match="`lengths` must be ascending"):
        export_litert(task, tmp_path / "out", lengths=(32, 16))
    with pytest.raises(ValueError, match="`lengths` must be a positive integer"):
        export_litert(task, tmp_path / "out", lengths=(0, 16))
    with pytest.raises(ValueError, match="An export needs a preprocessor"):
        export_litert(LuongTranslator(task.backbone), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "out/3").mkdir(parents=True)
    (tmp_path / "out/3/step.onnx").touch()
    with pytest.raises(ValueError, match="must be of one format.*version 3 has step"):
        export_litert(task, tmp_path / "out")


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="the others'")
def test_other_backends_are_told_what_to_do(task, tmp_path):
    with pytest.raises(RuntimeError, match="`zoo export FOLDER --format litert`"):
        export_litert(task, tmp_path / "out")
