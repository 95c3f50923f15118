"""Every kind of translator can be served; test_savedmodel.py has the signatures."""

import numpy as np
import pytest

from tests.harness import randomize
from tests.marks import long
from tests.models.test_everywhere import TRANSLATORS
from tests.serving.conftest import ask, needs_tensorflow, strings
from tests.serving.export.test_savedmodel import SENTENCEPIECE
from tests.translators import VOCABULARY
from zoo.serving.export.savedmodel import make_signatures, trace
from zoo.text import Tokenizer, train_tokenizer

pytestmark = needs_tensorflow
# Of exactly the harness's vocabulary.
WORDS = ["ab ba cd dc", "abc cba dab", "bad cab dad", "da da ab cc bb"] * 5


def traced(signatures, name):
    return trace(signatures, name)[0]


def operations(function):
    """Those of a function's graph and of the functions that it calls."""
    graph = function.graph.as_graph_def()
    inner = graph.library.function
    nodes = [*graph.node, *(node for part in inner for node in part.node_def)]
    return {node.op for node in nodes} - {part.signature.name for part in inner}


# Luong's is served in the other files; the rest, under TensorFlow alone, takes a while.
OTHERS = [long(cls) for cls in TRANSLATORS if "Luong" not in cls.__name__]


@pytest.mark.parametrize("cls", OTHERS)
def test_what_is_served_is_what_the_model_gives(cls):
    import tensorflow as tf

    options = {"vocabulary_size": VOCABULARY, **TRANSLATORS[cls]}
    tokenizer = Tokenizer(proto=train_tokenizer(WORDS, VOCABULARY))
    # Weights that write no pads, whatever else they write.
    seed = 2 if cls.__name__ == "LSTMNTranslator" else 0
    backbone = randomize(cls.backbone_cls(**options), seed=seed)
    task = cls(backbone, cls.preprocessor_cls(tokenizer, source_end=True))
    options = {"beam_size": 2, "length_penalty": 0.0, "max_length": 7}
    signatures = make_signatures(task, **options)
    translate = traced(signatures, "translate")
    texts = [*WORDS[:3], "", "a"]
    found = strings(ask(translate, texts)["translation"])
    assert found == task.translate(texts, **options)
    assert len(set(found)) > 1
    assert operations(translate) - set(dir(tf.raw_ops)) <= SENTENCEPIECE
    whole = make_signatures(task)  # no target is cut
    score = ask(traced(whole, "score"), WORDS[:3], WORDS[1:4])
    wanted = task.score(WORDS[:3], WORDS[1:4])
    np.testing.assert_allclose(score["log_probability"], wanted, rtol=1e-4)
    aligned = ask(traced(signatures, "align"), texts[:1])
    wanted = task.translate(texts[0], return_details=True, **options)
    assert strings(aligned["translation"]) == [wanted.text]
    np.testing.assert_allclose(aligned["alignment"][0], wanted.alignment, atol=1e-5)
