import keras
import numpy as np

from tests.marks import QUICK
from zoo.models import Luong, LuongTranslator
from zoo.training import (
    LogitFreeTrainer,
    PairBatches,
    Perplexity,
    SmoothedCrossEntropy,
    compile_for_training,
    prepare_optimizer,
)


def test_a_compiled_task_trains():
    model = LuongTranslator(Luong(20, num_layers=1, hidden_dim=8, embedding_dim=8))
    optimizer = keras.optimizers.Adam()
    task = model
    model = compile_for_training(task, optimizer, smoothing=0.1, normalize="sentences")
    assert isinstance(model, LogitFreeTrainer) and model.name == task.name
    assert [v.path for v in model.variables] == [v.path for v in task.variables]
    assert (model.loss.smoothing, model.loss.normalize) == (0.1, "sentences")
    assert len(model.optimizer.variables) > 2 * len(
        model.trainable_variables
    )  # is built
    if QUICK:  # each translator's own test has a step of it
        return
    before = [keras.ops.convert_to_numpy(v) for v in model.trainable_variables]
    ids = np.array([[4, 5, 6]], "int32")
    inputs = {"source_ids": ids, "target_ids": ids}
    model.fit(inputs, ids, sample_weight=np.ones((1, 3), "float32"), verbose=0)
    after = [keras.ops.convert_to_numpy(v) for v in model.trainable_variables]
    assert all(np.any(a != b) for a, b in zip(before, after, strict=True))


def _losses(compile_model):
    """Losses of two epochs on batches of two shapes."""
    keras.utils.set_random_seed(3)
    sizes = {"num_layers": 1, "hidden_dim": 8, "embedding_dim": 8, "dropout": 0.0}
    model = LuongTranslator(Luong(20, **sizes))
    model = compile_model(model)
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
            weighted_metrics=[Perplexity()],
            # Compiled by XLA under JAX alone, where nothing is compiled otherwise.
            jit_compile=keras.backend.backend() == "jax",
        )
        return model

    np.testing.assert_allclose(_losses(fast), _losses(plain), rtol=1e-4)
