"""Small models, and what they export, once for all files here: an export takes some
seconds whatever the model's size."""

import fcntl
import functools
import os
import random

import keras
import numpy as np
import pytest

import zoo
from tests.harness import randomize
from zoo.models import (
    BiRNNTagger,
    BiRNNWords,
    Luong,
    LuongPreprocessor,
    LuongTranslator,
    RecurrentCausalLM,
    RecurrentLM,
    RecurrentLMPreprocessor,
    ShowAttendTell,
    ShowAttendTellCaptioner,
    ShowAttendTellCaptionerPreprocessor,
)
from zoo.serving import export_onnx
from zoo.text import TaggerPreprocessor, Tokenizer, WordTokenizer, train_tokenizer

TEXTS = ["a brown dog waits.", "ein brauner Hund", "the old man sits down", "er rennt."]
needs_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="a SavedModel is written under the TensorFlow backend alone",
)


def make_translator():
    tokenizer = Tokenizer(proto=train_tokenizer(TEXTS, vocabulary_size=30))
    backbone = Luong(30, num_layers=1, hidden_dim=8, embedding_dim=6, window=2)
    randomize(backbone, seed=1)
    return LuongTranslator(backbone, LuongPreprocessor(tokenizer, 24, 20))


def make_language_model():
    tokenizer = WordTokenizer("a dog cat runs sees".split())
    backbone = RecurrentLM(9, embedding_dim=5, hidden_dim=4, cell="lstmn")
    randomize(backbone, seed=2)
    preprocessor = RecurrentLMPreprocessor(tokenizer, sequence_length=12)
    return RecurrentCausalLM(backbone, preprocessor)


def make_tagger():
    preprocessor = TaggerPreprocessor.of(
        [["A", "dog", "runs", "."]], [["DET", "NOUN", "VERB", "PUNCT"]]
    )
    sizes = {**preprocessor.sizes(), "filters": 4, "hidden_dim": 4, "cell": "gru"}
    backbone = BiRNNWords(**sizes, embedding_dim=4, character_dim=4)
    randomize(backbone, seed=3)
    return BiRNNTagger(backbone, preprocessor)


CAPTIONS = ["a red ring", "a blue star above a red ring", "a star"]
IMAGES = np.random.default_rng(7).integers(0, 256, (5, 16, 24, 3)).astype("uint8")


def make_captioner(seed=64, **options):
    """Of seed 64 it writes no pads, and captions of several lengths."""
    sizes = {"hidden_dim": 8, "embedding_dim": 6, "annotation_dim": 4}
    sizes |= {"attention_dim": 5, "image_shape": IMAGES.shape[1:], **options}
    tokenizer = Tokenizer(train_tokenizer(CAPTIONS, 10, model_type="word"))
    backbone = randomize(ShowAttendTell(10, **sizes), seed=seed)
    shape = sizes["image_shape"]
    preprocessor = ShowAttendTellCaptionerPreprocessor(tokenizer, shape, 10)
    return ShowAttendTellCaptioner(backbone, preprocessor)


MAKERS = {
    "translator": make_translator,
    "language_model": make_language_model,
    "tagger": make_tagger,
    "captioner": make_captioner,
}
SEARCHING = "translator", "captioner"


@pytest.fixture(scope="session")
def tasks():
    """Name -> task."""
    return {name: make() for name, make in MAKERS.items()}


def made_once(tmp_path_factory, name, make):
    """The folder that `make` fills; processes of pytest-xdist share it."""
    base = tmp_path_factory.getbasetemp()
    out = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{out}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # the first one makes it, the others wait
        if not out.is_dir():
            part = tmp_path_factory.mktemp("part") / out.name
            make(part)
            part.rename(out)
    return out


def needs_onnx(here=False):
    """Skips a test without the packages of an export; `here`: by this process."""
    if here and keras.backend.backend() != "tensorflow":
        pytest.skip("graphs are written under the TensorFlow backend alone")
    for package in ("tf2onnx", "onnxruntime"):
        pytest.importorskip(package, reason="an export needs the extra `onnx`")


@pytest.fixture(scope="session")
def saved(tasks, tmp_path_factory):
    """The folder of the models' folders, each of which has a version 1."""

    def make(folder):
        for name, task in tasks.items():
            limits = {"beam_size": 4} if name in SEARCHING else {}
            task.export_savedmodel(folder / name, **limits)

    return made_once(tmp_path_factory, "saved", make)


@pytest.fixture(scope="session")
def graphs(tasks, tmp_path_factory):
    """Function that returns the folder of a model's ONNX export."""

    def folder(name):
        needs_onnx(here=True)
        make = functools.partial(export_onnx, tasks[name], preset="01ab")
        return made_once(tmp_path_factory, f"small_onnx/{name}", make)

    return folder


@pytest.fixture(scope="session")
def export(tmp_path_factory):
    """Function that returns a bundled preset's task, and the folder of its export."""
    load = functools.cache(zoo.load)

    def exported(name):
        needs_onnx(here=True)
        make = functools.partial(export_onnx, load(name))
        return load(name), made_once(tmp_path_factory, f"onnx/{name}", make)

    return exported


@pytest.fixture(scope="module")
def signatures(saved):
    """Model -> signature -> function of arrays by name, which returns such arrays.

    They run as in the model server: a session loads the graph with the tag `serve`.
    """
    v1 = pytest.importorskip("tensorflow").compat.v1

    def load(name):
        session = v1.Session(graph=v1.Graph())
        with session.graph.as_default():
            meta = v1.saved_model.load(session, ["serve"], str(saved / name / "1"))

        def run(spec, **given):
            feed = {spec.inputs[key].name: value for key, value in given.items()}
            fetched = {key: info.name for key, info in spec.outputs.items()}
            return session.run(fetched, feed)

        specs = meta.signature_def.items()
        return {
            key: functools.partial(run, spec) for key, spec in specs if key[:2] != "__"
        }

    return {name: load(name) for name in MAKERS}


def strings(values):
    """The texts in a tensor or array of bytes, nested."""
    decoded = np.vectorize(lambda x: x.decode(), otypes=[object])
    return decoded(np.asarray(values)).tolist()


def ask(signature, *texts):
    """Returns the outputs of a signature, or of its traced function, for texts."""
    names = ("source", "target") if len(texts) == 2 else ("text",)
    rows = [[x if isinstance(x, bytes) else x.encode() for x in row] for row in texts]
    given = {n: np.array(row, object) for n, row in zip(names, rows, strict=True)}
    if hasattr(signature, "graph"):
        import tensorflow as tf

        given = {name: tf.constant(row, tf.string) for name, row in given.items()}
    return signature(**given)


def odd_texts(count, seed=7):
    rng = random.Random(seed)
    words = " ".join(TEXTS).split() + ["", " ", "é", "日本", "👍", "\0", "\u200b", "zz"]
    return [" ".join(rng.choices(words, k=rng.randrange(9))) for _ in range(count)]
