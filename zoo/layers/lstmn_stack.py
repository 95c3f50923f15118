"""Stacks of the Long Short-Term Memory-Network's layers."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.configured import (
    ConfiguredLayer,
    Initializer,
    Rate,
    Size,
    clone_initializer,
)
from zoo.layers.functional import read_mask
from zoo.layers.lstmn_cell import LSTMNCell


@keras.saving.register_keras_serializable(package="zoo")
class LSTMN(ConfiguredLayer):
    """A stack of `LSTMNCell` layers over sequences (Cheng, Dong & Lapata 2016).

    Layer k + 1 reads h_t of layer k and, by a skip connection (Graves 2013), x_t; its
    attention asks with h_t of layer k. Cost and memory grow with the square of the
    sequence's length.

    Args:
        units: size of h and c of each layer.
        num_layers: depth.
        fusion: None, "shallow" or "deep": whether the layers read a source.
        dropout: share of each layer's inputs that is dropped in training.
        kernel_initializer: of the matrices and vectors.
        seed: seed of the dropout masks.

    Call arguments:
        inputs: `(B, T, n)`.
        mask: bool `(B, T)`, true where real; the inputs' Keras mask by default.
        initial_states: list of `[h, c]`, one a layer; zeros by default.
        source: with fusion, `project_source(…)`.
        starts: without fusion, bool `(B, T)`, true where the tapes start anew (in a
            text, with each sentence), as if what follows were a call by itself from the
            last states; None, the default, for tapes that never restart.

    Returns:
        `(outputs, states)`: h of the top layer `(B, T, units)` with zeros at pads, and
        the last real step's `[h, c]` of each layer. (`run` gives the tapes as well.)
        The outputs carry the mask.

    Raises:
        ValueError: as `LSTMNCell`; when called with fusion and without a source, or
            with fusion and `starts`.

    Example:
        >>> import numpy as np
        >>> outputs, states = LSTMN(4, num_layers=2)(np.ones((2, 5, 3)))
        >>> outputs.shape, len(states)
        ((2, 5, 4), 2)
    """

    units: Size
    num_layers: Size = 1
    fusion: Any = None
    dropout: Rate = 0.0
    kernel_initializer: Initializer = "glorot_uniform"
    seed: Any = None

    def setup(self) -> None:
        self.cells = [
            LSTMNCell(
                self.units,
                self.fusion,
                kernel_initializer=clone_initializer(self.kernel_initializer),
                dtype=self.dtype_policy,
                name=f"lstmn_{layer}",
            )
            for layer in range(self.num_layers)
        ]
        self.make_dropout()

    def build(self, inputs_shape: Shape) -> None:
        size = inputs_shape[-1]
        self.cells[0].build((None, size))
        for cell in self.cells[1:]:
            cell.build((None, self.units + size), skip=size)
        self.built = True

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        initial_states: Any = None,
        source: Any = None,
        training: bool = False,
        starts: Tensor | None = None,
        inputs_mask: Tensor | None = None,
    ) -> tuple[Tensor, list[list[Tensor]]]:
        # Keras fills `inputs_mask`, and not `mask`, beside other tensors.
        mask = read_mask(inputs_mask if mask is None else mask, inputs)
        tapes, _, states = self.run(
            inputs, mask, initial_states, source, training, starts
        )
        return tapes[-1][0], states

    def project_source(self, tapes: list, mask: Tensor) -> list[dict[str, Tensor]]:
        """The layers' keys and values of a source: `run`'s tapes, its mask `(B, S)`."""
        return [
            cell.project_source(h, c, mask)
            for cell, (h, c) in zip(self.cells, tapes, strict=True)
        ]

    def run(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        initial_states: Any = None,
        source: Any = None,
        training: bool = False,
        starts: Tensor | None = None,
        return_weights: bool = False,
    ) -> tuple:
        """The call, with each layer's tapes `(h, c)`: `(tapes, weights, states)`.

        The weights are the top layer's on the source `(B, T, S)`, or on its tape.
        """
        if self.fusion and starts is not None or bool(self.fusion) == (source is None):
            raise ValueError(
                "A layer with fusion takes a `source`, one without takes `starts`. "
                f"Received: fusion={self.fusion!r}, {'no' if source is None else 'a'} "
                f"source and {'no' if starts is None else 'some'} starts"
            )

        def run(cell, x, initial, source):
            x, wanted = self.drop(x, training=training), cell is self.cells[-1]
            return cell.run(x, mask, initial, source, starts, wanted and return_weights)

        h, c, weights, states = self._each(run, inputs, initial_states, source)
        return list(zip(h, c, strict=True)), weights[-1], states

    def _each(self, run, inputs, states, source):
        """Returns each layer's outputs of `run(cell, x, state, source)`, as lists."""
        states, source = (x or [None] * self.num_layers for x in (states, source))
        x = inputs = ops.cast(inputs, self.compute_dtype)
        found = []
        for cell, *given in zip(self.cells, states, source, strict=True):
            h, *others = run(cell, x, *given)
            found.append((h, *others))
            x = ops.concatenate([h, inputs], axis=-1)  # the skip connection
        return map(list, zip(*found, strict=True))

    def intra_attention(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Computes the top layer's weights on its own past, without fusion.

        They are `(B, T, T + 1)`: slot 0 is the start, slot i what was written at step
        i - 1. Undefined at padding.
        """
        return self.run(inputs, mask, return_weights=True)[1]

    def make_states(
        self, batch_size: int, length: int, initial_states: Any = None
    ) -> list[list[Tensor]]:
        """Each layer's states for `length` calls of `step`; see `LSTMNCell`."""
        initial = initial_states or [None] * self.num_layers
        return [
            cell.make_states(batch_size, length, state)
            for cell, state in zip(self.cells, initial, strict=True)
        ]

    def step(
        self,
        inputs: Tensor,
        states: Any,
        source: Any = None,
        starts: Tensor | None = None,
    ) -> tuple:
        """One step with inputs `(B, n)`, as `run`'s; `starts` is `(B, 1)`.

        Returns `(h of the top layer, its weights, states)`; h is NaN where the states
        have no room left.
        """

        def advance(cell, x, state, source):
            return cell.advance(cell.project(x), state, source, starts=starts)

        room = states[0].position + 1 < ops.shape(states[0].tape)[1]
        h, _, weights, states = self._each(advance, inputs, states, source)
        return ops.where(room[:, None], h[-1], float("nan")), weights[-1], states

    def compute_output_shape(self, inputs_shape: Shape) -> Any:
        state = (inputs_shape[0], self.units)
        states = [[state, state] for _ in range(self.num_layers)]
        return (*inputs_shape[:2], self.units), states
