"""Sums W + A B, computed once where many steps read them."""

import numpy as np
from keras import ops

from tests.harness import to_numpy
from zoo.layers import LSTMCell
from zoo.layers.lora import merged_lora


def cell():
    made = LSTMCell(3)
    made.build((None, 2))
    made.enable_lora(1)
    for factor in ("a", "b"):
        variable = getattr(made, f"lora_kernel_{factor}")
        variable.assign(ops.ones(variable.shape))
    return made


def test_a_sum_is_computed_once_and_no_longer_than_it_is_kept():
    first, second = cell(), cell()
    with merged_lora([first]):
        assert first.kernel is first.kernel and second.kernel is not second.kernel
        with merged_lora([second]):
            assert first.kernel is first.kernel and second.kernel is second.kernel
        assert second.kernel is not second.kernel
        kept = to_numpy(first.kernel)
    assert first.kernel is not first.kernel
    np.testing.assert_array_equal(kept, to_numpy(first.kernel))
    first.lora_kernel_b.assign(ops.zeros(first.lora_kernel_b.shape))
    assert not np.array_equal(kept, to_numpy(first.kernel))
