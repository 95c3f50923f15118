"""Every backbone and kind of task under KerasHub's own tests."""

import warnings

import numpy as np
import pytest

from tests.everyday import kerashub_backbone_test, kerashub_task_test
from tests.models.test_everyday import INPUTS, tasks
from tests.models.test_everywhere import TRANSLATORS
from tests.translators import TARGET, VOCABULARY
from zoo import models

# What KerasHub asks beyond the contracts is of configurations and files.
pytestmark = pytest.mark.once


def backbone_cases():
    for cls, options in TRANSLATORS.items():
        options = {"vocabulary_size": VOCABULARY, **options}
        yield pytest.param(cls.backbone_cls, options, INPUTS, id=cls.__name__)
    ids = TARGET
    words = {"vocabulary_size": 20, "embedding_dim": 4, "hidden_dim": 4}
    for cell in ("lstm", "lstmn"):
        options = {**words, "cell": cell}
        yield pytest.param(models.RecurrentLM, options, {"token_ids": ids}, id=cell)
    yield pytest.param(
        models.RecurrentClassifier, words, {"token_ids": ids}, id="classifier"
    )
    letters = np.repeat(ids[..., None], 3, axis=-1)
    yield pytest.param(
        models.BiRNNWords,
        {"vocabulary_size": 20, "character_size": 20, "output_dim": 3},
        {"word_ids": ids, "character_ids": letters},
        id="tagger",
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cls", "options", "inputs"), [*backbone_cases()])
def test_kerashub_finds_no_fault_in_a_backbone(cls, options, inputs):
    kerashub_backbone_test(cls, options, inputs)


def as_options(task):
    return {"backbone": task.backbone, "preprocessor": task.preprocessor}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", ["translator", "language_model", "classifier", "tagger"]
)
def test_kerashub_finds_no_fault_in_a_task(kind, tokenizer, monkeypatch):
    pytest.importorskip("tensorflow", reason="its data are a tf.data.Dataset")
    task, _ = tasks(tokenizer)[kind]
    texts = ["a dog", "a cat", "dog runs"]
    data, names = {
        "translator": ({"source": texts, "target": texts}, INPUTS),
        "language_model": (texts, {"token_ids": 0}),
        "classifier": (texts, {"token_ids": 0}),
        "tagger": (texts, {"word_ids": 0, "character_ids": 0}),
    }[kind]
    data = (data,)
    if kind == "classifier":
        data += (np.array([0, 1, 1]),)
    if kind == "tagger":
        data += (np.array([["DET", "NOUN"], ["DET", "X"], ["X", "X"]]),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kerashub_task_test(type(task), as_options(task), data, names, monkeypatch)
