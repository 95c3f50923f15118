import keras
import numpy as np
import pytest

from tests.harness import close, compiled, gradients, randomize, to_numpy
from tests.marks import QUICK, once
from tests.translators import SOURCE, TARGET, VOCABULARY
from zoo.models import Luong, LuongTranslator, RecurrentCausalLM, RecurrentLM
from zoo.training import (
    CarriedState,
    PairBatches,
    SmoothedCrossEntropy,
    StreamBatches,
    compile_for_training,
)
from zoo.training.fast.logit_free import LogitFreeTrainer
from zoo.training.fast.updates import prepare_optimizer

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


def test_it_serves_plain_translators_and_losses_that_can_do_without():
    loss, model = SmoothedCrossEntropy(), RecurrentCausalLM(RecurrentLM(9, 4, 4))
    assert not LogitFreeTrainer.serves(model, loss)
    task = make()
    assert not LogitFreeTrainer.serves(task, keras.losses.MeanSquaredError())
    task.quantize("int8")
    assert not LogitFreeTrainer.serves(task, loss)


def test_it_gives_the_features_always():
    task = randomize(make())
    trained = LogitFreeTrainer(task)
    for training in (False, True):
        run = compiled(lambda inputs, own=training: trained(inputs, training=own))
        features = run(INPUTS)
        close(task.backbone.logits(features), to_numpy(compiled(task)(INPUTS)))


@pytest.mark.once
def test_a_model_quantized_later_is_refused():
    task = make()
    trained = compile_for_training(task, keras.optimizers.SGD(0.1))
    task.quantize("int8")
    with pytest.raises(ValueError, match="no plain weights.*int8"):
        trained.fit(INPUTS, TARGET)


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


def test_a_compiled_task_trains():
    task, options = make(), {"smoothing": 0.1, "normalize": "sentences"}
    model = compile_for_training(task, keras.optimizers.Adam(), **options)
    assert isinstance(model, LogitFreeTrainer) and model.name == task.name
    assert [v.path for v in model.variables] == [v.path for v in task.variables]
    assert (model.loss.smoothing, model.loss.normalize) == (0.1, "sentences")
    assert len(model.optimizer.variables) > 2 * len(
        model.trainable_variables
    )  # is built


def test_a_given_loss_takes_no_further_arguments():
    with pytest.raises(TypeError, match="Received: {'smoothing': 0.1}"):
        compile_for_training(make(), "adam", loss="mse", smoothing=0.1)


def _losses(compile_model):
    """Losses of two epochs on batches of two shapes."""
    keras.utils.set_random_seed(3)
    model = compile_model(LuongTranslator(Luong(20, **SMALL)))
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, 20, n).tolist() for n in (2, 3, 5, 5, 8, 9, 9, 2, 3)]
    buckets = [(3, 10), (9, 10)][QUICK:]
    batches = PairBatches(rows, rows[::-1], batch_size=2, buckets=buckets)
    history = model.fit(batches, epochs=2, shuffle=False, verbose=0)
    return history.history["loss"]


def test_it_trains_as_keras_would():
    """Without logits, with products out of the loops, shape by shape: the same losses
    as Keras's own compilation of the plain model."""

    def fast(model):
        return compile_for_training(model, keras.optimizers.Adam(0.1), smoothing=0.1)

    def plain(model):
        # Prepared: Keras's update of an embedding's sparse gradient under TensorFlow
        # is not that of the whole gradient.
        model.compile(
            prepare_optimizer(keras.optimizers.Adam(0.1)),
            loss=SmoothedCrossEntropy(0.1),
            weighted_metrics=[],
            # Compiled by XLA under JAX alone, where nothing is compiled otherwise.
            jit_compile=keras.backend.backend() == "jax",
        )
        return model

    np.testing.assert_allclose(_losses(fast), _losses(plain), rtol=1e-4)


# === A state that is carried on ===

ROWS = [[4, 5, 6], [7, 8], [4, 4, 8, 6, 5], [6], [8, 8, 7]]


def make_carried(cell="lstm", rate=1e-9):
    backbone = RecurrentLM(9, 4, 5, num_layers=2, cell=cell, initializer_range=0.8)
    model = CarriedState(randomize(backbone), 2)
    compile_for_training(model, keras.optimizers.SGD(rate), loss=SmoothedCrossEntropy())
    return model, StreamBatches(ROWS, batch_size=2, length=4)


def whole(batches):
    return [
        np.concatenate([pick(batches[i]) for i in range(len(batches))], axis=1)
        for pick in (lambda b: b[0]["token_ids"], lambda b: b[1])
    ]


@pytest.mark.parametrize("cell", ["lstm", once("gru")])
def test_the_state_goes_on_and_starts_anew_with_each_epoch(cell):
    model, batches = make_carried(cell)
    ids, labels = whole(batches)
    run = compiled(lambda inputs: model.backbone(inputs, return_states=True))
    logits, final = run({"token_ids": ids})
    weights = (labels > 0).astype("float32")
    wanted = float(SmoothedCrossEntropy()(labels, logits, sample_weight=weights))
    sizes = [float(batches[i][2].sum()) for i in range(len(batches))]
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(float(logs["loss"]))

    model.fit(batches, epochs=2, shuffle=False, verbose=0, callbacks=[Watch()])
    # Keras logs the mean of the batches so far, unweighted.
    for epoch in (seen[:3], seen[3:]):
        own = np.diff([0, *(x * (i + 1) for i, x in enumerate(epoch))])
        assert np.dot(own, sizes) / sum(sizes) == pytest.approx(wanted, rel=1e-4)
    for state, variable in zip(keras.tree.flatten(final), model.carried, strict=True):
        close(variable.value, to_numpy(state))


def test_no_gradient_passes_into_the_batch_before():
    """The gradient of the second segment is that of a segment that starts from the
    first one's state as a constant."""
    model, batches = make_carried()
    backbone = model.backbone
    (first, _, _), (second, labels, weights) = batches[0], batches[1]
    _, states = backbone({"token_ids": first["token_ids"]}, return_states=True)
    states = keras.tree.map_structure(
        lambda s: keras.ops.convert_to_tensor(to_numpy(s)), states
    )
    loss = SmoothedCrossEntropy()

    def plain():
        logits = backbone({"token_ids": second["token_ids"], "states": states})
        return loss(labels, logits, sample_weight=weights)

    value, wanted = gradients(backbone.trainable_variables, plain)
    model.train_on_batch(first, batches[0][1], batches[0][2])

    def carried():
        features = model(second, training=True)
        return model.compute_loss(second, labels, features, weights)

    same, found = gradients(backbone.trainable_variables, carried)
    assert same == pytest.approx(value, rel=1e-5)
    for a, b in zip(found, wanted, strict=True):
        close(a, b)
