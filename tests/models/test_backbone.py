"""Configurations, and LoRA of every kind of backbone."""

import keras
import numpy as np
import pytest

from tests.harness import close, to_numpy
from tests.marks import once
from tests.models.test_everyday import INPUTS, LABELS, WEIGHTS, translator
from tests.tasks.test_fitting import COLUMNS, arrays_of, make
from zoo import models
from zoo.layers.lora import LoRALayer
from zoo.training import compile_for_training

TIED = {"tie_embeddings": "all"}
LOCATION = TIED | {"attention": "location"}
TRANSLATORS = [
    (models.LuongTranslator, {}),
    (models.TransformerTranslator, TIED),  # all of it is Keras's own layers
    (models.LuongTranslator, LOCATION),
    (models.LuongTranslator, {"attention": "global", "score": "concat"}),
    (models.BahdanauTranslator, {}),
    (models.RNNEncoderDecoderTranslator, {}),
    (models.LSTMNTranslator, {}),
    (models.ShowAttendTellTranslator, {"attention": "soft"}),
]


def adapted(cls, options, rank=2, drawn=True):
    """A translator with LoRA, and one without that has its weights."""
    plain, task = (translator(cls, dropout=0.0, **options) for _ in range(2))
    task.backbone.enable_lora(rank)
    rng = np.random.default_rng(3)
    for variable in task.trainable_variables if drawn else ():
        variable.assign(rng.uniform(-0.3, 0.3, variable.shape))
    return task, plain


def own_layers(backbone):
    return [x for x in backbone._flatten_layers() if isinstance(x, LoRALayer)]


@pytest.mark.once
@pytest.mark.parametrize(("cls", "options"), TRANSLATORS)
def test_lora_is_a_sum_in_every_loop_and_in_files(cls, options, tmp_path):
    task, plain = adapted(cls, options)
    assert own_layers(task.backbone) or cls is models.TransformerTranslator
    task.save_weights(str(tmp_path / "whole.weights.h5"))
    before = to_numpy(plain(INPUTS))
    plain.load_weights(str(tmp_path / "whole.weights.h5"))
    wanted = to_numpy(plain(INPUTS))
    assert np.abs(wanted - before).max() > 1e-3
    close(task(INPUTS), wanted)

    # Loaded into an adapted model, too, whose own part then is zero.
    other, _ = adapted(cls, options)
    other.load_weights(str(tmp_path / "whole.weights.h5"))
    close(other(INPUTS), wanted)


# Each way to train, and each kind of layers.
TRAINED = [
    (models.LuongTranslator, {}, "compile_for_training"),
    once(models.TransformerTranslator, TIED, "compile"),
    once(models.LuongTranslator, LOCATION, "compile"),
]


@pytest.mark.parametrize(("cls", "options", "way"), TRAINED)
def test_lora_alone_is_trained_and_is_saved_by_itself(cls, options, way, tmp_path):
    task, other = adapted(cls, options, drawn=False)
    close(task(INPUTS), other(INPUTS))  # LoRA starts at zero
    frozen = [(v, to_numpy(v.value)) for v in task.weights if not v.trainable]
    path = str(tmp_path / "own.lora.h5")
    trained = task
    if way == "compile_for_training":
        trained = compile_for_training(task, keras.optimizers.SGD(1.0))
    else:
        task.compile(keras.optimizers.SGD(1.0))
    history = trained.fit(
        INPUTS, LABELS, sample_weight=WEIGHTS, epochs=4, batch_size=5, verbose=0
    ).history
    assert history["loss"][-1] < history["loss"][0]
    assert all("lora_" in v.name for v in task.trainable_variables)
    assert len(frozen) == len(other.weights)
    for variable, values in frozen:
        np.testing.assert_array_equal(to_numpy(variable.value), values)

    task.backbone.save_lora_weights(path)
    other.backbone.enable_lora(2)
    other.backbone.load_lora_weights(path)
    np.testing.assert_array_equal(to_numpy(other(INPUTS)), to_numpy(task(INPUTS)))


@pytest.mark.parametrize("kind", [once(x) for x in COLUMNS if x != "translator"])
def test_lora_of_other_tasks(kind, tokenizer, tmp_path):
    task, other = make(kind, tokenizer), make(kind, tokenizer)
    columns = [column for _, column in COLUMNS[kind]]
    x, *_ = arrays_of(task, kind, columns)
    task.backbone.enable_lora(2)
    assert own_layers(task.backbone)
    task.compile(keras.optimizers.SGD(0.1))
    losses = task.fit(*columns, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    task.save_to_preset(str(tmp_path / "preset"))
    with pytest.warns(UserWarning, match="no card"):
        close(type(task).from_preset(tmp_path / "preset")(x), task(x))
    task.backbone.save_lora_weights(tmp_path / "own.lora.h5")
    other.backbone.enable_lora(2)
    other.backbone.load_lora_weights(tmp_path / "own.lora.h5")
    close(other(x), task(x))


@pytest.mark.once
def test_what_lora_refuses_changes_nothing(tmp_path):
    task, path = translator(), str(tmp_path / "own.lora.h5")
    backbone = task.backbone
    backbone.token_embedding.trainable = False
    before = [v.path for v in backbone.trainable_variables]
    with pytest.raises(ValueError, match="a model with LoRA.* Received: filepath"):
        backbone.save_lora_weights(path)
    for names in (["nothing"], []):
        with pytest.raises(ValueError, match="layers of the backbone.*Received: "):
            backbone.enable_lora(2, names)
    with pytest.raises(ValueError, match="positive integer. Received: rank=0"):
        backbone.enable_lora(0)
    assert [v.path for v in backbone.trainable_variables] == before
    backbone.enable_lora(2, ["W_s"])
    names = [v.name for v in backbone.trainable_variables]
    assert names == ["lora_kernel_a", "lora_kernel_b"]
    with pytest.raises(ValueError, match="added once.*rank=2"):
        backbone.enable_lora(2)
    with pytest.raises(ValueError, match="ends in `.lora.h5`. Received: filepath="):
        backbone.save_lora_weights(str(tmp_path / "own.h5"))
    backbone.save_lora_weights(path)
    for other, options in ((translator(), [3]), (translator(), [2])):
        other.backbone.enable_lora(*options)
        with pytest.raises(ValueError, match="LoRA of rank 2 of 1 layers.*filepath="):
            other.backbone.load_lora_weights(path)


SIZES = {"num_layers": 1, "hidden_dim": 4, "embedding_dim": 3}


def test_the_config_has_every_argument_as_it_was_given():
    model = models.Seq2Seq(9, 7, **SIZES, dropout=0.5)
    config = model.get_config()
    given = {"vocabulary_size": 9, "target_vocabulary_size": 7, **SIZES, "dropout": 0.5}
    assert {name: config[name] for name in given} == given
    assert config["reverse_source"] is True
    assert models.Seq2Seq(9, **SIZES).get_config()["target_vocabulary_size"] is None
