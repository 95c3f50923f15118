"""Layers as they stand in anybody's Keras model: `check_in_a_model`.

And KerasHub's own tests of layers, backbones and tasks, as `KerasHubTests`.
"""

import copy
import json
import pickle
import sys
import tempfile
import types
from unittest import mock

import keras
import numpy as np
from keras import ops

from tests.harness import close, compiled, randomize, snake, to_numpy
from tests.marks import QUICK

VOCABULARY, SIZE = 9, 4
TARGET = np.array(
    [[4, 5, 6, 7, 8, 3, 2], [2, 6, 7, 8, 0, 0, 0], [3] + [0] * 6], "int32"
)
SOURCE = np.array(
    [[4, 5, 6, 7, 0], [5, 8, 0, 0, 0], [0, 0, 0, 0, 0]],  # and an empty one
    "int32",
)


def embedded(ids, masked):
    return keras.layers.Embedding(VOCABULARY, SIZE, mask_zero=masked)(ids)


def in_a_model(connect, implicit=True, dtype=None):
    """A functional model of target and source ids: word vectors, the layer twice, a
    Dense layer.

    Args:
        connect: function `(x, memory, mask) -> outputs (B, T, SIZE)` that makes the
            layer and calls it; it may read the one or both, `mask` is {} or the
            argument of an explicit mask.
        implicit: whether the mask comes from the embeddings; otherwise it is passed as
            `mask=`.
    """
    around = keras.config.dtype_policy()
    keras.config.set_dtype_policy(dtype or around)
    try:
        target = keras.Input((None,), dtype="int32")
        source = keras.Input((None,), dtype="int32")
        own = connect.reads != "memory"  # `mask=` is of the sequence itself
        x = embedded(target, implicit or not own)
        memory = embedded(source, implicit or own)
        mask = {}
        if not implicit:
            mask = {"mask": ops.not_equal(target if own else source, 0)}
        for _ in range(2):
            x = connect(x, memory, mask)
        return keras.Model([target, source], keras.layers.Dense(3)(x))
    finally:
        keras.config.set_dtype_policy(around)


def masked_loss(outputs, labels, target):
    """The mean squared error of the real steps, as Keras weighs a masked output."""
    errors = ((to_numpy(outputs) - labels) ** 2).mean(-1)
    return errors[target > 0].mean()


def a_model(connect):
    """(model with random weights, its inputs, labels for its outputs)."""
    keras.utils.set_random_seed(2)
    model = randomize(in_a_model(connect))
    labels = np.random.default_rng(0).normal(size=(*TARGET.shape, 3))
    return model, [TARGET, SOURCE], labels.astype("float32")


def check_in_a_model(connect):
    """Proves that a layer does what Keras's own do in a functional model: its outputs
    carry the mask, padding changes nothing, it trains compiled, is copied and saved."""
    model, inputs, labels = a_model(connect)
    real = TARGET > 0
    new = AssertionError("a layer was made inside a call")
    with mock.patch.object(keras.Layer, "__init__", side_effect=new):
        wanted = to_numpy(compiled(model)(inputs))
    assert wanted.shape == (*TARGET.shape, 3) and np.isfinite(wanted).all()

    # More padding, fewer rows: the same result.
    wider = [np.pad(ids, ((0, 0), (0, 3)))[[2, 0, 1]] for ids in inputs]
    padded = to_numpy(compiled(model)(wider))[[1, 2, 0], : TARGET.shape[1]]
    close(padded[real], wanted[real], atol=1e-6)

    # `fit`, compiled by XLA where there is one: the loss before the step is that of
    # the real steps alone.
    expected = masked_loss(wanted, labels, TARGET)
    before = [np.array(weight) for weight in model.get_weights()]
    found = fitted_loss(model, inputs, labels)
    assert abs(found - expected) < 1e-5 * max(1, expected), (found, expected)
    after = model.get_weights()
    assert any((a != b).any() for a, b in zip(after, before, strict=True))

    check_copies(model, inputs)
    if QUICK:  # each layer's own test has half precision
        return
    wanted = to_numpy(compiled(model)(inputs))
    half = in_a_model(connect, dtype="mixed_bfloat16")
    half.set_weights(model.get_weights())
    output = to_numpy(ops.cast(compiled(half)(inputs), "float32"))
    close(output[real], wanted[real], atol=0.15, rtol=0.1)


def fitted_loss(model, inputs, labels, rate=0.1):
    """The loss that one step of `fit` reports, which is that before the step."""
    jit = keras.backend.backend() != "torch"
    model.compile(keras.optimizers.SGD(rate), "mse", jit_compile=jit)
    history = model.fit(inputs, labels, batch_size=len(labels), verbose=0)
    return history.history["loss"][0]


def check_copies(model, inputs):
    """A `.keras` file, a pickle and a deep copy have the model's weights and config.
    The first gives its outputs."""
    config = json.dumps(model.get_config())
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        loaded = keras.models.load_model(f"{folder}/model.keras")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), loaded):
        assert json.dumps(other.get_config()) == config
        for got, own in zip(other.get_weights(), model.get_weights(), strict=True):
            np.testing.assert_array_equal(got, own)
    if not QUICK:
        close(compiled(loaded)(inputs), compiled(model)(inputs), atol=1e-6)


def _kerashub_tests():
    """KerasHub's own `TestCase`. It imports `grain`, for tests of preprocessing that
    aren't run here, whether it is installed or not."""
    import keras_hub  # noqa: F401  (it must not take the stand-in for the real one)

    name, missing = "grain", "grain" not in sys.modules
    try:
        import grain  # noqa: F401
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
    try:
        from keras_hub.src.tests.test_case import TestCase
    finally:
        if missing and not hasattr(sys.modules[name], "MapDataset"):
            del sys.modules[name]

    class Tests(TestCase):
        def runTest(self):
            """Nothing: the methods are called one by one."""

    return Tests()


# KerasHub looks at the dtypes of outputs and layers in three precisions. No backend
# changes them; the others would compile a model three times more.
DTYPES = keras.backend.backend() == "torch"


def kerashub_layer_test(cls, options, inputs, **others):
    """KerasHub's `run_layer_test` of a layer that is called with `**inputs`, arrays;
    `**others` are further arguments of it."""
    inputs = {name: ops.convert_to_tensor(array) for name, array in inputs.items()}
    layer = cls(**options)
    outputs = layer(**inputs)
    _kerashub_tests().run_layer_test(
        cls,
        options,
        inputs,
        expected_output_shape=keras.tree.map_structure(lambda x: x.shape, outputs),
        expected_num_trainable_weights=len(layer.trainable_weights),
        expected_num_non_trainable_weights=len(layer.non_trainable_weights),
        expected_num_non_trainable_variables=len(layer.non_trainable_variables),
        run_precision_checks=DTYPES,
        **others,
    )


def kerashub_backbone_test(cls, options, inputs):
    """KerasHub's `run_backbone_test`, which knows the layers of a quantized copy by
    their paths."""
    options = {**options, "name": snake(cls.__name__)}
    inputs = keras.tree.map_structure(ops.convert_to_tensor, inputs)
    shape = cls(**options)(inputs).shape
    tests = _kerashub_tests()
    tests.run_backbone_test(
        cls, options, inputs, shape, run_mixed_precision_check=DTYPES
    )


def kerashub_task_test(cls, options, data, structure, monkeypatch):
    """KerasHub's `run_task_test`. Of its own tasks, which are functional models, it
    reads the structure of the inputs off a private attribute."""
    monkeypatch.setattr(cls, "_inputs_struct", structure, raising=False)
    _kerashub_tests().run_task_test(cls, options, data)
