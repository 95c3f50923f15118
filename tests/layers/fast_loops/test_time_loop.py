import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import close, gradients
from zoo.layers.fast_loops.time_loop import TimeLoop
from zoo.layers.functional import scan

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.parametrize("shape", ["(T, B, m)", "(B, m)", "(m,)", "none"])
def test_a_product_has_the_gradients_of_a_plain_scan(length, shape):
    """Of the loop's matrix, of what is added to its products and of its first state."""
    shapes = {"(T, B, m)": (length, 2, 4), "(B, m)": (2, 4), "(m,)": (4,)}
    values = [RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3))]
    if shape in shapes:
        values.append(RNG.normal(size=shapes[shape]))
    variables = [keras.Variable(value, dtype="float32") for value in values]
    other, back, weights = (
        ops.convert_to_tensor(RNG.normal(size=size).astype("float32"))
        for size in ((length, 2, 4), (4, 3), (2, length, 3))
    )

    def outputs_of(product, place, run):
        def step(x, states):
            net = product(x, states[0]) + x[place]
            state = ops.tanh(ops.matmul(net, back))
            return state, [state]

        return ops.sum(run(step)[0] * weights)

    def fast():
        kernel, first, *added = (1.0 * variable for variable in variables)
        loop = TimeLoop((length, 2), "float32", training=True)
        place = loop.add_input(other)
        product = loop.product(kernel, *added)
        return outputs_of(product, place, lambda step: loop.run(step, [first]))

    def plain():
        kernel, first, *added = (1.0 * variable for variable in variables)
        whole = ops.swapaxes(sum(added, other), 0, 1)
        return outputs_of(
            lambda x, h: ops.matmul(h, kernel),
            0,
            lambda step: scan(lambda x, s: step([x], s), whole, [first]),
        )

    value, found = gradients(variables, fast)
    expected, wanted = gradients(variables, plain)
    assert value == pytest.approx(expected, rel=1e-5)
    for got, right in zip(found, wanted, strict=True):
        close(got, right, 1e-5)
        assert np.abs(right).max() > 0


@pytest.mark.parametrize("training", [True, False])
def test_compiled_backends_prepare_gradients_in_training(training):
    loop = TimeLoop((5, 2), "float32", training)
    loop.product(ops.ones((3, 4)), ops.ones((5, 2, 4)))
    prepared = training and keras.backend.backend() != "torch"
    assert [s.shape[-1] for s in loop.sequences] == [7 if prepared else 4]


def test_backwards_the_outputs_stand_where_they_were_made():
    x = RNG.normal(size=(4, 2, 3)).astype("float32")
    loop = TimeLoop((4, 2), "float32")
    place = loop.add_input(ops.convert_to_tensor(x))

    def step(slices, states):
        total = states[0] + slices[place]
        return total, [total]

    outputs, [final] = loop.run(step, [ops.zeros((2, 3))], reverse=True)
    wanted = np.swapaxes(np.cumsum(x[::-1], axis=0)[::-1], 0, 1)
    close(outputs, wanted)
    close(final, wanted[:, 0])
