"""Configurations."""

import pytest

from tests.models.test_everyday import translator
from zoo import models

SIZES = {"num_layers": 1, "hidden_dim": 4, "embedding_dim": 3}


def test_the_config_has_every_argument_as_it_was_given():
    model = models.Seq2Seq(9, 7, **SIZES, dropout=0.5)
    config = model.get_config()
    given = {"vocabulary_size": 9, "target_vocabulary_size": 7, **SIZES, "dropout": 0.5}
    assert {name: config[name] for name in given} == given
    assert config["reverse_source"] is True
    assert models.Seq2Seq(9, **SIZES).get_config()["target_vocabulary_size"] is None


@pytest.mark.once
def test_lora_is_that_of_a_dense_layer():
    backbone = translator().backbone
    with pytest.raises(NotImplementedError, match="`enable_lora` of a Dense.*rank=2"):
        backbone.enable_lora(2)
