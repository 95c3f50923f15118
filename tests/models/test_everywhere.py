"""Each task's preset is saved under each backend and loaded under the others: all at
once, since another backend takes a while to start."""

import numpy as np
import pytest

from tests.harness import close, compiled, randomize, same_config, to_numpy
from tests.marks import long, once
from tests.models import (
    test_bahdanau,
    test_cho,
    test_lstmn,
    test_luong,
    test_sutskever,
    test_transformer,
)
from tests.tasks import (
    test_captioner,
    test_classifier,
    test_language_model,
    test_tagger,
)
from tests.translators import SOURCE, TARGET, VOCABULARY, check_other_backends
from zoo import models

TRANSLATORS = {
    models.BahdanauTranslator: test_bahdanau.SMALL,
    models.LSTMNTranslator: test_lstmn.SMALL,
    models.LuongTranslator: test_luong.SMALL,
    models.RNNEncoderDecoderTranslator: test_cho.SMALL,
    models.Seq2SeqTranslator: test_sutskever.SMALL,
    models.TransformerTranslator: {**test_transformer.SMALL, "norm": "pre"},
}


@pytest.mark.filterwarnings("ignore:.*have a `quantize` method", "ignore:.*verified")
@pytest.mark.parametrize(
    "cls",
    [
        models.LuongTranslator,
        once(models.LSTMNTranslator),
        once(models.TransformerTranslator),
        long(models.BahdanauTranslator),
        long(models.RNNEncoderDecoderTranslator),
        long(models.Seq2SeqTranslator),
    ],
)
def test_quantized_it_is_close_and_saved_and_loaded(cls, tokenizer, tmp_path):
    backbone = cls.backbone_cls(**{"vocabulary_size": VOCABULARY, **TRANSLATORS[cls]})
    task = cls(randomize(backbone), cls.preprocessor_cls(tokenizer))
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    whole = to_numpy(compiled(task)(inputs))
    task.quantize("int8")
    quantized = to_numpy(compiled(task)(inputs))
    assert 0 < np.abs(quantized - whole).max() < 0.1 * np.abs(whole).max()
    copy = same_config(task.backbone)
    copy.set_weights(task.backbone.get_weights())
    close(compiled(copy)(inputs), quantized)
    task.save_to_preset(str(tmp_path))
    again = cls.from_preset(tmp_path)
    assert any(v.dtype == "int8" for v in again.weights)
    close(compiled(again)(inputs), quantized)
    options = {"beam_size": 2, "max_length": 4, "return_details": True}
    found, wanted = (model.translate("ab cd", **options) for model in (again, task))
    assert found.text == wanted.text and abs(found.score - wanted.score) < 1e-4


# Tapes, a cell's states, and keys that grow.
KINDS = (models.LSTMNTranslator, models.LuongTranslator, models.TransformerTranslator)


def translators(classes, tokenizer):
    """Tasks of classes, as `check_other_backends` takes them."""
    # Few steps: two of the three backends run them one by one, twice.
    inputs = {"source_ids": SOURCE[1:4, :5], "target_ids": TARGET[1:4, :4]}
    tasks = {}
    for cls in classes:
        options = {"vocabulary_size": VOCABULARY, **TRANSLATORS[cls]}
        backbone = randomize(cls.backbone_cls(**options))
        task = cls(backbone, cls.preprocessor_cls(tokenizer))
        tasks[cls.__name__] = (task, inputs, "Seq2SeqLM")
    return tasks


@pytest.mark.long  # the bundled presets, of one backend each, load under all
@pytest.mark.filterwarnings("ignore:.*cannot be verified")
def test_saved_under_each_backend_loaded_under_each_other(tokenizer, tmp_path):
    tasks = translators(KINDS, tokenizer)
    ids = {"token_ids": test_language_model.IDS}
    tasks["lm"] = (test_language_model.task_of(), ids, "CausalLM")
    ids = {"token_ids": test_classifier.IDS}
    tasks["sentiment"] = (test_classifier.task_of("lstmn"), ids, "TextClassifier")
    ids = {"images": test_captioner.IMAGES, "target_ids": TARGET[:3, :4]}
    captioner = test_captioner.task_of(tokenizer, 0.2)  # smaller sums of images
    tasks["captioner"] = (captioner, ids, "ShowAttendTellCaptioner")
    tasks["tagger"] = (test_tagger.task_of(), test_tagger.INPUTS, "BiRNNTagger")
    check_other_backends(tasks, tmp_path)
