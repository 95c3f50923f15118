import keras
import numpy as np
import pytest

from tests.harness import randomize
from tests.marks import long
from tests.serving.conftest import needs_onnx
from zoo.models import (
    RecurrentClassifier,
    RecurrentClassifierPreprocessor,
    SentimentClassifier,
)
from zoo.serving import export_onnx, runtime
from zoo.text import WordTokenizer

LANGUAGE_MODELS = ["lstm", long("gru"), long("lstmn_lm")]
ODD = [
    "",
    "  ",
    "\t\n",
    "<unk> </s> <pad> <s>",
    "qwxz 日本語 the",
    "e\u0301a cafe\u0301 ﬁ ß İ",
    "👍🏽👍👍! 👨\u200d👩\u200d👧 🇩🇪",
    "lone \ud83d surrogate",
    "a\u00a0b\u2003c\u2028d\x1ce",
    "I can't, don’t and won't... U.S. 3.50",
    "supercalifragilisticexpialidocious-word",
    "\x00 \u200b \u200d n't 's",
]
SUBJECTS = ["the company", "a man", "two dogs", "he", "mr. N said"]
VERBS = ["said", "runs quickly", "is", "will have been", "sees n't"]
TEXTS = ODD + [f"{subject} {verb}" for subject in SUBJECTS for verb in VERBS]
TEXTS += [" ".join(TEXTS[12:n]) for n in (15, 20, 27)]


# === Language models ===
@pytest.mark.parametrize("name", LANGUAGE_MODELS)
@pytest.mark.filterwarnings("ignore:.*were cut")
def test_continuations_are_those_of_keras(export, name):
    task, folder = export(name)
    task.compile(sampler="greedy")
    found = runtime.load(folder)
    assert found.generate(TEXTS, max_length=40) == task.generate(TEXTS, max_length=40)
    one = TEXTS[12]
    assert found.generate(one) == task.generate(one)
    assert found.generate(TEXTS, 9, batch_size=7) == task.generate(TEXTS, max_length=9)
    assert found.generate([]) == []


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_scores_are_those_of_keras(export, name):
    task, folder = export(name)
    found = runtime.load(folder)
    np.testing.assert_allclose(found.score(TEXTS), task.score(TEXTS), atol=1e-3)
    assert found.score(TEXTS[4]) == pytest.approx(task.score(TEXTS[4]), abs=1e-3)
    for options in ({}, {"carry_over": True, "batch_size": 3}):
        wanted = task.perplexity(TEXTS, **options)
        assert found.perplexity(TEXTS, **options) == pytest.approx(wanted, rel=1e-4)


def test_what_generate_refuses(export):
    found = runtime.load(export("lstm")[1])
    with pytest.raises(TypeError, match=r"texts\[1\] must be a str. Received: None"):
        found.generate(["a", None])
    for options, message in (
        ({"max_length": 1}, "`max_length` must be an integer from 2"),
        ({"batch_size": 0}, "`batch_size` must be a positive integer"),
    ):
        with pytest.raises(ValueError, match=message):
            found.generate("a", **options)


# === Labels ===
@pytest.mark.filterwarnings("ignore:.*were read in parts")
def test_tags_are_those_of_keras(export):
    task, folder = export("birnn")
    found = runtime.load(folder)
    texts = [*TEXTS, ["already", "split", "words"], " ".join(["a dog runs"] * 250)]
    assert found.tag(texts) == task.tag(texts)
    assert found.tag(texts, batch_size=5) == task.tag(texts)
    assert found.tag(TEXTS[9]) == task.tag(TEXTS[9])
    assert found.tag([]) == [] and found.tag("") == []
    with pytest.raises(TypeError, match=r"sentences\[0\] must be a str or a list"):
        found.tag([3])


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="graphs are written under the TensorFlow backend alone",
)
@pytest.mark.parametrize("cell", ["lstm", long("lstmn"), long("gru")])
@pytest.mark.filterwarnings("ignore:.*were cut")
def test_classes_are_those_of_keras(cell, tmp_path):
    needs_onnx()
    words = sorted({word for text in TEXTS[12:] for word in text.split()})
    backbone = RecurrentClassifier(
        len(words) + 4,
        classes=["dull", "good", "odd"],
        embedding_dim=6,
        hidden_dim=5,
        num_layers=2,
        cell=cell,
    )
    randomize(backbone, seed=4, scale=2)
    preprocessor = RecurrentClassifierPreprocessor(WordTokenizer(words, lowercase=True))
    task = SentimentClassifier(backbone, preprocessor)
    texts = [*TEXTS, *(text.upper() for text in TEXTS), " ".join(["a man"] * 300)]
    ids = preprocessor(texts)
    backbone.output_layer.bias.assign_sub(np.median(task.logits(ids), axis=0))
    wanted = task.classify(texts)
    assert len(set(wanted)) > 1
    found = runtime.load(export_onnx(task, tmp_path / "classifier"))
    assert found.classify(texts) == wanted
    assert found.classify(texts, batch_size=5) == wanted
    assert found.classify("a man") == task.classify("a man")
    np.testing.assert_allclose(found.logits(ids), task.logits(ids), atol=1e-4)
