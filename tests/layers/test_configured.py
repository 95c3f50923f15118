import inspect

import keras
import numpy as np
import pytest

from tests.harness import close, same_config, to_numpy
from zoo.layers import AdditiveAttention, PerGate


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_each_gate_is_orthogonal(dtype):
    kernel = keras.ops.cast(PerGate("orthogonal", 3)((5, 15), dtype=dtype), "float32")
    gates = np.split(to_numpy(kernel), 3, axis=1)
    for gate in gates:
        close(gate @ gate.T, np.eye(5), atol=1e-5 if dtype == "float32" else 0.02)
    assert np.abs(gates[0] - gates[1]).max() > 0.1


def test_config_and_clone():
    initializer = PerGate(keras.initializers.RandomNormal(stddev=0.5), 4)
    assert same_config(initializer).gates == 4
    kernels = [to_numpy(i((50, 80))) for i in (initializer.clone(), initializer)]
    assert np.abs(kernels[0] - kernels[1]).max() > 0.1
    assert 0.45 < kernels[0].std() < 0.55


def test_a_seed_repeats_the_kernel_and_not_the_gate():
    initializer = PerGate(keras.initializers.Orthogonal(seed=1), 3)
    kernel = to_numpy(initializer((4, 12)))
    close(initializer((4, 12)), kernel)
    gates = np.split(kernel, 3, axis=1)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(gates[a] - gates[b]).max() > 0.1


def test_a_class_has_its_bases_arguments_or_a_constructor_of_its_own():
    class Own(AdditiveAttention):
        scale: float = 1.0

    class Fixed(Own):
        def __init__(self, **options):
            super().__init__(3, **options)

    assert list(inspect.signature(Own).parameters)[::4] == ["units", "scale"]
    assert Own.from_config(Own(3, scale=2.0).get_config()).scale == 2.0
    layer = type("Fixed2", (Fixed,), {})(use_bias=True)
    assert (layer.units, layer.use_bias) == (3, True)
    for values, options in (((), {}), ((3,), {"units": 3}), ((3, *"abcde"), {})):
        with pytest.raises(TypeError, match="^Own: .* Allowed are .'units', "):
            Own(*values, **options)
    with pytest.raises(TypeError, match="`Lost` must have an .* arguments .'more'."):
        type("Lost", (Fixed,), {"__annotations__": {"more": int}})
