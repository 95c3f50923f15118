import keras
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.translators import SOURCE, TARGET, VOCABULARY
from zoo.models import Luong, LuongTranslator, RecurrentCausalLM, RecurrentLM
from zoo.training import LogitFreeTrainer, SmoothedCrossEntropy, compile_for_training

SMALL = {"num_layers": 1, "hidden_dim": 8, "embedding_dim": 8, "dropout": 0.0}
INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}


def make(policy="float32"):
    return LuongTranslator(Luong(VOCABULARY, **SMALL, dtype=policy))


@pytest.mark.parametrize(
    ("policy", "serves"),
    [("float32", True), ("mixed_bfloat16", True), ("mixed_float16", False)],
)
def test_it_serves_where_that_loses_nothing(policy, serves):
    """In float16 the gradient of the logits, made before the loss is scaled, would
    vanish."""
    task = make(policy)
    trained = compile_for_training(task, keras.optimizers.SGD(0.1))
    assert isinstance(trained, LogitFreeTrainer) is serves
    assert serves or trained is task


def test_it_serves_translators_and_losses_that_can_do_without():
    loss, model = SmoothedCrossEntropy(), RecurrentCausalLM(RecurrentLM(9, 4, 4))
    assert not LogitFreeTrainer.serves(model, loss)
    assert not LogitFreeTrainer.serves(make(), keras.losses.MeanSquaredError())


def test_quantized_models_keep_their_logits():
    task = make()
    task.quantize("int8")
    assert not LogitFreeTrainer.serves(task, SmoothedCrossEntropy())


def test_it_gives_the_features_always():
    task = randomize(make())
    trained = LogitFreeTrainer(task)
    for training in (False, True):
        run = compiled(lambda inputs, own=training: trained(inputs, training=own))
        features = run(INPUTS)
        close(task.backbone.logits(features), to_numpy(compiled(task)(INPUTS)))


@pytest.mark.once
def test_it_evaluates_to_the_translators_loss():
    task = randomize(make())
    weights = (TARGET > 0).astype("float32")
    data = {"x": INPUTS, "y": TARGET, "sample_weight": weights, "verbose": 0}
    trained = compile_for_training(task, keras.optimizers.SGD(0.1))
    found = trained.evaluate(**data, batch_size=len(TARGET))
    task.compile(keras.optimizers.SGD(0.1), SmoothedCrossEntropy(), weighted_metrics=[])
    assert found == pytest.approx(task.evaluate(**data, batch_size=len(TARGET)))


@pytest.mark.once
def test_a_model_quantized_later_is_refused():
    task = make()
    trained = compile_for_training(task, keras.optimizers.SGD(0.1))
    task.quantize("int8")
    # `fit` asks at once under TensorFlow, which builds no symbols before.
    for train in (trained.check_trainable, lambda: trained.fit(INPUTS, TARGET)):
        with pytest.raises(ValueError, match="no plain output weights.*int8"):
            train()


def test_a_failing_step_leaves_the_weights():
    task = randomize(make())
    trained = compile_for_training(task, keras.optimizers.SGD(0.1))
    before = to_numpy([v.value for v in task.trainable_variables])

    class Stop(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained.fit(INPUTS, TARGET, verbose=0, callbacks=[Stop()])
    for value, variable in zip(before, task.trainable_variables, strict=True):
        close(variable.value, value)
