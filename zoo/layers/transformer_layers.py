"""The Transformer's encoder and decoder layers (Vaswani et al. 2017, section 3.1)."""

from typing import Any, Literal

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import MemoryLayer, with_keys
from zoo.layers.configured import AboveZero, Configured, Initializer, Rate, Size
from zoo.layers.functional import flatten_leading, saturate
from zoo.layers.initializers import clone_initializer, in_float32
from zoo.layers.multi_head import MultiHeadAttention


class _TransformerLayer(Configured, keras.layers.Layer):
    """Sub-layers with residual connections, layer normalisation and dropout.

    A subclass names its sub-layers in `names`, attentions first.
    """

    names: tuple[str, ...] = ()

    def __init__(
        self,
        num_heads: Size,
        ff_dim: Size,
        dropout: Rate = 0.0,
        norm: Literal["post", "pre"] = "post",
        kernel_initializer: Initializer = "glorot_uniform",
        epsilon: AboveZero = 1e-6,
        seed: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.configure(locals())
        self.supports_masking = True
        self.drop = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)
        for name in self.names[:-1]:
            options = {"name": name, "dtype": self.dtype_policy}
            initializer = clone_initializer(self.kernel_initializer)
            layer = MultiHeadAttention(
                num_heads, kernel_initializer=initializer, **options
            )
            setattr(self, name, layer)
        for name in (f"{name}_norm" for name in self.names):
            layer = keras.layers.LayerNormalization(
                epsilon=epsilon, name=name, dtype=self.dtype_policy
            )
            setattr(self, name, layer)
        self.inner = self._dense(ff_dim, "W_1", activation="relu")

    def _dense(self, units, name, **options):
        initializer = clone_initializer(self.kernel_initializer)
        return keras.layers.Dense(
            units,
            kernel_initializer=in_float32(initializer, self.variable_dtype),
            name=name,
            dtype=self.dtype_policy,
            **options,
        )

    def build(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> None:
        for name, shape in zip(
            self.names[:-1], (inputs_shape, memory_shape), strict=False
        ):
            getattr(self, name).build(inputs_shape, shape)
        for name in self.names:
            getattr(self, f"{name}_norm").build(inputs_shape)
        self.inner.build(inputs_shape)
        self.outer = self._dense(inputs_shape[-1], "W_2")
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
        output = saturate(self.outer(saturate(self.inner(flatten_leading(x)))))
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
        epsilon: of the layer normalisation.
        seed: seed of the dropout masks.

    Call arguments:
        inputs: `(B, S, d)`.
        mask: bool `(B, S)`, true where real; the inputs' Keras mask by default.

    Returns:
        `(B, S, d)`; values at padding are undefined. It carries the mask.

    Raises:
        ValueError: for another norm, sizes that are not positive integers, ε not above
            0, or a rate outside [0, 1).

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
            return self.self_attention(x, x, mask=past)[0]

        x = ops.cast(inputs, self.compute_dtype)
        x = self.sublayer("self_attention", x, attend, training)
        _, keys = with_keys(self, memory, memory_mask, keys)
        return self._read(x, keys, memory_mask, training)

    def _read(self, x, keys, mask, training=False):
        """The two sub-layers behind self-attention.

        K consecutive rows for each sentence of the memory are read as its K queries.
        """
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
            cache: from `make_cache` or the last step.
            position: int `(R,)`, from 0; `(1,)` where it is one for all rows.
            keys: `project(memory)`.
            mask: bool `(B, S)`, true where memory is real.
        """
        places = ops.arange(ops.shape(cache[0])[2], dtype="int32")[None]
        here = (places == position[:, None])[:, None, :, None]
        past = (places <= position[:, None])[:, None]

        def attend(x):
            new = self.self_attention.project(x)
            new_cache = [
                ops.where(here, n, old) for n, old in zip(new, cache, strict=True)
            ]
            return self.self_attention.attend(x, new_cache, past)[0], new_cache

        x = ops.cast(inputs, self.compute_dtype)[:, None]
        x, new_cache = self.sublayer("self_attention", x, attend)
        x, weights = self._read(x, keys, mask)
        return x[:, 0], weights[:, 0], new_cache

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape) -> Any:
        batch, time = inputs_shape[:2]
        return tuple(inputs_shape), (batch, time, memory_shape[1])
