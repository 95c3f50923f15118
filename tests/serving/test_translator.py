"""Every kind of translator can be served; see test_export.py for what comes out."""

import pytest

from tests.harness import VOCABULARY, randomize
from tests.models.test_everywhere import TRANSLATORS
from tests.serving.conftest import needs_tensorflow
from tests.serving.test_export import SENTENCEPIECE, ask, strings
from zoo.serving.limits import Limits
from zoo.serving.translator import TranslatorSignatures
from zoo.text import Tokenizer, train_tokenizer

pytestmark = needs_tensorflow
# Of exactly the harness's vocabulary.
WORDS = ["ab ba cd dc", "abc cba dab", "bad cab dad", "da da ab cc bb"] * 5


def traced(signatures, name):
    import tensorflow as tf

    specs = [tf.TensorSpec([None], tf.string, key) for key in signatures.inputs[name]]
    function = tf.function(getattr(signatures, name), specs, autograph=False)
    return function.get_concrete_function()


def operations(function):
    """Those of a function's graph and of the functions that it calls."""
    graph = function.graph.as_graph_def()
    inner = graph.library.function
    nodes = [*graph.node, *(node for part in inner for node in part.node_def)]
    return {node.op for node in nodes} - {part.signature.name for part in inner}


# Luong's is in the other files.
@pytest.mark.parametrize("cls", [c for c in TRANSLATORS if "Luong" not in c.__name__])
def test_translations_are_those_of_the_model(cls):
    import tensorflow as tf

    options = {"vocabulary_size": VOCABULARY, **TRANSLATORS[cls]}
    tokenizer = Tokenizer(proto=train_tokenizer(WORDS, VOCABULARY))
    backbone = randomize(cls.backbone_cls(**options))
    task = cls(backbone, cls.preprocessor_cls(tokenizer, source_end=True))
    limits = Limits(beam_size=2, max_length=7, length_penalty=0.0)
    translate = traced(TranslatorSignatures(task, limits), "translate")
    texts = [*WORDS[:3], "", "a"]
    found = strings(ask(translate, texts)["translation"])
    options = {"beam_size": 2, "length_penalty": 0.0, "max_length": 7}
    assert found == task.translate(texts, **options)
    assert len(set(found)) > 1
    assert operations(translate) - set(dir(tf.raw_ops)) <= SENTENCEPIECE
