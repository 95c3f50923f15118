"""Parts that are frozen stay as they are, bit for bit; all others learn."""

import keras
import numpy as np
import pytest

from tests.harness import to_numpy
from tests.marks import once
from tests.models.test_everyday import INPUTS, LABELS, WEIGHTS, translator
from zoo import models
from zoo.training import compile_for_training

# A task, and the parts to be frozen of its backbone.
CASES = {
    "Luong": (models.LuongTranslator, ["encoder", "token_embedding"]),
    "Transformer": (
        models.TransformerTranslator,
        ["encoder_layers", "token_embedding"],
    ),
    "Bahdanau": (models.BahdanauTranslator, ["decoder", "source_embedding"]),
}


def freeze(backbone, names):
    """Freezes parts; returns whether each weight of the backbone is frozen."""
    parts = [getattr(backbone, name) for name in names]
    for layer in keras.tree.flatten(parts):
        layer.trainable = False
    frozen = {id(v) for layer in keras.tree.flatten(parts) for v in layer.weights}
    return {v.path: id(v) in frozen for v in backbone.weights}


def check(task, trained, frozen, data):
    before = {v.path: to_numpy(v.value).copy() for v in task.backbone.weights}
    trained.fit(data, verbose=0)
    assert len(before) <= len(frozen) and {*frozen.values()} == {True, False}
    for variable in task.backbone.weights:
        same = np.array_equal(to_numpy(variable.value), before[variable.path])
        assert same == frozen[variable.path], variable.path


@pytest.mark.once
@pytest.mark.parametrize(("cls", "names"), CASES.values(), ids=CASES)
def test_what_is_frozen_stays(cls, names):
    """A task that is compiled by default, and frozen after that."""
    task = translator(cls, dropout=0.0)
    check(task, task, freeze(task.backbone, names), (INPUTS, LABELS, WEIGHTS))


@pytest.mark.parametrize("case", ["Luong", once("Transformer")])
def test_what_is_frozen_stays_in_training_without_logits(case):
    cls, names = CASES[case]
    task = translator(cls, dropout=0.0)
    frozen = freeze(task.backbone, names)
    trained = compile_for_training(task, keras.optimizers.Adam(0.1))

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return INPUTS, LABELS, WEIGHTS

    check(task, trained, frozen, Batches())
