"""Arrays, gradients and configurations in tests."""

import json
import os
import re

import keras
import numpy as np
from keras import ops

from tests.marks import QUICK
from zoo.training import recipe

BACKENDS = ("tensorflow", "jax", "torch")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# float16 has the smaller range, bfloat16 larger errors, and JAX its own products of it.
HALF = ("mixed_float16", "mixed_bfloat16")
if QUICK:
    HALF = HALF[1:] if keras.backend.backend() == "jax" else HALF[:1]


def load_recipe(name):
    """The module of a recipe of zoo's."""
    return recipe.load_recipe(os.path.join(ROOT, "recipes", f"{name}.py"))


def to_numpy(x):
    """Nested tensors as nested arrays."""
    return keras.tree.map_structure(ops.convert_to_numpy, x)


def close(got, wanted, atol=1e-5, rtol=1e-5):
    np.testing.assert_allclose(to_numpy(got), to_numpy(wanted), atol=atol, rtol=rtol)


def both_close(got, wanted, **tolerance):
    """`close` of two pairs, of context and weights say."""
    for one, other in zip(got, wanted, strict=True):
        close(one, other, **tolerance)


def randomize(layer, scale=0.7, seed=0):
    """Gives every variable values large enough to make mistakes visible."""
    rng = np.random.default_rng(seed)
    for variable in layer.trainable_variables:
        variable.assign(rng.uniform(-scale, scale, tuple(variable.shape)))
    return layer


def build_randomized(layer, *shapes, scale=0.7):
    """Builds a layer for inputs of these shapes, with `randomize`d weights."""
    layer.build(*shapes)
    return randomize(layer, scale)


def compiled(function):
    """A function of tensors, under JAX compiled as a whole: there each operation would
    otherwise be compiled by itself for each shape."""
    if keras.backend.backend() != "jax":
        return function
    import jax

    # A new function each time: JAX would find an earlier one's weights in its cache.
    return jax.jit(lambda *args, **options: function(*args, **options))


def by_hand(model, width):
    """A translator's two functions for one sentence, compiled: `begin(ids)` gives its
    memory and first state, `step(token, state, memory)` logits, state and weights.

    Where each shape is a program of its own, `begin` pads ids to `width`.
    """
    pads = QUICK and keras.backend.backend() == "jax"
    backbone = model.backbone
    encode, step = compiled(backbone.encode), compiled(backbone.step)

    def begin(ids):
        ids = np.array([ids], "int32")
        if pads:
            ids = np.pad(ids, ((0, 0), (0, width - ids.shape[1])))
        memory = encode(ids)
        return memory, backbone.start(memory)

    def one(token, state, memory):
        return step(np.array([token], "int32"), state, memory)

    return begin, one


def gradients(variables, function):
    """Value of `function()`, a scalar, and its gradient for each of the variables."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        def loss(values):
            mapping = list(zip(variables, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return function()

        values = [v.value for v in variables]
        value, found = jax.jit(jax.value_and_grad(loss))(values)
    elif backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            value = function()
        found = tape.gradient(value, [v.value for v in variables])
        found = [tf.convert_to_tensor(g) for g in found]  # of an embedding: sparse
    else:
        for variable in variables:
            variable.value.grad = None
        value = function()
        value.backward()
        found = [variable.value.grad for variable in variables]
    return float(to_numpy(value)), [to_numpy(gradient) for gradient in found]


def penalty_gradients(variables, function, x):
    """The gradient, for each of the variables, of Σ (d function(x) / dx)²: that of a
    gradient. `function` gives a scalar."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        def penalty(values):
            mapping = list(zip(variables, values, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return (jax.grad(function)(x) ** 2).sum()

        return to_numpy(jax.jit(jax.grad(penalty))([v.value for v in variables]))
    x, values = ops.convert_to_tensor(x), [v.value for v in variables]
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                value = function(x)
            penalty = tf.reduce_sum(inner.gradient(value, x) ** 2)
        return to_numpy(outer.gradient(penalty, values))
    import torch

    x.requires_grad_(True)
    [gradient] = torch.autograd.grad(function(x), x, create_graph=True)
    return to_numpy(list(torch.autograd.grad((gradient**2).sum(), values)))


def same_config(instance):
    """Asserts that an object survives the round trip through its JSON config."""
    config = instance.get_config()
    copy = type(instance).from_config(json.loads(json.dumps(config)))
    assert json.dumps(copy.get_config()) == json.dumps(config)
    stored = json.dumps(keras.saving.serialize_keras_object(instance))
    again = keras.saving.deserialize_keras_object(json.loads(stored))
    assert type(again) is type(instance)
    return copy


def snake(name):
    """A class's name as Keras names its instances."""
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
