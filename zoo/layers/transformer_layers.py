"""Multi-head attention and the layers made of it (Vaswani et al. 2017, section 3)."""

import math
from typing import Any, ClassVar, Literal

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import MemoryLayer, with_keys
from zoo.layers.configured import (
    ConfiguredLayer,
    Initializer,
    Rate,
    Size,
    clone_initializer,
    in_float32,
)
from zoo.layers.functional import (
    apply_dense,
    flatten_leading,
    masked_softmax,
    read_mask,
    saturate,
)


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
        ValueError: if `size` is odd.

    Example:
        >>> sinusoids(keras.ops.arange(5), 8).shape
        (5, 8)
    """
    if size % 2:
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
        kernel_initializer: of the four matrices.

    Call arguments:
        query: `(B, T, d)`.
        memory: `(B, S, d_m)`, of which keys and values are made.
        mask: bool `(B, S)`, true where memory is real; its Keras mask by default.
        keys: `project(memory)`, if it is at hand already.

    Returns:
        `(output, weights)`: `(B, T, d)` and `(B, h, T, S)`. Weights are exactly 0 where
        masked; with nothing to attend to the heads are zeros. The output carries the
        query's Keras mask, if it has one.

    Variables: the kernels of `W_Q`, `W_K`, `W_V` and `W_O`.

    Raises:
        ValueError: if `num_heads` is not a positive integer, or, when built, does not
            divide the query's size.

    Example:
        >>> import numpy as np
        >>> layer = MultiHeadAttention(num_heads=2)
        >>> output, weights = layer(np.ones((2, 3, 8)), np.ones((2, 5, 6)))
        >>> output.shape, weights.shape
        ((2, 3, 8), (2, 2, 3, 5))
    """

    num_heads: Size
    kernel_initializer: Initializer = "glorot_uniform"

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
            layer = _dense(self, size, f"W_{name}", use_bias=False)
            layer.build((None, None, shape[-1]))
            setattr(self, f"W_{name}", layer)
        self.built = True

    def project(self, memory: Tensor) -> Any:
        """Projects a memory `(B, S, d_m)` to keys and values, two `(B, h, S, d_k)`."""
        return [self._laid_out(layer, memory) for layer in (self.W_K, self.W_V)]

    def call(
        self,
        query: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        keys: Any = None,
    ) -> Any:
        _, keys = with_keys(self, memory, memory_mask, keys)
        return self.attend(query, keys, read_mask(memory_mask, memory))

    def attend(self, query: Tensor, keys: Any, mask: Tensor | None = None) -> Any:
        """Attention to keys and values as from `project`; see `call`.

        Args:
            query: `(B, T, d)`.
            keys: from `project`.
            mask: bool `(B, S)`, or `(B or 1, T, S)`, one mask a query.
        """
        keys, values = keys
        queries = self._heads(self.W_Q, query) * self.head_size**-0.5
        scores = ops.matmul(queries, ops.swapaxes(keys, 2, 3))
        if mask is not None:
            mask = mask[:, None] if len(mask.shape) == 3 else mask[:, None, None]
        weights = masked_softmax(scores, mask)
        return self.combine(weights, values), weights

    def combine(self, weights: Tensor, values: Tensor) -> Tensor:
        """The output `(B, T, d)` for weights `(B, h, T, S)` and values as projected."""
        heads = ops.swapaxes(saturate(ops.matmul(weights, values)), 1, 2)
        lead, size = ops.shape(heads)[:2], self.num_heads * self.head_size
        output = saturate(apply_dense(self.W_O, ops.reshape(heads, (-1, size))))
        return ops.reshape(output, (*lead, size))

    def _heads(self, layer, x):
        """Projects `(B, T, d)` and cuts it into heads, `(B, h, T, d_k)`."""
        batch, length = ops.shape(x)[:2]
        x = saturate(apply_dense(layer, flatten_leading(x)))
        x = ops.reshape(x, (batch, length, self.num_heads, self.head_size))
        return ops.swapaxes(x, 1, 2)

    def _laid_out(self, layer, x):
        """`_heads`, in memory in that order: torch would put it so in each product."""
        batch, length = ops.shape(x)[:2]
        flat = ops.reshape(self._heads(layer, x), (-1, length, self.head_size))
        return ops.reshape(flat, (batch, self.num_heads, length, self.head_size))

    def compute_output_shape(self, query_shape: Shape, memory_shape: Shape) -> Any:
        batch, time = query_shape[:2]
        return tuple(query_shape), (batch, self.num_heads, time, memory_shape[1])


def _dense(owner, units, name, **options):
    """A Dense layer of another layer's dtype and initializer."""
    draw = in_float32(clone_initializer(owner.kernel_initializer), owner.variable_dtype)
    options |= {"name": name, "dtype": owner.dtype_policy}
    return keras.layers.Dense(units, kernel_initializer=draw, **options)


class _TransformerLayer(ConfiguredLayer):
    """Sub-layers with residual connections, layer normalisation and dropout."""

    names: ClassVar[tuple[str, ...]] = ()  # of sub-layers, attentions first

    num_heads: Size
    ff_dim: Size
    dropout: Rate = 0.0
    norm: Literal["post", "pre"] = "post"
    kernel_initializer: Initializer = "glorot_uniform"
    seed: Any = None

    def setup(self) -> None:
        self.make_dropout()
        policy = self.dtype_policy
        for name in self.names[:-1]:
            initializer = clone_initializer(self.kernel_initializer)
            layer = MultiHeadAttention(
                self.num_heads, initializer, name=name, dtype=policy
            )
            setattr(self, name, layer)
        for name in (f"{name}_norm" for name in self.names):
            layer = keras.layers.LayerNormalization(
                epsilon=1e-6, name=name, dtype=policy
            )
            setattr(self, name, layer)
        self.inner = _dense(self, self.ff_dim, "W_1", activation="relu")

    def build(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> None:
        for name, shape in zip(
            self.names[:-1], (inputs_shape, memory_shape), strict=False
        ):
            getattr(self, name).build(inputs_shape, shape)
        for name in self.names:
            getattr(self, f"{name}_norm").build(inputs_shape)
        self.inner.build(inputs_shape)
        self.outer = _dense(self, inputs_shape[-1], "W_2")
        self.outer.build((*inputs_shape[:-1], self.ff_dim))
        self.built = True

    def sublayer(self, name, x, function, training=False):
        """Residual connection, normalisation and dropout around `function`."""
        norm = getattr(self, f"{name}_norm")
        output = function(norm(x) if self.norm == "pre" else x)
        output, *rest = output if isinstance(output, tuple) else (output,)
        x = saturate(x + self.drop(output, training=training))
        x = norm(x) if self.norm == "post" else x
        return (x, *rest) if rest else x

    def feed_forward(self, x):
        """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, equation 2."""
        output = saturate(apply_dense(self.inner, flatten_leading(x)))
        output = saturate(apply_dense(self.outer, output))
        return ops.reshape(output, ops.shape(x))


@keras.saving.register_keras_serializable(package="zoo")
class TransformerEncoderLayer(_TransformerLayer):
    """One layer of the encoder: self-attention, then a feed-forward network.

        post:  x = LayerNorm(x + Dropout(Sublayer(x)))     the paper, section 5.4
        pre:   x = x + Dropout(Sublayer(LayerNorm(x)))     The Annotated Transformer

    A stack of "pre" layers needs one more normalisation at its end.

    Args:
        num_heads: h.
        ff_dim: d_ff, size of the inner layer.
        dropout: on each sub-layer's output.
        norm: "post" or "pre".
        kernel_initializer: of all matrices.
        seed: seed of the dropout masks.

    Call arguments:
        inputs: `(B, S, d)`.
        mask: bool `(B, S)`, true where real; the inputs' Keras mask by default.

    Returns:
        `(B, S, d)`; values at padding are undefined. It carries the mask.

    Raises:
        ValueError: for another norm, sizes that are not positive integers, or a rate
            outside [0, 1).

    Example:
        >>> import numpy as np
        >>> TransformerEncoderLayer(num_heads=2, ff_dim=16)(np.ones((2, 5, 8))).shape
        (2, 5, 8)
    """

    names = ("self_attention", "feed_forward")

    def build(self, inputs_shape: Shape) -> None:
        super().build(inputs_shape)

    def call(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        def attend(x):
            return self.self_attention(x, x, mask=mask)[0]

        x = ops.cast(inputs, self.compute_dtype)
        x = self.sublayer("self_attention", x, attend, training)
        return self.sublayer("feed_forward", x, self.feed_forward, training)

    def compute_output_shape(self, inputs_shape: Shape) -> Any:
        return tuple(inputs_shape)


@keras.saving.register_keras_serializable(package="zoo")
class TransformerDecoderLayer(MemoryLayer, _TransformerLayer):
    """One layer of the decoder.

    Self-attention to the past, attention to the source, a feed-forward network.

    It takes the arguments of `TransformerEncoderLayer`, and raises what that raises.

    Call arguments:
        inputs: `(B, T, d)`.
        memory: `(B, S, d_m)`, the encoder's output.
        mask: bool `(B, S)`, true where memory is real; its Keras mask by default.
        keys: `project(memory)`, if it is at hand already.

    Returns:
        `(outputs, weights)`: `(B, T, d)`, and the weights on the source, the mean of
        the heads, `(B, T, S)`. The outputs carry the inputs' Keras mask, if they have
        one.

    Example:
        >>> import numpy as np
        >>> layer = TransformerDecoderLayer(num_heads=2, ff_dim=16)
        >>> outputs, weights = layer(np.ones((2, 3, 8)), np.ones((2, 5, 8)))
        >>> outputs.shape, weights.shape
        ((2, 3, 8), (2, 3, 5))
    """

    names = ("self_attention", "memory_attention", "feed_forward")

    def project(self, memory: Tensor) -> Tensor:
        """Keys and values of the source, computed once a sentence."""
        return self.memory_attention.project(memory)

    def call(
        self,
        inputs: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        keys: Any = None,
        training: bool = False,
    ) -> Any:
        steps = ops.arange(ops.shape(inputs)[1], dtype="int32")
        past = (steps[None] <= steps[:, None])[None]  # no attention to the future

        def attend(x):
            keys = self.self_attention.project(x)
            return self.self_attention.attend(x, keys, past)[0]

        x = ops.cast(inputs, self.compute_dtype)
        x = self.sublayer("self_attention", x, attend, training)
        _, keys = with_keys(self, memory, memory_mask, keys)
        mask = read_mask(memory_mask, keys[0][:, 0])
        return self._read(x, keys, mask, training)

    def _read(self, x, keys, mask, training=False):
        """The other sub-layers; K consecutive rows are K queries for one sentence."""
        single, batch = x.shape[1] == 1, ops.shape(keys[0])[0]

        def attend(x):
            rows = ops.reshape(x, (batch, -1, x.shape[-1])) if single else x
            output, weights = self.memory_attention.attend(rows, keys, mask)
            weights = ops.mean(weights, axis=1)
            if single:
                output = ops.reshape(output, (-1, 1, output.shape[-1]))
                weights = ops.reshape(weights, (-1, 1, ops.shape(weights)[-1]))
            return output, weights

        x, weights = self.sublayer("memory_attention", x, attend, training)
        return self.sublayer("feed_forward", x, self.feed_forward, training), weights

    def make_cache(self, batch_size: int, length: int) -> Any:
        """Room for keys and values of `length` positions, two `(R, h, length, d_k)`."""
        shape = (batch_size, self.num_heads, length, self.self_attention.head_size)
        return [ops.zeros(shape, dtype=self.compute_dtype) for _ in range(2)]

    def step(
        self,
        inputs: Tensor,
        cache: Any,
        position: Tensor,
        keys: Any,
        mask: Tensor | None = None,
    ) -> Any:
        """One target position, `(R, d)` to `(output (R, d), weights (R, S), cache)`.

        Args:
            inputs: R may be a multiple of memory's rows, K consecutive ones for one
                sentence.
            cache: from `make_cache` or the last step; the newest position comes first.
            position: int, the steps since `make_cache`, `(R,)`, or `(1,)` where it is
                one for all rows.
            keys: `project(memory)`.
            mask: bool `(B, S)`, true where memory is real.
        """
        places = ops.arange(ops.shape(cache[0])[2], dtype="int32")[None]
        past = (places <= position[:, None])[:, None]

        def attend(x):
            new = self.self_attention.project(x)
            # Shifted: a copy takes half of the time of writing at a place.
            new_cache = [
                ops.concatenate([n, old[:, :, :-1]], axis=2)
                for n, old in zip(new, cache, strict=True)
            ]
            return self.self_attention.attend(x, new_cache, past)[0], new_cache

        x = ops.cast(inputs, self.compute_dtype)[:, None]
        x, new_cache = self.sublayer("self_attention", x, attend)
        x, weights = self._read(x, keys, mask)
        return x[:, 0], weights[:, 0], new_cache

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape) -> Any:
        batch, time = inputs_shape[:2]
        return tuple(inputs_shape), (batch, time, memory_shape[1])
