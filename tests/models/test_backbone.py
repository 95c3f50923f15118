"""Configurations, and KerasHub's LoRA."""

import keras
import numpy as np
import pytest

from tests.harness import close, to_numpy
from tests.models.test_everyday import INPUTS, LABELS, WEIGHTS, translator
from zoo import models
from zoo.training import compile_for_training


def test_lora_alone_is_trained_and_is_saved_by_itself_and_in_a_sum(tmp_path):
    task, other, plain = (
        translator(models.TransformerTranslator, dropout=0.0) for _ in range(3)
    )
    task.backbone.enable_lora(2)
    close(task(INPUTS), other(INPUTS))  # LoRA starts at zero
    frozen = [(v, to_numpy(v.value)) for v in task.weights if not v.trainable]
    assert len(frozen) == len(other.weights)
    trained = compile_for_training(task, keras.optimizers.SGD(1.0))
    losses = trained.fit(
        INPUTS, LABELS, sample_weight=WEIGHTS, epochs=4, batch_size=5, verbose=0
    ).history["loss"]
    assert losses[-1] < losses[0]
    for variable, values in frozen:
        np.testing.assert_array_equal(to_numpy(variable.value), values)

    path = str(tmp_path / "own.lora.h5")
    task.backbone.save_lora_weights(path)
    other.backbone.load_lora_weights(path)
    np.testing.assert_array_equal(to_numpy(other(INPUTS)), to_numpy(task(INPUTS)))
    task.save_weights(str(tmp_path / "whole.weights.h5"))
    plain.load_weights(str(tmp_path / "whole.weights.h5"))
    close(plain(INPUTS), task(INPUTS))


@pytest.mark.once
@pytest.mark.parametrize("names", [["W_Q"], ["W_1", "W_2"], None])
def test_lora_of_other_layers_is_refused_and_biases_stay(names, tmp_path):
    task, other = (translator(models.TransformerTranslator).backbone for _ in "ab")
    task.enable_lora(2, ["W_Q", "W_1"])
    assert all("lora_" in v.name for v in task.trainable_variables)
    task.save_lora_weights(path := str(tmp_path / "own.lora.h5"))
    if names:
        other.enable_lora(2, names)
    with pytest.raises(ValueError, match="LoRA of the same layers.*filepath="):
        other.load_lora_weights(path)
    assert hasattr(other, "_lora_rank") == bool(names)


@pytest.mark.once
def test_what_lora_refuses_changes_nothing():
    backbone = translator().backbone
    backbone.token_embedding.trainable = False
    before = [v.path for v in backbone.trainable_variables]
    for names in (None, ["nothing", "W_s"], [], ["token_embedding"]):
        with pytest.raises(ValueError, match="to Dense layers: W_s. Received: "):
            backbone.enable_lora(2, names)
    with pytest.raises(ValueError, match="positive integer. Received: rank=0"):
        backbone.enable_lora(0, ["W_s"])
    assert [v.path for v in backbone.trainable_variables] == before
    backbone.enable_lora(2, ["W_s"])
    names = [v.name for v in backbone.trainable_variables]
    assert names == ["lora_kernel_a", "lora_kernel_b"]
    with pytest.raises(ValueError, match="added once.*rank=2"):
        backbone.enable_lora(2, ["W_s"])


SIZES = {"num_layers": 1, "hidden_dim": 4, "embedding_dim": 3}


def test_the_config_has_every_argument_as_it_was_given():
    model = models.Seq2Seq(9, 7, **SIZES, dropout=0.5)
    config = model.get_config()
    given = {"vocabulary_size": 9, "target_vocabulary_size": 7, **SIZES, "dropout": 0.5}
    assert {name: config[name] for name in given} == given
    assert config["reverse_source"] is True
    assert models.Seq2Seq(9, **SIZES).get_config()["target_vocabulary_size"] is None
