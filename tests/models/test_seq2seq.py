import keras_hub
import numpy as np
import pytest

from tests.harness import SOURCE, TARGET, VOCABULARY, close, randomize, to_numpy
from zoo.models import Luong, LuongPreprocessor, LuongTranslator

SMALL = {"num_layers": 1, "hidden_dim": 8, "embedding_dim": 6, "window": 2}


@pytest.fixture(scope="module")
def task(tokenizer):
    backbone = randomize(Luong(VOCABULARY, **SMALL))
    return LuongTranslator(backbone, LuongPreprocessor(tokenizer))


def test_the_task_offers_the_backbones_methods(task):
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    close(task(inputs), task.backbone(inputs))
    memory = task.encode(SOURCE)
    logits, _, _ = task.step(TARGET[:, 0], task.start(memory), memory)
    close(logits, to_numpy(task.backbone(inputs))[:, 0])


def test_fit_takes_raw_strings(tokenizer):
    backbone = Luong(VOCABULARY, **SMALL)
    task = LuongTranslator(
        backbone, LuongPreprocessor(tokenizer, source_length=6, target_length=6)
    )
    texts = np.array(["ab cd", "ba", "dad cab", "bad"])
    history = task.fit({"source": texts, "target": texts}, batch_size=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_generate_is_greedy_search(task):
    texts = ["ab cd", "dad cab bad"]
    wanted = task.translate(texts, beam_size=1, length_penalty=0.0, max_length=8)
    ids = task.make_generate_function() and task.generate(texts, max_length=9)
    # The search ends with the end token at the limit, the sampler just stops.
    for got, text in zip(ids, wanted, strict=True):
        assert got == text or got.startswith(text[:3])
    task.compile(sampler="top_k")
    assert len(task.generate(texts, max_length=5)) == 2
    task.compile()


def test_from_preset_takes_what_load_takes():
    with pytest.raises(ValueError, match="unknown preset.*'luong_lcal'"):
        LuongTranslator.from_preset("luong_lcal")


def test_functional_models_of_kerashub_do_no_harm(task, tokenizer):
    """Keras rebases KerasHub's classes on its functional model for them."""
    bert = keras_hub.models.BertBackbone(
        vocabulary_size=8, num_layers=1, num_heads=1, hidden_dim=4, intermediate_dim=4
    )
    keras_hub.models.BertTextClassifier(bert, num_classes=2)
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    close(task(inputs), task.backbone(inputs))
    new = LuongTranslator(Luong(VOCABULARY, **SMALL), LuongPreprocessor(tokenizer))
    new.backbone.set_weights(task.backbone.get_weights())
    assert new.translate("ab cd") == task.translate("ab cd")
    assert len(new.backbone.layers) == len(task.backbone.layers)
    assert isinstance(new, keras_hub.models.Task)
    assert isinstance(new.backbone, keras_hub.models.Backbone)


@pytest.mark.filterwarnings("ignore:.*have a `quantize` method", "ignore:.*verified")
def test_quantized_task_is_saved_and_loaded(tokenizer, tmp_path):
    task = LuongTranslator(Luong(VOCABULARY, **SMALL), LuongPreprocessor(tokenizer))
    task.quantize("int8")
    task.save_to_preset(str(tmp_path))
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    close(LuongTranslator.from_preset(tmp_path)(inputs), task(inputs))


def test_translate_needs_a_preprocessor():
    task = LuongTranslator(Luong(VOCABULARY, **SMALL))
    with pytest.raises(ValueError, match="preprocessor=None"):
        task.translate("ab")
