"""Schuster & Paliwal 1997, "Bidirectional Recurrent Neural Networks"."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import integer
from zoo.layers.fast_loops.cells import run_cell
from zoo.layers.functional import gather_rows, steps_mask
from zoo.layers.recurrent import CELLS
from zoo.models.base import Backbone

DIRECTIONS = ("both", "forward", "backward")


@keras.saving.register_keras_serializable(package="zoo")
class BiRNN(Backbone):
    """Two chains of states that never feed each other, and one output layer for both.

        hf_t = tanh(x_t W_f + hf_{t-1} U_f + b_f)      t = 1 … T, from hf_0 = 0.5
        hb_t = tanh(x_t W_b + hb_{t+1} U_b + b_b)      t = T … 1, from hb_{T+1} = 0.5
        y_t  = g(V_f hf_t + V_b hb_t + c)

    So y_t sees the whole sequence, and the weights of both chains are trained for it
    together. V_f over V_b is one matrix `V`. The outputs are those of the identity g
    (the paper's regression); for classes they are logits, and the loss has the softmax.
    The states before the first step and behind the last real one are unknown: a
    constant, 0.5 in the paper.

    The paper compares it with nets of one chain, `direction="forward"` (RNN-FOR) and
    "backward" (RNN-BACK). These may answer later: with a `delay` of d frames y_t is
    read from hf_{t+d} (or hb_{t-d}), and at the sequence's end from its last state. Two
    such nets, trained by themselves, whose outputs are averaged, are its MERGE.

    Args:
        input_dim: numbers in a frame. Default 66, as in the paper's phoneme segments.
        output_dim: size of y_t. Default 61, the paper's phonemes.
        hidden_dim: units of each chain. Default 39: it gives the 13,000 parameters of
            the paper's nets, whose units aren't known here.
        cell: "rnn", the paper's and the default; "lstm" or "gru", whose first states
            all are `initial_state` too.
        direction: "both", "forward" or "backward".
        delay: frames by which a net of one chain answers later. Default 0.
        initial_state: of the chains. Default 0.5.
        dropout: on the inputs of the chains and of the output layer. Default 0: the
            paper has none.
        initializer_range: r of U(-r, r), for all weights. Default 0.05.
        dtype: dtype policy.

    Call arguments:
        inputs: frames `(B, T, input_dim)`.
        mask: bool `(B, T)`, true where real, padded at the right; or None. What stands
            on pads changes nothing.

    Returns:
        `(B, T, output_dim)`. On pads it means nothing.

    Raises:
        ValueError: for a size or range that is not positive, a cell or direction that
            there isn't, or a delay together with both directions.

    Example:
        >>> import numpy as np
        >>> model = BiRNN(input_dim=3, output_dim=2, hidden_dim=4)
        >>> model(np.ones((5, 7, 3), "float32")).shape
        (5, 7, 2)
    """

    def __init__(
        self,
        input_dim: int = 66,
        output_dim: int = 61,
        hidden_dim: int = 39,
        cell: str = "rnn",
        direction: str = "both",
        delay: int = 0,
        initial_state: float = 0.5,
        dropout: float = 0.0,
        initializer_range: float = 0.05,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, **kwargs)
        self.configure(
            sizes={
                "input_dim": input_dim,
                "output_dim": output_dim,
                "hidden_dim": hidden_dim,
            },
            rates={"dropout": dropout},
            ranges={"initializer_range": initializer_range},
            choices={"cell": (cell, CELLS), "direction": (direction, DIRECTIONS)},
        )
        self.delay = integer("delay", delay, 0)
        self.initial_state = float(initial_state)
        if delay and direction == "both":
            raise ValueError(
                "A net of both directions sees all frames and has no delay. "
                f"Received: delay={delay}, direction={direction!r}"
            )
        self.supports_masking = True
        names = DIRECTIONS[1:] if direction == "both" else (direction,)
        self.chains = [self._cell(name) for name in names]
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.output_layer = keras.layers.Dense(
            output_dim,
            kernel_initializer=self._uniform(),
            bias_initializer=self._uniform(),
            dtype=self.dtype_policy,
            name="V",
        )
        self.build((None, None, input_dim))

    def _uniform(self):
        limit = self.initializer_range
        return keras.initializers.RandomUniform(-limit, limit)

    def _cell(self, name):
        options = {"unit_forget_bias": False} if self.cell == "lstm" else {}
        return CELLS[self.cell](
            self.hidden_dim,
            kernel_initializer=self._uniform(),
            recurrent_initializer=self._uniform(),
            bias_initializer=self._uniform(),
            dtype=self.dtype_policy,
            name=name,
            **options,
        )

    def build(self, input_shape: Shape | None = None) -> None:
        for cell in self.chains:
            cell.build((None, self.input_dim))
        width = len(self.chains) * self.hidden_dim
        self.output_layer.build((None, None, width))
        self.built = True

    def input_signature(self) -> Any:
        return keras.InputSpec(self.compute_dtype, (None, None, self.input_dim))

    def call(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        states = self.states(inputs, steps_mask(mask, inputs), training)
        return self.output_layer(self.drop(states, training=training))

    def states(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        """The states that y_t is read from, `(B, T, chains * hidden_dim)`."""
        frames = ops.cast(inputs, self.compute_dtype)
        frames = self.drop(frames, training=training)
        outputs = []
        for cell in self.chains:
            backward = cell.name == "backward"
            first = self._first_states(frames)
            states, _ = run_cell(cell, frames, first, mask, backward, training)
            outputs.append(self._delayed(states, mask, backward))
        return ops.concatenate(outputs, axis=-1)

    def _first_states(self, frames):
        shape = (ops.shape(frames)[0], self.hidden_dim)
        first = ops.full(shape, self.initial_state, dtype=frames.dtype)
        return [first, first] if self.cell == "lstm" else [first]

    def _delayed(self, states, mask, backward):
        if not self.delay:
            return states
        batch, length = ops.shape(states)[0], ops.shape(states)[1]
        steps = ops.arange(length, dtype="int32")[None]
        if backward:
            places = ops.maximum(steps - self.delay, 0)
        else:
            lengths = length if mask is None else ops.sum(mask, axis=1, keepdims=True)
            last = ops.maximum(ops.cast(lengths, "int32") - 1, 0)
            places = ops.minimum(steps + self.delay, last)
        places = places + ops.zeros((batch, 1), dtype="int32")
        return gather_rows(states, places[..., None])[:, :, 0]

    def compute_output_shape(self, inputs_shape: Shape) -> Any:
        return (*inputs_shape[:2], self.output_dim)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Any:
        return previous_mask

    def get_config(self) -> dict[str, Any]:
        arguments = {"delay": self.delay, "initial_state": self.initial_state}
        return {**super().get_config(), **arguments}
