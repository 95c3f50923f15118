"""One step of the Long Short-Term Memory-Network: an LSTM that attends to its past."""

from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import weighted_sum
from zoo.layers.configured import ConfiguredLayer, Initializer, Size, clone_initializer
from zoo.layers.functional import (
    cast_weights,
    columns,
    flatten_leading,
    join,
    linear,
    masked_softmax,
    scan,
)


class LSTMNState(NamedTuple):
    """The state of an `LSTMNCell`."""

    tape: Tensor  # h, c and h W_h of each slot side by side, (B, L, …)
    seen: Tensor  # 1 where a slot is looked at, else 0, (B, L)
    h: Tensor  # of the last step, (B, units)
    c: Tensor
    htilde: Tensor
    gamma: list[Tensor]  # [γ~] with deep fusion
    position: Tensor  # steps so far, int32 (B,)


@keras.saving.register_keras_serializable(package="zoo")
class LSTMNCell(ConfiguredLayer):
    """One step of Cheng, Dong & Lapata 2016, section 3.2.

    All past hidden states h_i and memories c_i stay on two tapes:

        a_i^t = v · tanh(h_i W_h + x_t W_x + h~_{t-1} W_h~),   i < t
        s^t   = softmax(a^t),  [h~_t; c~_t] = Σ_i s_i^t [h_i; c_i]
        i, f, o = σ([h~_t; x_t] W),  ĉ = tanh([h~_t; x_t] W)
        c_t   = f * c~_t + i * ĉ,  h_t = o * tanh(c_t)

    Slot 0 of the tapes holds the initial h and c, zeros by default, for ever, as in the
    authors' code (whose encoder leaves W_h~ out). Nothing sees a masked step. Where
    tapes start anew, of all that is on them the last state alone is seen from then on.

    With `fusion` the cell reads a source too, whose tapes are γ_j (hidden states) and
    α_j (memories), section 4:

        "shallow":  b_j = u · tanh(γ_j W_γ + h_{t-1} W_q)
                    γ~_t = Σ_j softmax(b)_j γ_j, an input beside x_t
        "deep":     b_j = u · tanh(γ_j W_γ + x_t W_xγ + γ~_{t-1} W_γ~)
                    [γ~_t; α~_t] = Σ_j softmax(b)_j [γ_j; α_j]
                    r_t = σ([γ~_t; x_t] W_r)
                    c_t = r_t * α~_t + f * c~_t + i * ĉ

    The paper describes shallow fusion in words, as the attention of Bahdanau et al. Its
    equations have no biases; the gates here have, from 0, that of f from 1 (Gers et al.
    2000): h~_t and c~_t are means over the past at first, and a half-open gate would
    halve them at every step.

    Args:
        units: size of h, c, γ, α and the scores' hidden layer.
        fusion: None, "shallow" or "deep".
        kernel_initializer: of the matrices and vectors.

    Variables: `kernel` (n, 4 units), gates in Keras's order i, f, ĉ, o;
        `recurrent_kernel` (units, 4 units), of h~; `bias`; `W_h`, `W_x`, `W_htilde`,
        `v`; of "shallow" `W_gamma`, `W_q`, `u`, `context_kernel` (units, 4 units); of
        "deep" `W_gamma`, `W_xgamma`, `W_gammatilde`, `u`, `W_r` (units + n, units) and
        `b_r`.

    Raises:
        ValueError: for a size that is not a positive integer, or another fusion.

    Example:
        >>> import numpy as np
        >>> cell = LSTMNCell(4)
        >>> cell.build((None, 3))
        >>> states = cell.make_states(batch_size=2, length=7)
        >>> x = cell.project(np.ones((2, 7, 3), "float32"))
        >>> h, c, weights, states = cell.advance(x[:, 0], states)
        >>> h.shape, c.shape
        ((2, 4), (2, 4))
    """

    units: Size
    fusion: Literal[None, "shallow", "deep"] = None
    kernel_initializer: Initializer = "glorot_uniform"

    def build(self, inputs_shape: Shape, skip: int = 0) -> None:
        """Makes the weights; the attention's query ignores the last `skip` inputs."""
        size, n = inputs_shape[-1], self.units
        self.query_size = asked = size - skip
        shapes = {
            "kernel": (size, 4 * n),
            "recurrent_kernel": (n, 4 * n),
            "W_h": (n, n),
            "W_x": (asked, n),
            "W_htilde": (n, n),
            "v": (n,),
        }
        if self.fusion:
            shapes |= {"W_gamma": (n, n), "u": (n,)}
        if self.fusion == "shallow":
            shapes |= {"W_q": (n, n), "context_kernel": (n, 4 * n)}
        if self.fusion == "deep":
            shapes |= {"W_xgamma": (asked, n), "W_gammatilde": (n, n)}
            shapes["W_r"] = (n + size, n)
        draw = self.kernel_initializer
        for name, shape in shapes.items():
            self.make_weight(name, shape, draw if shape[1:] else _as_column(draw))
        self.make_weight("bias", (4 * n,), _forget_gate_open)
        if self.fusion == "deep":
            self.make_weight("b_r", (n,), "zeros")
        self.built = True

    def _cast(self, name):
        return cast_weights(getattr(self, name), self.compute_dtype)

    def _times(self, x, name):
        return linear(x, self._cast(name))

    # === Before the loop ===
    def project(self, inputs: Tensor) -> Tensor:
        """The shares that inputs `(..., n)` alone have: of gates, query and r_t."""
        inputs = ops.cast(inputs, self.compute_dtype)
        shown = inputs[..., : self.query_size]
        net = self._times(inputs, "kernel") + self._cast("bias")
        parts = [net, self._times(shown, "W_x")]
        if self.fusion == "deep":
            W_r, b_r = self._cast("W_r")[self.units :], self._cast("b_r")
            parts += [linear(inputs, W_r) + b_r, self._times(shown, "W_xgamma")]
        return ops.concatenate(parts, axis=-1)

    def project_source(
        self, hidden: Tensor, memory: Tensor, mask: Tensor
    ) -> dict[str, Tensor]:
        """A source, γ and α `(B, S, units)` and a mask `(B, S)`, as a step reads it."""
        hidden, memory = (ops.cast(x, self.compute_dtype) for x in (hidden, memory))
        return {
            "keys": self._times(hidden, "W_gamma"),
            "values": ops.concatenate([hidden, memory], axis=-1),
            "mask": ops.cast(mask, "bool"),
        }

    def make_states(
        self, batch_size: int, length: int, initial: Any = None
    ) -> LSTMNState:
        """Room for `length` steps behind slot 0, `initial`'s `[h, c]` or zeros."""
        dtype = self.compute_dtype
        zeros = ops.zeros((batch_size, self.units), dtype=dtype)
        h, c = (ops.cast(s, dtype) for s in initial) if initial else (zeros, zeros)
        slots = ops.arange(length + 1, dtype="int32")[None]
        seen = ops.cast(ops.tile(slots == 0, (batch_size, 1)), dtype)
        gamma = [zeros] if self.fusion == "deep" else []
        position = ops.zeros((batch_size,), dtype="int32")
        tape = self._slot(h, c) * seen[..., None]
        return LSTMNState(tape, seen, h, c, zeros, gamma, position)

    def _slot(self, h, c):
        """A slot of the tape `(B, 1, …)`."""
        return ops.concatenate([h, c, self._times(h, "W_h")], axis=-1)[:, None]

    # === One step ===
    def advance(
        self,
        x: Tensor,
        state: LSTMNState,
        source: Any = None,
        keep: Tensor | None = None,
        starts: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, LSTMNState]:
        """One step of `x` `(B, m)`, from `project`.

        Args:
            x: see above.
            state: from `make_states` or the last step.
            source: from `project_source`, with fusion.
            keep: `(B, 1)` bool, false where the step is a pad; None for no pads.
            starts: `(B, 1)` bool, true where the tapes start anew; None for never.

        Returns:
            `(h, c, weights, state)`: `(B, units)` twice, the weights on the source
            `(B, S)`, or, without fusion, on the tape.
        """
        slots = ops.arange(ops.shape(state.tape)[1], dtype="int32")[None]
        if starts is not None:
            starts = starts if keep is None else ops.logical_and(starts, keep)
            state = _start_anew(state, starts, slots)
        h, c, htilde, gamma, weights = self.equations(x, state, source)
        new, old = (h, c, htilde, gamma), state[2:6]
        here = slots == state.position[:, None] + 1
        if keep is not None:
            here = ops.logical_and(here, keep)
            new = keras.tree.map_structure(lambda a, b: ops.where(keep, a, b), new, old)
        tape = ops.where(here[..., None], self._slot(h, c), state.tape)
        seen = ops.where(here, ops.ones_like(state.seen), state.seen)
        return h, c, weights, LSTMNState(tape, seen, *new, state.position + 1)

    def equations(
        self, x: Tensor, state: LSTMNState, source: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, Tensor, Tensor, list[Tensor], Tensor]:
        """Sections 3.2 and 4: `(h_t, c_t, h~_t, [γ~_t] or [], weights)`."""
        n, gamma = self.units, []
        ends = [4 * n, 5 * n, 6 * n] if self.fusion == "deep" else [4 * n]
        net, query, *more = ops.split(x, ends, axis=-1)  # x_t times W, W_x, W_r, W_xγ
        query = query + self._times(state.htilde, "W_htilde")
        values, keys = state.tape[..., : 2 * n], state.tape[..., 2 * n :]
        tape = {"keys": keys, "values": values, "mask": state.seen > 0}
        read, weights = self.attend(query, tape, "v")
        htilde, ctilde = ops.split(read, 2, axis=-1)
        net = net + self._times(htilde, "recurrent_kernel")  # [h~_t; x_t] W
        if self.fusion == "shallow":
            query = self._times(state.h, "W_q")
            read, weights = self.attend(query, source, "u")
            net = net + self._times(read[:, :n], "context_kernel")
        elif self.fusion == "deep":
            share, query = more
            query = query + self._times(state.gamma[0], "W_gammatilde")
            read, weights = self.attend(query, source, "u")
            gammatilde, alpha = ops.split(read, 2, axis=-1)
            r = ops.sigmoid(share + linear(gammatilde, self._cast("W_r")[:n]))
            gamma = [gammatilde]
        i, f, candidate, o = ops.split(net, 4, axis=-1)
        c = ops.sigmoid(f) * ctilde + ops.sigmoid(i) * ops.tanh(candidate)
        if self.fusion == "deep":
            c = r * alpha + c
        return ops.sigmoid(o) * ops.tanh(c), c, htilde, gamma, weights

    def attend(self, query: Tensor, source: Any, vector: str) -> tuple[Tensor, Tensor]:
        """Additive attention of `(R, n)`: `(R, 2 units)`, and the weights `(R, S)`."""
        keys, values, mask = source["keys"], source["values"], source["mask"]
        query = ops.reshape(query, (ops.shape(keys)[0], -1, 1, query.shape[-1]))
        hidden = ops.tanh(query + keys[:, None])
        scores = linear(hidden, self._cast(vector)[:, None])[..., 0]
        weights = masked_softmax(scores, mask[:, None])
        read = flatten_leading(weighted_sum(weights, values))
        return read, flatten_leading(weights)

    def run(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        initial: Any = None,
        source: Any = None,
        starts: Tensor | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor | None, list[Tensor]]:
        """Runs `advance` over a sequence `(B, T, n)`, from `[h, c]`, `initial`.

        Returns `(h, c, weights, [h, c])`: `(B, T, units)` twice, zeros at pads; the
        weights if wanted, or None; the last real step's.
        """
        x, n = self.project(inputs), self.units
        width = x.shape[-1]

        def step(row, state):
            keep = None if mask is None else row[:, width : width + 1] > 0
            begins = None if starts is None else row[:, -1:] > 0
            *found, state = self.advance(row[:, :width], state, source, keep, begins)
            found = join(*found[: 2 + return_weights])
            return (found if keep is None else ops.where(keep, found, 0.0)), state

        flags = [flag for flag in (mask, starts) if flag is not None]
        rows = join(x, *(ops.cast(flag, x.dtype)[..., None] for flag in flags))
        states = self.make_states(*ops.shape(x)[:2], initial)
        outputs, state = scan(step, rows, states)
        h, c = columns(outputs, 0, n), columns(outputs, n, 2 * n)
        weights = outputs[..., 2 * n :] if return_weights else None
        return h, c, weights, [state.h, state.c]


def _start_anew(state, starts, slots):
    """Where the tapes start anew, the last slot alone is seen."""
    last = ops.max(ops.where(state.seen > 0, slots, 0), axis=1, keepdims=True)
    seen = ops.where(starts, ops.cast(slots == last, state.seen.dtype), state.seen)
    return state._replace(seen=seen, htilde=ops.where(starts, 0.0, state.htilde))


def _forget_gate_open(shape, dtype=None):
    """The initial bias of i, f, ĉ and o: 1 for f, else 0."""
    return ops.cast(ops.arange(shape[0]) // (shape[0] // 4) == 1, dtype)


def _as_column(initializer):
    """Draws a vector as a matrix with one column: fans are counted so."""
    initializer = clone_initializer(initializer)
    return lambda shape, dtype=None: initializer((*shape, 1), dtype=dtype)[..., 0]
