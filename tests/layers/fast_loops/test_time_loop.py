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
