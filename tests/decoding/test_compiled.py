import keras
import numpy as np

from zoo.decoding.compiled import compiled


def make_model():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.layers[0].kernel.assign([[2.0]])
    return model


def times_weight(model):
    return lambda ids: (model.layers[0].kernel[0, 0] * keras.ops.cast(ids, "float32"),)


IDS = np.array([1, 2, 5], "int32")


def test_the_weights_are_those_of_the_call():
    run = compiled(model := make_model(), "key", times_weight(model))
    run(IDS)
    model.layers[0].kernel.assign([[3.0]])
    assert run(IDS)[0].tolist() == [3, 6, 15]


def test_one_key_is_compiled_once():
    model = make_model()
    run = compiled(model, "key", times_weight(model))
    assert compiled(model, "key", None) is run
    assert compiled(model, "other", times_weight(model)) is not run
    assert compiled(make_model(), "key", times_weight(model)) is not run


def test_other_variables_are_compiled_anew():
    model = make_model()
    compiled(model, "key", times_weight(model))(IDS)
    model.layers[0].quantize("int8")
    run = compiled(model, "key", lambda ids: (ids + 1,))
    assert run(IDS)[0].tolist() == [2, 3, 6]
