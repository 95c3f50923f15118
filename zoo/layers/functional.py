"""Small functions that the layers share: a masked softmax, gathers and a scan."""

import types
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from zoo.backend import Tensor, bfloat16_product, jax_on_cpu


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis where `mask` is true; 0 elsewhere, never NaN."""
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


def maxima(x: Tensor) -> Tensor:
    """The maxima along the last axis, which is kept as 1."""
    # As `tune_process` sets XLA, its own maxima compare one number at a time.
    while jax_on_cpu() and (size := x.shape[-1]) > 16:
        half = (size + 1) // 2
        x = ops.maximum(x[..., :half], x[..., -half:])
    return ops.max(x, axis=-1, keepdims=True)


def log_sum_exp(x: Tensor) -> Tensor:
    """`ops.logsumexp` along the last axis, which is kept as 1."""
    if not jax_on_cpu():
        return ops.logsumexp(x, axis=-1, keepdims=True)
    top = ops.stop_gradient(maxima(x))
    top = ops.where(ops.isfinite(top), top, 0.0)
    return top + ops.log(ops.sum(ops.exp(x - top), axis=-1, keepdims=True))


def read_mask(mask: Tensor | None, memory: Tensor) -> Any:
    """A mask `(B, S)` of a memory `(B, S, d)` as bool, or None."""
    if mask is None:
        return None
    mask = ops.convert_to_tensor(mask)
    if len(mask.shape) != 2 or any(
        None not in sizes and sizes[0] != sizes[1]
        for sizes in zip(mask.shape, memory.shape, strict=False)
    ):
        raise ValueError(
            "A mask must have the shape (B, S) of what it masks. Received: mask "
            f"{tuple(mask.shape)} for {tuple(memory.shape)}"
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


def is_half(x: Tensor) -> bool:
    """Whether the tensor's dtype is float16 or bfloat16."""
    return "16" in keras.backend.standardize_dtype(x.dtype)


def to_float32(x: Tensor) -> Tensor:
    """Casts half precisions to float32: the result is rounded once, afterwards."""
    return ops.cast(x, "float32") if is_half(x) else x


def flatten_leading(x: Tensor) -> Tensor:
    """Flattens `(…, n)` to a matrix.

    Where a kernel's gradient sums over two axes, JAX's compiler writes transposed
    copies of the gradient from above.
    """
    return ops.reshape(x, (-1, ops.shape(x)[-1]))  # it may be dynamic


def matmul(x: Tensor, y: Tensor, transposed: bool = False) -> Tensor:
    """The product of matrices `(N, n)` and `(n, m)`, or `(m, n)` if `transposed`."""
    x, y = ops.convert_to_tensor(x), ops.convert_to_tensor(y)
    dot = bfloat16_product(x.dtype, y.dtype)
    if dot is None or isinstance(x, keras.KerasTensor):
        return ops.matmul(x, ops.transpose(y) if transposed else y)

    @custom_gradient
    def product(x, y):
        def gradient(upstream):
            pair = (upstream, x) if transposed else (x, upstream)
            return matmul(upstream, y, not transposed), transpose_matmul(*pair)

        axes = ((1,), (int(transposed),)), ((), ())
        return ops.cast(dot(x, y, axes), x.dtype), gradient

    return product(x, y)


def transpose(x: Tensor) -> Tensor:
    """Transposes a matrix that a product reads."""
    if bfloat16_product(x.dtype) is None:
        return ops.transpose(x)
    # In two parts: XLA would fold a single one into the product, without AMX.
    half = x.shape[0] // 2
    return ops.concatenate([ops.transpose(x[:half]), ops.transpose(x[half:])], axis=1)


def transpose_matmul(x: Tensor, y: Tensor) -> Tensor:
    """The product xᵀ y of matrices `(N, n)` and `(N, m)`."""
    if bfloat16_product(x.dtype) and 4 * y.shape[1] <= x.shape[1]:
        return ops.transpose(transpose_matmul(y, x))  # transposing the narrower one
    return matmul(transpose(x), y)


def linear(x: Tensor, kernel: Tensor, transposed: bool = False) -> Tensor:
    """`matmul` of `x` `(..., n)` and a matrix.

    A product of three axes by two, with unknown sizes inside a loop, does not compile
    under TensorFlow's XLA.
    """
    if len(x.shape) == 2:
        return saturate(matmul(x, kernel, transposed))
    flat = saturate(matmul(flatten_leading(x), kernel, transposed))
    return ops.reshape(flat, (*ops.shape(x)[:-1], kernel.shape[0 if transposed else 1]))


def apply_dense(layer: keras.layers.Dense, x: Tensor) -> Tensor:
    """Calls a Dense layer, whose product in bfloat16 is made by `matmul`."""
    dtype = layer.compute_dtype
    if layer.quantization_mode is not None or bfloat16_product(dtype) is None:
        return layer(x)
    output = linear(ops.cast(x, dtype), cast_weights(layer.kernel, dtype))
    if layer.use_bias:
        output = output + cast_weights(layer.bias, dtype)
    return layer.activation(output)


def saturate(x: Tensor) -> Tensor:
    """Clips what is too large for float16: infinite terms of both signs sum to NaN."""
    half = keras.backend.standardize_dtype(x.dtype) == "float16"
    return ops.clip(x, -65504.0, 65504.0) if half else x


def columns(x: Tensor, start: int, stop: int) -> Tensor:
    """`x[..., start:stop]`, of known width though that of x may not be."""
    return ops.reshape(x[..., start:stop], (*ops.shape(x)[:-1], stop - start))


def join(*parts: Tensor | None) -> Tensor:
    """Concatenates the parts that are not None."""
    present = [part for part in parts if part is not None]
    return ops.concatenate(present, axis=-1) if len(present) > 1 else present[0]


def custom_gradient(function: Any) -> Callable:
    """`ops.custom_gradient` that also supports second-order gradients under torch.

    Torch would take what `function` computed for constants, so the forward pass is
    repeated where a second gradient will be asked for.
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
    # A view has requires_grad even where nothing is recorded; a product has not.
    return getattr(x, "requires_grad", False) and (x[None][:0] * 1).requires_grad


def gather_rows(values: Tensor, index: Tensor) -> Tensor:
    """Takes `values[b, index[b, t, w]]`, `(B, T, W, d)`, of a table `(B, S, d)`."""
    batch, length = ops.shape(values)[0], ops.shape(values)[1]
    # One gather of whole rows is far cheaper than one of elements along an axis.
    index = index + ops.reshape(ops.arange(batch, dtype="int32") * length, (-1, 1, 1))
    return ops.take(flatten_leading(values), index, axis=0)


def take_last(values: Tensor, index: Tensor) -> Tensor:
    """`ops.take_along_axis` of `(B, T, W)` over the last axis, in fewer operations."""
    batch, steps, width = ops.shape(values)
    rows = ops.reshape(ops.arange(batch * steps, dtype="int32") * width, (-1, steps, 1))
    return ops.take(ops.reshape(values, (-1,)), index + rows, axis=0)


def cast_weights(weights: Tensor, dtype: Any) -> Tensor:
    """Casts a variable or tensor to the compute dtype, as autocast does in `call`."""
    return ops.cast(ops.convert_to_tensor(weights), dtype)


def scan(
    step: Callable, inputs: Tensor, initial_states: Any, reverse: bool = False
) -> tuple[Tensor, Any]:
    """Runs `(x_t, states) -> (output, states)` over the time axis of `(B, T, n)`.

    Unlike `keras.layers.RNN` it takes any function; unlike `keras.ops.scan` it compiles
    under TensorFlow's XLA. Run in reverse, outputs stand where they were made.
    """
    states, length = initial_states, inputs.shape[1]
    if keras.backend.backend() == "torch" or length == 1:
        # The gradient of `inputs[:, t]` would be a tensor of the size of the inputs.
        slices, outputs = ops.unstack(ops.convert_to_tensor(inputs), length, axis=1), []
        for x in slices[::-1] if reverse else slices:
            output, states = step(x, states)
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
