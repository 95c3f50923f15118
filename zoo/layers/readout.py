"""Output layers between a decoder's state and the softmax."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.configured import ConfiguredLayer, Initializer, Size, add_variable
from zoo.layers.functional import cast_weights, linear


@keras.saving.register_keras_serializable(package="zoo")
class MaxoutReadout(ConfiguredLayer):
    """Deep output with one maxout layer (Bahdanau et al. 2015, appendix A.2.2).

        t~ = s U_o + y E V_o + c C_o + b_o       2 l values
        t_j = max(t~_{2j-1}, t~_{2j})            j = 1 … l

    The same layer is Cho et al. 2014's, with O_h, O_y and O_c for U_o, V_o and C_o.

    Args:
        units: l.
        use_bias: whether there is b_o.
        kernel_initializer: of the matrices; the paper's is N(0, 0.01²).

    Call arguments:
        state: `(..., n)`, the decoder's.
        embedding: `(..., m)`, of the last target word.
        context: `(..., d)`.

    Returns:
        `(..., units)`, with the state's Keras mask, if it has one.

    Variables: `U_o` (n, 2 l), `V_o` (m, 2 l), `C_o` (d, 2 l), `b_o` (2 l,).

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
        >>> import numpy as np
        >>> state, word, context = (np.ones((2, 7, n)) for n in (8, 4, 16))
        >>> MaxoutReadout(5)(state, word, context).shape
        (2, 7, 5)
    """

    def __init__(
        self,
        units: Size,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.configure(locals())

    def build(
        self, state_shape: Shape, embedding_shape: Shape, context_shape: Shape
    ) -> None:
        shapes = {"U_o": state_shape, "V_o": embedding_shape, "C_o": context_shape}
        for name, shape in shapes.items():
            size = shape[-1], 2 * self.units
            add_variable(self, name, size, self.kernel_initializer)
        self.b_o = None
        if self.use_bias:
            add_variable(self, "b_o", (2 * self.units,), "zeros")
        self.built = True

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Any:
        return previous_mask

    def call(self, state: Tensor, embedding: Tensor, context: Tensor) -> Tensor:
        parts = [state, embedding, context]
        joined = ops.concatenate(parts, axis=-1)
        weights = [
            cast_weights(w, self.compute_dtype) for w in (self.U_o, self.V_o, self.C_o)
        ]
        hidden = linear(joined, ops.concatenate(weights, axis=0))
        if self.b_o is not None:
            hidden = hidden + cast_weights(self.b_o, self.compute_dtype)
        pairs = ops.reshape(hidden, (*ops.shape(hidden)[:-1], self.units, 2))
        return ops.max(pairs, axis=-1)

    def compute_output_shape(
        self, state_shape: Shape, embedding_shape: Shape, context_shape: Shape
    ) -> Any:
        return (*state_shape[:-1], self.units)
