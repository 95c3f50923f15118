import keras
import numpy as np
import pytest

from tests.harness import close
from tests.tasks import test_classifier, test_language_model, test_tagger
from zoo import models
from zoo.models import Seq2Seq, Seq2SeqTranslator

SMALL = {"num_layers": 1, "hidden_dim": 4, "embedding_dim": 3}


def test_the_config_has_every_argument_as_it_was_given():
    model = Seq2Seq(9, 7, **SMALL, dropout=0.5)
    config = model.get_config()
    given = {"vocabulary_size": 9, "target_vocabulary_size": 7, **SMALL, "dropout": 0.5}
    assert {name: config[name] for name in given} == given
    assert config["reverse_source"] is True
    assert Seq2Seq(9, **SMALL).get_config()["target_vocabulary_size"] is None


def test_a_task_that_cannot_says_who_can(monkeypatch):
    task = Seq2SeqTranslator(Seq2Seq(9, **SMALL))
    with pytest.raises(AttributeError, match="a Seq2SeqTranslator cannot tag; .*birnn"):
        task.tag("a dog")
    with pytest.raises(AttributeError, match="cannot classify; .*lstmn_sentiment"):
        task.classify("a dog")
    monkeypatch.setattr("zoo.presets.registry.cannot", None)  # it would read every card
    assert not hasattr(task, "tag") and not hasattr(task, "nothing")


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="exported and read by TensorFlow"
)
@pytest.mark.parametrize(
    "make",
    [
        lambda: models.Luong(9, num_layers=1, hidden_dim=4, embedding_dim=4),
        lambda: models.BiRNN(input_dim=3, output_dim=2, hidden_dim=4),
        lambda: test_tagger.task_of().backbone,
        lambda: test_language_model.task_of().backbone,
        lambda: test_classifier.task_of().backbone,
        lambda: models.ShowAttendTell(
            9,
            hidden_dim=2,
            attention_dim=2,
            annotation_dim=4,
            image_shape=(16, 24, 3),
        ),
    ],
)
def test_a_backbone_is_exported_with_its_own_signature(make, tmp_path):
    import tensorflow as tf

    backbone = make()
    backbone.export(str(tmp_path), verbose=False)
    rng = np.random.default_rng(0)

    def example(spec):
        shape = [7 if size is None else size for size in spec.shape]
        if spec.dtype == "int32":
            return rng.integers(0, 4, shape, "int32")
        return rng.random(shape, "float32")

    inputs = keras.tree.map_structure(example, backbone.input_signature())
    loaded = tf.saved_model.load(str(tmp_path))
    close(loaded.serve(inputs), backbone(inputs))
