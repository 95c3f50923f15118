"""Whole LSTM layers by cuDNN's kernel, which Keras reaches without masks only."""

import types
import warnings
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor
from zoo.layers.cells import lstm_states
from zoo.layers.functional import cast_weights, gather_rows, real_first, scan

# torch would like Keras to hold an LSTM's weights in one piece of memory.
warnings.filterwarnings("ignore", message="RNN module weights are not part of single")

# Added to a gate's input it closes (or, for the forget gate, opens) it to the last bit.
_SATURATED = 1e4


def has_cudnn(cell: Any, inputs: Tensor) -> bool:
    """Whether Keras can run this LSTM cell over a sequence by cuDNN's kernel.

    Not under TensorFlow, whose XLA has no such kernel, nor under JAX with several
    devices, each of which would do the whole batch.
    """
    backend = keras.backend.backend()
    if not cell.is_standard or backend not in ("jax", "torch") or inputs.shape[1] == 1:
        return False
    if backend == "torch":
        device = getattr(inputs, "device", None)
        return getattr(device, "type", None) == "cuda"
    if keras.distribution.distribution() is not None:
        return False
    return any("gpu" in device for device in keras.distribution.list_devices())


def run_lstm(
    cell: Any,
    inputs: Tensor,
    initial_states: list[Tensor],
    mask: Tensor | None = None,
    reverse: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """`run_cell` of an LSTM cell by Keras's own LSTM layer, cuDNN's on a GPU.

    cuDNN has no mask: the real steps are moved to the front of each row in the order in
    which they are read, and behind them an extra input shuts the gates, so that c stays
    as it is. h is taken from the last real step.
    """
    inputs = ops.convert_to_tensor(inputs)
    dtype = keras.backend.standardize_dtype(inputs.dtype)
    # JAX's binding of the kernel knows no other type.
    compute = "float32" if keras.backend.backend() == "jax" else dtype
    bias = cell.bias if cell.use_bias else ops.zeros((4 * cell.units,))
    own = cell.kernel, cell.recurrent_kernel, bias
    weights = [cast_weights(x, compute) for x in own]
    sequence, *states = (ops.cast(x, compute) for x in (inputs, *initial_states))
    if mask is not None:
        mask = ops.cast(mask, "bool")
        outputs, states = _run_masked(sequence, states, weights, mask, reverse)
    else:
        sequence = ops.flip(sequence, axis=1) if reverse else sequence
        outputs, states = _run(sequence, states, *weights)
        outputs = ops.flip(outputs, axis=1) if reverse else outputs
    return ops.cast(outputs, dtype), [ops.cast(state, dtype) for state in states]


def _run_masked(sequence, states, weights, mask, reverse):
    """The real steps first, then steps that leave c as it is."""
    (kernel, recurrent, bias), dtype = weights, sequence.dtype
    order = real_first(ops.flip(mask, axis=1) if reverse else mask)
    order = ops.shape(mask)[1] - 1 - order if reverse else order
    count = ops.sum(ops.cast(mask, "int32"), axis=1)  # (B,)
    pads = ops.arange(ops.shape(mask)[1], dtype="int32")[None] >= count[:, None]
    pads = ops.cast(pads, dtype)[..., None]
    sequence = ops.concatenate([_take(sequence, order), pads], axis=-1)
    shut = [-_SATURATED, _SATURATED, 0.0, 0.0]  # i, f, candidate, o
    # `ops.repeat` would wait for the GPU, and no CUDA graph can hold it.
    row = ops.convert_to_tensor(shut, dtype=dtype)[:, None]
    row = ops.reshape(ops.broadcast_to(row, (4, recurrent.shape[0])), (1, -1))
    kernel = ops.concatenate([kernel, row], axis=0)
    outputs, (_, c) = _run(sequence, states, kernel, recurrent, bias)
    h = _take(outputs, ops.maximum(count - 1, 0)[:, None])[:, 0]
    h = ops.where(count[:, None] > 0, h, states[0])
    outputs = _take(outputs, ops.argsort(order, axis=1))
    return ops.where(mask[..., None], outputs, ops.zeros_like(outputs)), [h, c]


def _take(sequence, steps):
    """Of row b the steps `steps[b]`."""
    return gather_rows(sequence, ops.cast(steps, "int32")[..., None])[:, :, 0]


def _run(sequence, states, *weights):
    """Keras's LSTM layer over these weights, without a layer made inside a call."""
    cell = types.SimpleNamespace(
        **dict(zip(("kernel", "recurrent_kernel", "bias"), weights, strict=True)),
        activation=keras.activations.tanh,
        recurrent_activation=keras.activations.sigmoid,
    )
    engine = types.SimpleNamespace(
        cell=cell,
        use_cudnn=True,
        dropout=0,
        recurrent_dropout=0,
        return_sequences=True,
        go_backwards=False,
        unroll=False,
    )
    try:
        _, *results = keras.layers.LSTM.inner_loop(engine, sequence, states, mask=None)
        return results
    except ValueError:  # Keras's, where cuDNN can't do it
        kernel, recurrent, bias = weights

    def step(x, states):
        h, c = states
        net = ops.matmul(x, kernel) + ops.matmul(h, recurrent) + bias
        h, c = ops.split(lstm_states(net, c), 2, axis=-1)
        return h, [h, c]

    return scan(step, sequence, states)
