import concurrent.futures
import importlib.util

import keras
import numpy as np
import pytest

from tests.serving.conftest import (
    CAPTIONS,
    IMAGES,
    MAKERS,
    SEARCHING,
    ask,
    make_translator,
    needs_tensorflow,
    odd_texts,
    strings,
)
from tests.serving.writers import check_writer
from zoo.images import encode_images
from zoo.serving import export_savedmodel, read_manifest, versions
from zoo.serving.export.manifest import write_version
from zoo.serving.protocol import SIGNATURES

pytestmark = pytest.mark.filterwarnings("ignore:.*were cut")
SENTENCEPIECE = {"SentencepieceOp", "SentencepieceTokenizeOp"}
SENTENCEPIECE |= {"SentencepieceDetokenizeOp"}


# === Translators and captioners ===
@needs_tensorflow
def test_translations_are_those_of_the_model_in_every_thread(tasks, signatures):
    texts, found = odd_texts(200), signatures["translator"]
    wanted = tasks["translator"].translate(texts, beam_size=4, return_details=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for answer in pool.map(ask, [found["serving_default"]] * 4, [texts] * 4):
            assert strings(answer["translation"]) == [record.text for record in wanted]
            scores = [record.score for record in wanted]
            np.testing.assert_allclose(answer["score"], scores, rtol=1e-4, atol=1e-4)


def arrays(signatures, task):
    """Function `(signature, *inputs) -> arrays` for `check_writer`."""

    def ask(name, *values):
        specs = SIGNATURES[task.task_name]
        names = specs.get(name, next(iter(specs.values()))).inputs
        given = (np.array(rows, object) for rows in values)
        found = signatures[name](**dict(zip(names, given, strict=True)))
        return {
            key: np.array(strings(x), object) if x.dtype == object else x
            for key, x in found.items()
        }

    return ask


@needs_tensorflow
def test_each_signature_of_a_translator_is_the_models(tasks, signatures):
    task, texts = tasks["translator"], odd_texts(30)
    # Of one bucket, for which this process compiles its searches: up to 24 pieces.
    sizes = map(len, task.preprocessor.encode(texts))
    texts = [text for text, n in zip(texts, sizes, strict=True) if n > 16 or not n]
    texts.sort(key=len, reverse=True)
    assert len(texts) > 9 and "" in texts
    ask = arrays(signatures["translator"], task)
    tolerances = {"rtol": 1e-4, "atol": 1e-4}, {"atol": 1e-5}, {"rtol": 1e-4}
    targets = ["ein Hund rennt", ""]
    check_writer(task, ask, texts, texts, targets, 4, 4, tolerances)
    # More rows than are scored at once, and none.
    few = ask("score", texts[:2], targets)["log_probability"]
    many = ask("score", texts[:2] * 65, targets * 65)["log_probability"]
    np.testing.assert_allclose(many, np.tile(few, 65), rtol=1e-5)
    assert ask("score", [], [])["log_probability"].shape == (0,)


@needs_tensorflow
def test_each_signature_of_a_captioner_is_the_models(tasks, signatures):
    task, (contents, _) = tasks["captioner"], encode_images(IMAGES)
    ask = arrays(signatures["captioner"], task)
    tolerances = {"atol": 1e-4}, {"atol": 1e-5}, {"rtol": 1e-4}
    check_writer(task, ask, contents, IMAGES, CAPTIONS, 4, 4, tolerances)


@needs_tensorflow
def test_sources_and_targets_must_be_equally_many(signatures):
    from tensorflow.errors import InvalidArgumentError

    with pytest.raises(InvalidArgumentError, match="a target for each source"):
        ask(signatures["translator"]["score"], ["a", "b"], ["a"])
    [content], _ = encode_images(IMAGES[:1])
    with pytest.raises(InvalidArgumentError, match="a target for each source"):
        signatures["captioner"]["score"](image_bytes=[content] * 2, caption=["a"])


@needs_tensorflow
def test_long_sources_are_cut_as_the_model_cuts_them(tasks, signatures):
    texts = ["a brown dog " * 30, "a dog"]
    found = ask(signatures["translator"]["greedy"], texts)["translation"]
    assert strings(found) == tasks["translator"].translate(texts, beam_size=1)


# === The folder ===
@needs_tensorflow
@pytest.mark.parametrize("name", MAKERS)
def test_the_graph_uses_only_operations_that_the_server_links(saved, name):
    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2

    content = (saved / name / "1" / "saved_model.pb").read_bytes()
    [meta] = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    graph = meta.graph_def
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    functions = {function.signature.name for function in graph.library.function}
    other = {node.op for node in nodes} - set(dir(tf.raw_ops)) - functions
    assert len(nodes) > 100
    # The stock server links all of tensorflow-text's.
    own = {**dict.fromkeys(SEARCHING, SENTENCEPIECE), "tagger": {"NormalizeUTF8"}}
    assert other == own.get(name, set())


@needs_tensorflow
def test_the_manifest_says_what_is_served(saved):
    found = read_manifest(saved / "translator" / "1", "zoo-savedmodel")
    assert (found["name"], found["task"]) == ("translator", "translate")
    assert {"saved_model.pb", "variables/variables.index"} <= set(found["files"])
    assert found["limits"] == {"beam_size": 4}


def test_versions_go_up_and_are_complete_when_they_appear(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "8").touch()  # a file, which no folder can replace
    seen = []

    def write(folder):
        (folder / "graph").touch()
        seen.append(versions(tmp_path))

    assert write_version(tmp_path, write) == tmp_path / "9"
    assert seen == [[7]] and (tmp_path / "9/graph").is_file()

    def fail(folder):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_version(tmp_path, fail)
    assert {entry.name for entry in tmp_path.iterdir()} == {"7", "8", "9"}


# === What is refused ===
@pytest.mark.skipif(
    keras.backend.backend() == "tensorflow", reason="about the other backends"
)
def test_another_backend_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="zoo export.*savedmodel.*KERAS_BACKEND="):
        make_translator().export_savedmodel(tmp_path)


@needs_tensorflow
def test_what_cannot_be_served_is_refused(tasks, tmp_path):
    translator = tasks["translator"]
    for name in ("beam_size", "colour"):
        with pytest.raises(ValueError, match=rf"takes the limits \['max.*'{name}'\]"):
            tasks["language_model"].export_savedmodel(tmp_path, **{name: 3})
    with pytest.raises(TypeError, match="'caption'.*Received: Luong"):
        export_savedmodel(translator.backbone, tmp_path)
    with pytest.raises(ValueError, match="preprocessor=None"):
        export_savedmodel(type(translator)(translator.backbone), tmp_path)
    for wrong in ({"beam_size": 0}, {"length_penalty": -1.0}, {"max_length": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            translator.export_savedmodel(tmp_path, **wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["tensorflow", "tensorflow_text"])
def test_a_missing_package_is_named_with_the_extra(tasks, tmp_path, monkeypatch, name):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n: None if n == name else real(n)
    )
    with pytest.raises(ImportError, match=rf"{name}: pip install .*\[serving\]"):
        export_savedmodel(tasks["translator"], tmp_path)
