"""Multi-head attention and position encodings (Vaswani et al. 2017)."""

import math
from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import positive
from zoo.layers.attention import MemoryLayer, with_keys
from zoo.layers.configured import Initializer, Size
from zoo.layers.functional import (
    flatten_leading,
    masked_softmax,
    read_mask,
    saturate,
)
from zoo.layers.initializers import clone_initializer, in_float32


def sinusoids(positions: Tensor, size: int, dtype: str = "float32") -> Tensor:
    """Vaswani et al. 2017, section 3.5: sines at even channels, cosines at odd ones.

        PE(p, 2i) = sin(p / 10000^(2i / size)),  PE(p, 2i + 1) = cos(the same)

    Args:
        positions: int tensor of any shape, from 0.
        size: channels, an even number.
        dtype: of the result.

    Returns:
        Tensor `(*positions.shape, size)`.

    Raises:
        ValueError: if `size` is not a positive, even integer.

    Example:
        >>> sinusoids(keras.ops.arange(5), 8).shape
        (5, 8)
    """
    if positive("size", size) % 2:
        raise ValueError(f"`size` must be even. Received: size={size}")
    steps = ops.arange(size // 2, dtype="float32")
    rates = ops.exp(steps * (-2.0 * math.log(10000.0) / size))
    angles = ops.cast(positions, "float32")[..., None] * rates
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.cast(ops.reshape(pairs, (*ops.shape(angles)[:-1], size)), dtype)


@keras.saving.register_keras_serializable(package="zoo")
class MultiHeadAttention(MemoryLayer):
    """Vaswani et al. 2017, section 3.2.

        Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V              equation 1
        head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
        MultiHead(Q, K, V) = [head_1; …; head_h] W^O

    with d_k = d_v = d / h. The heads' matrices stand side by side in one.

    Args:
        num_heads: h.
        use_bias: whether the projections have biases; the paper's have none.
        kernel_initializer: of the four matrices.

    Call arguments:
        query: `(B, T, d)`.
        memory: `(B, S, d_m)`, of which keys and values are made.
        mask: bool `(B, S)`, true where memory is real, or `(B or 1, 1 or T, S)`;
            memory's Keras mask by default.
        keys: `project(memory)`, if it is at hand already.

    Returns:
        `(output, weights)`: `(B, T, d)` and `(B, h, T, S)`. Weights are exactly 0 where
        masked; with nothing to attend to the heads are zeros. The output carries the
        query's Keras mask, if it has one.

    Variables: the kernels (and biases) of `W_Q`, `W_K`, `W_V` and `W_O`.

    Raises:
        ValueError: if `num_heads` is not a positive integer, or, when built, does not
            divide the query's size; when called with a mask of another shape.

    Example:
        >>> import numpy as np
        >>> layer = MultiHeadAttention(num_heads=2)
        >>> output, weights = layer(np.ones((2, 3, 8)), np.ones((2, 5, 6)))
        >>> output.shape, weights.shape
        ((2, 3, 8), (2, 2, 3, 5))
    """

    def __init__(
        self,
        num_heads: Size,
        use_bias: bool = False,
        kernel_initializer: Initializer = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.configure(locals())

    def build(self, query_shape: Shape, memory_shape: Shape) -> None:
        size = query_shape[-1]
        if size % self.num_heads:
            raise ValueError(
                "`num_heads` must divide the query's size. "
                f"Received: num_heads={self.num_heads}, size={size}"
            )
        self.head_size = size // self.num_heads
        sources = {"Q": query_shape, "K": memory_shape, "V": memory_shape}
        for name, shape in {**sources, "O": query_shape}.items():
            layer = keras.layers.Dense(
                size,
                use_bias=self.use_bias,
                kernel_initializer=in_float32(
                    clone_initializer(self.kernel_initializer), self.variable_dtype
                ),
                dtype=self.dtype_policy,
                name=f"W_{name}",
            )
            layer.build((None, None, shape[-1]))
            setattr(self, f"W_{name}", layer)
        self.built = True

    def project(self, memory: Tensor) -> Any:
        """Projects a memory `(B, S, d_m)` to keys and values, the heads apart.

        Returns a list of two `(B, h, S, d_k)`.
        """
        return [self._laid_out(layer, memory) for layer in (self.W_K, self.W_V)]

    def call(
        self,
        query: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        keys: Any = None,
    ) -> Any:
        _, keys = with_keys(self, memory, memory_mask, keys)
        return self.attend(query, keys, memory_mask)

    def attend(self, query: Tensor, keys: Any, mask: Tensor | None = None) -> Any:
        """Attention to keys and values as from `project`."""
        keys, values = keys
        queries = self._heads(self.W_Q, query) * self.head_size**-0.5
        scores = ops.matmul(queries, ops.swapaxes(keys, 2, 3))
        mask = read_mask(mask, keys.shape[2], *query.shape[:2])
        weights = masked_softmax(scores, None if mask is None else mask[:, None])
        return self.combine(weights, values), weights

    def combine(self, weights: Tensor, values: Tensor) -> Tensor:
        """The output `(B, T, d)` for weights `(B, h, T, S)` and values as projected."""
        heads = ops.swapaxes(saturate(ops.matmul(weights, values)), 1, 2)
        lead, size = ops.shape(heads)[:2], self.num_heads * self.head_size
        output = saturate(self.W_O(ops.reshape(heads, (-1, size))))
        return ops.reshape(output, (*lead, size))

    def _heads(self, layer, x):
        """Projects `(B, T, d)` and cuts it into heads, `(B, h, T, d_k)`."""
        batch, length = ops.shape(x)[:2]
        x = saturate(layer(flatten_leading(x)))
        x = ops.reshape(x, (batch, length, self.num_heads, self.head_size))
        return ops.swapaxes(x, 1, 2)

    def _laid_out(self, layer, x):
        """`_heads`, in memory in that order: torch would put it so in each product."""
        heads = self._heads(layer, x)
        batch, _, length, _ = ops.shape(heads)
        flat = ops.reshape(heads, (batch * self.num_heads, length, self.head_size))
        return ops.reshape(flat, (batch, self.num_heads, length, self.head_size))

    def compute_output_shape(self, query_shape: Shape, memory_shape: Shape) -> Any:
        batch, time = query_shape[:2]
        return tuple(query_shape), (batch, self.num_heads, time, memory_shape[1])
