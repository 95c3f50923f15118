"""Small functions that the layers share: a masked softmax, a gather and a scan."""

import types
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor


def values_of(tensor: Tensor) -> Any:
    """A tensor's values as a NumPy array, None while a graph is traced."""
    try:
        return ops.convert_to_numpy(tensor)
    except Exception:  # each backend's tracer has an error class of its own
        return None


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis, of the positions where `mask` is true.

    Masked positions get exactly 0; a row in which nothing is real gets zeros, never
    NaN. Half precisions are computed in float32 and cast back.
    """
    if scores.shape[-1] == 0:
        return scores
    dtype = scores.dtype
    if is_half(scores):
        # Where the score itself overflowed, the largest still wins.
        scores = ops.clip(to_float32(scores), -1e29, 1e29)
    if mask is None:
        return ops.cast(ops.softmax(scores, axis=-1), dtype)
    # A finite minimum: -inf minus -inf would make an empty row NaN.
    shifted = ops.where(mask, scores, -1e30)
    shifted = shifted - ops.stop_gradient(ops.max(shifted, axis=-1, keepdims=True))
    exponentials = ops.exp(shifted) * ops.cast(mask, shifted.dtype)
    total = ops.sum(exponentials, axis=-1, keepdims=True)
    return ops.cast(exponentials / ops.maximum(total, 1e-30), dtype)


def read_mask(
    mask: Tensor | None, length: int, batch: int | None, time: int | None
) -> Any:
    """A memory's mask, `(B or 1[, 1 or T], S)`, as bool `(B, 1 or T, S)`, or None.

    Sizes that aren't known are None. Another shape raises a `ValueError`.
    """
    if mask is None:
        return None
    mask = ops.convert_to_tensor(mask)
    shape = tuple(mask.shape)
    if len(shape) == 2:
        mask = ops.expand_dims(mask, 1)
    wanted = ((1, batch), (1, time), (length,))
    if len(mask.shape) != 3 or not all(
        size is None or None in allowed or size in allowed
        for size, allowed in zip(mask.shape, wanted, strict=True)
    ):
        raise ValueError(
            "A mask must have the shape (B, S), (B, 1, S) or (B, T, S). Received: "
            f"mask {shape}, B={batch}, T={time}, S={length}"
        )
    return ops.cast(mask, "bool")


def real_positions(mask: Tensor) -> Tensor:
    """Numbers the real places of a mask `(..., S)` from 0; undefined at the others."""
    return ops.cumsum(ops.cast(mask, "int32"), axis=-1) - 1


def real_first(mask: Tensor) -> Tensor:
    """The places of a mask `(B, S)`: real ones in their order, then the others."""
    places = ops.arange(ops.shape(mask)[1], dtype="int32")[None]
    order = ops.argsort(ops.where(mask, places, places + ops.shape(mask)[1]), axis=1)
    return ops.cast(order, "int32")


def checked_states(states: Any, sizes: Any, batch: Any = None) -> list[Tensor]:
    """Initial states as a list, after a check that they are `(B, size)`."""
    shapes = [tuple(ops.shape(state)) for state in states]
    wanted = [(batch, int(size)) for size in sizes]
    if [len(shape) for shape in shapes] != [2] * len(wanted) or any(
        isinstance(got, int) and isinstance(size, int) and got != size
        for pair in zip(shapes, wanted, strict=True)
        for got, size in zip(*pair, strict=True)
    ):
        sizes = ", ".join(f"(B, {size})" for _, size in wanted)
        known = f" with B={batch}" if isinstance(batch, int) else ""
        raise ValueError(
            f"Initial states must have the shapes {sizes}{known}. Received: "
            f"{', '.join(map(str, shapes))}"
        )
    return list(states)


def sentence_mask(mask: Tensor | None, memory: Tensor) -> Any:
    """A memory's mask of shape `(B, S)` or `(B, 1, S)` as bool `(B, S)`, or None."""
    if mask is None:
        return None
    return read_mask(mask, memory.shape[1], memory.shape[0], 1)[:, 0]


def clear_masked(memory: Tensor, mask: Tensor | None) -> Tensor:
    """Zeroes the memory where every query is masked: NaN times 0 would be NaN."""
    if mask is None:
        return memory
    mask = read_mask(mask, memory.shape[1], memory.shape[0], None)
    mask = mask[:, 0] if mask.shape[1] == 1 else ops.any(mask, axis=1)
    return ops.where(mask[..., None], memory, 0.0)


def is_half(x: Tensor) -> bool:
    """Whether the tensor's dtype is of half precision: float16 or bfloat16."""
    return "16" in keras.backend.standardize_dtype(x.dtype)


def to_float32(x: Tensor) -> Tensor:
    """Casts half precisions to float32: the result is rounded once, afterwards."""
    return ops.cast(x, "float32") if is_half(x) else x


def flatten_leading(x: Tensor) -> Tensor:
    """Flattens `(…, n)` to a matrix, for a product over the last axis.

    Where a kernel's gradient sums over one axis, JAX's compiler reads both factors as
    they lie. Over two it writes a transposed copy of the gradient from above, and
    recomputes the sum of all residual connections above in each copy.
    """
    return ops.reshape(x, (-1, x.shape[-1]))


def linear(x: Tensor, kernel: Tensor) -> Tensor:
    """`x` `(..., n)` times a matrix `(n, m)`, as one product of two matrices.

    A product of three axes by two, with unknown sizes inside a loop, does not compile
    under TensorFlow's XLA.
    """
    if len(x.shape) == 2:
        return saturate(ops.matmul(x, kernel))
    flat = saturate(ops.matmul(flatten_leading(x), kernel))
    return ops.reshape(flat, (*ops.shape(x)[:-1], kernel.shape[-1]))


def saturate(x: Tensor) -> Tensor:
    """Clips what is too large for float16: infinite terms of both signs sum to NaN."""
    half = keras.backend.standardize_dtype(x.dtype) == "float16"
    return ops.clip(x, -65504.0, 65504.0) if half else x


def columns(x: Tensor, start: int, stop: int) -> Tensor:
    """`x[..., start:stop]`, of known width though that of x may not be."""
    return ops.reshape(x[..., start:stop], (*ops.shape(x)[:-1], stop - start))


def custom_gradient(function: Any) -> Callable:
    """`ops.custom_gradient` that also supports second-order gradients under torch.

    `function` returns a tensor and its gradient, a function of the output's gradient.
    Torch would treat what it computed as constants, so the forward pass is repeated
    where a second gradient will be asked for.
    """

    def forward(*inputs):
        output, gradient = function(*inputs)

        def backward(*upstream_or_inputs, upstream=None):
            if upstream is None:  # TensorFlow and JAX pass nothing else
                return gradient(*upstream_or_inputs)
            if any(is_recorded(x) for x in upstream_or_inputs):
                return function(*upstream_or_inputs)[1](upstream)
            return gradient(upstream)

        return output, backward

    return ops.custom_gradient(forward)


def is_recorded(x: Tensor) -> bool:
    """Whether torch records a gradient of `x`; False under the other backends."""
    # A view has requires_grad even where nothing is recorded; a product has not. Of no
    # elements, it costs nothing.
    return getattr(x, "requires_grad", False) and (x[None][:0] * 1).requires_grad


def gather_rows(values: Tensor, index: Tensor) -> Tensor:
    """Takes `values[b, index[b, t, w]]`, `(B, T, W, d)`, of a table `(B, S, d)`.

    A list of tables of the same B and S gives a list.
    """
    tables = values if isinstance(values, list) else [values]
    batch, length = ops.shape(tables[0])[0], ops.shape(tables[0])[1]
    # One gather of whole rows from a flat table is far cheaper than an
    # element-wise gather along an axis.
    index = index + ops.reshape(ops.arange(batch, dtype="int32") * length, (-1, 1, 1))
    rows = [ops.take(flatten_leading(table), index, axis=0) for table in tables]
    return rows if isinstance(values, list) else rows[0]


def take_last(values: Tensor, index: Tensor) -> Tensor:
    """Takes `values[b, t, index[b, t, s]]` of `(B, T, W)`.

    It needs fewer operations than `ops.take_along_axis`.
    """
    batch, steps, width = ops.shape(values)
    rows = ops.reshape(ops.arange(batch * steps, dtype="int32") * width, (-1, steps, 1))
    return ops.take(ops.reshape(values, (-1,)), index + rows, axis=0)


def cast_weights(weights: Tensor, dtype: Any) -> Tensor:
    """Casts a variable or tensor to the compute dtype, as autocast does in `call`."""
    return ops.cast(ops.convert_to_tensor(weights), dtype)


def scan(
    step: Callable, inputs: Tensor, initial_states: Any, reverse: bool = False
) -> tuple[Tensor, Any]:
    """Runs `step`, `(x_t, states) -> (output, states)`, over the time axis of inputs.

    Unlike `keras.layers.RNN` it takes any function, so that loop-invariant tensors
    (the encoder's memory, its projected keys) reach the step by closure; unlike
    `keras.ops.scan` it compiles under TensorFlow's XLA.

    Args:
        step: of x_t `(B, n)` and nested states; the output is one tensor `(B, m)`.
        inputs: `(B, T, n)`.
        initial_states: nested tensors.
        reverse: whether to run from the last step to the first; the outputs then
            still stand at the time step that made them.

    Returns:
        `(outputs, final_states)`: `(B, T, m)` and nested tensors.
    """
    states, length = initial_states, inputs.shape[1]
    if length == 0:
        row = ops.zeros((ops.shape(inputs)[0], 1, inputs.shape[2]), inputs.dtype)
        return scan(step, row, states)[0][:, :0], states
    if keras.backend.backend() == "torch" or length == 1:
        outputs, order = [], range(length)
        for t in reversed(order) if reverse else order:
            output, states = step(inputs[:, t], states)
            outputs.append(output)
        return ops.stack(outputs[::-1] if reverse else outputs, axis=1), states

    def flat_step(x, flat):
        states = keras.tree.pack_sequence_as(initial_states, list(flat))
        output, states = step(x, states)
        return output, keras.tree.flatten(states)

    # The engine alone: a layer made inside another's call would be traced.
    engine = types.SimpleNamespace(
        cell=flat_step,
        go_backwards=reverse,
        unroll=False,
        stateful=False,
        return_sequences=True,
        zero_output_for_mask=False,
    )
    states = keras.tree.flatten(initial_states)
    _, outputs, states = keras.layers.RNN.inner_loop(engine, inputs, states, mask=None)
    states = keras.tree.pack_sequence_as(initial_states, list(states))
    return (ops.flip(outputs, axis=1) if reverse else outputs), states
