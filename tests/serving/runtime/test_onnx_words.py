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
