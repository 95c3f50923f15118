"""A decoder that reads one context at every step (Cho et al. 2014)."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.cells import GRUCell
from zoo.layers.configured import Configured
from zoo.layers.fast_loops.cell_loop import make_loop_step
from zoo.layers.fast_loops.time_loop import NO_LOOP, TimeLoop
from zoo.layers.functional import cast_weights, checked_states, linear


@keras.saving.register_keras_serializable(package="zoo")
class FixedContextDecoder(Configured, keras.layers.Layer):
    """Runs a cell over target sequences with one context per sentence.

    The context is a further input at every step: s_i = cell([x_i; c], s_{i-1}).

    With `reset_context` the reset gate scales the context's share of the candidate too,
    tanh(x W + r * (s U + c C)), as in the appendix of Cho et al. 2014.

    Args:
        cell: a `zoo.layers.GRUCell`.
        reset_context: see above; for a cell with `reset_after=True`.

    Call arguments:
        inputs: `(B, T, n)`.
        context: `(B, d)`.
        initial_state: `(B, units)`.

    Returns:
        `(outputs, contexts)`: `(B, T, units)`, and the context for every step,
        `(B, T, d)`. Both carry the inputs' Keras mask, if they have one.

    Raises:
        ValueError: for another kind of cell, or `reset_context` with a cell whose reset
            gate stands before the product; when called with a state of another shape.

    Example:
        >>> import numpy as np
        >>> decoder = FixedContextDecoder(GRUCell(8))
        >>> zeros = np.zeros((2, 8))
        >>> outputs, _ = decoder(np.ones((2, 7, 4)), np.ones((2, 5)), zeros)
        >>> outputs.shape
        (2, 7, 8)
    """

    def __init__(self, cell: Any, reset_context: bool = False, **kwargs: Any) -> None:
        if not isinstance(cell, GRUCell):
            raise ValueError(
                f"`cell` must be a zoo.layers.GRUCell. Received: cell={cell!r}"
            )
        if reset_context and not cell.reset_after:
            raise ValueError(
                "`reset_context` needs a cell with reset_after=True. "
                f"Received: reset_after={cell.reset_after}"
            )
        super().__init__(**kwargs)
        self.configure(locals())

    def build(
        self,
        inputs_shape: Shape,
        context_shape: Shape,
        initial_state_shape: Shape | None = None,
    ) -> None:
        if not self.cell.built:
            self.cell.build((None, inputs_shape[-1] + context_shape[-1]))
        self.built = True

    def project(self, context: Tensor) -> list[Tensor]:
        """The context's shares in each step, a list: c C `(B, 3 * units)`.

        With `reset_context` its candidate's part is zero, and stands behind by itself.
        """
        kernel = cast_weights(self.cell.kernel, self.compute_dtype)
        start = kernel.shape[0] - context.shape[-1]
        added = linear(ops.cast(context, self.compute_dtype), kernel[start:])
        if not self.reset_context:
            return [added]
        gates, reset = ops.split(added, [2 * self.cell.units], axis=-1)
        return [ops.concatenate([gates, ops.zeros_like(reset)], axis=-1), reset]

    def call(
        self,
        inputs: Tensor,
        context: Tensor,
        initial_state: Tensor,
        training: bool = False,
    ) -> tuple[Tensor, Tensor]:
        batch = ops.shape(inputs)[0]
        checked_states([initial_state], [self.cell.units], batch)
        words = ops.swapaxes(ops.cast(inputs, self.compute_dtype), 0, 1)
        loop = TimeLoop(ops.shape(words)[:2], self.cell.compute_dtype, training)
        added, *reset = self.project(context)
        options: dict[str, Any] = {"reset": reset[0]} if reset else {}
        step = make_loop_step(self.cell, loop, words, added=added, **options)
        outputs, _ = loop.run(step, [ops.cast(initial_state, self.compute_dtype)])
        lead = (*ops.shape(outputs)[:2], context.shape[-1])
        return outputs, ops.broadcast_to(context[:, None], lead)

    def step(
        self,
        inputs: Tensor,
        state: Tensor,
        added: Tensor,
        reset: Tensor | None = None,
    ) -> Tensor:
        """One step: `(B, n)`, `(B, units)` and `*project(context)` to `(B, units)`."""
        net = self.cell.project(inputs) + added
        return self.cell.make_step(NO_LOOP, net, reset=reset)(None, [state])[0]

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Any:
        return previous_mask, previous_mask

    def compute_output_shape(
        self, inputs_shape: Shape, context_shape: Shape, initial_state_shape: Shape
    ) -> Any:
        lead = tuple(inputs_shape[:2])
        return (*lead, self.cell.output_size), (*lead, context_shape[-1])
