"""One step of the Long Short-Term Memory-Network: an LSTM that attends to its past."""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import one_of, positive
from zoo.layers.attention import mix
from zoo.layers.functional import (
    as_rows,
    cast_weights,
    clear_masked,
    fresh,
    linear,
    masked_softmax,
)
from zoo.layers.lora import Adaptable

# The weights by which a step reads a source.
FUSED = {
    None: [],
    "shallow": ["W_q", "context_kernel", "u"],
    "deep": ["W_gammatilde", "W_r", "u"],
}


@keras.saving.register_keras_serializable(package="zoo")
class LSTMNCell(Adaptable, keras.layers.Layer):
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
    equations have no biases; the gates here have, from 0, that of f from 1.

    Args:
        units: size of h and c; of γ and α too.
        attention_units: size of the scores' hidden layer; `units` by default.
        fusion: None, "shallow" or "deep".
        kernel_initializer: of the matrices and vectors.
        unit_forget_bias: whether f's bias starts at 1 (Gers et al. 2000), as in Keras's
            LSTM: h~_t and c~_t are means over the past at first, and a half-open gate
            would halve them at every step. Default True.

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

    matrices = (
        "kernel",
        "recurrent_kernel",
        "context_kernel",
        *("W_h", "W_x", "W_htilde", "W_gamma", "W_q"),
        *("W_xgamma", "W_gammatilde", "W_r"),
    )

    def __init__(
        self,
        units: int,
        attention_units: int | None = None,
        fusion: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        unit_forget_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = positive("units", units)
        self.unit_forget_bias = bool(unit_forget_bias)
        if attention_units is not None:
            attention_units = positive("attention_units", attention_units)
        self.attention_units = attention_units
        self.fusion = one_of("fusion", fusion, FUSED)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, inputs_shape: Shape, skip: int = 0) -> None:
        """Makes the weights.

        The last `skip` inputs are a skip connection's: the gates read them and the
        attention's query does not.
        """
        size, n = inputs_shape[-1], self.units
        a = self.attention_units or n
        self.query_size = size - skip
        matrices = {
            "kernel": (size, 4 * n),
            "recurrent_kernel": (n, 4 * n),
            "W_h": (n, a),
            "W_x": (self.query_size, a),
            "W_htilde": (n, a),
            "v": (a,),
        }
        if self.fusion:
            matrices |= {"W_gamma": (n, a), "u": (a,)}
        if self.fusion == "shallow":
            matrices |= {"W_q": (n, a), "context_kernel": (n, 4 * n)}
        if self.fusion == "deep":
            matrices |= {"W_xgamma": (self.query_size, a), "W_gammatilde": (n, a)}
            matrices["W_r"] = (n + size, n)
        for name, shape in matrices.items():
            initializer = fresh(self.kernel_initializer)
            if len(shape) == 1:  # of a matrix with one column
                initializer = _as_column(initializer)
            weight = self.add_weight(name=name, shape=shape, initializer=initializer)
            setattr(self, name, weight)
        self.bias = self.add_weight(name="bias", shape=(4 * n,), initializer=self._bias)
        if self.fusion == "deep":
            self.b_r = self.add_weight(name="b_r", shape=(n,), initializer="zeros")
        self.built = True

    def _bias(self, shape, dtype=None):
        """Zeros, but for the gate f."""
        gate = ops.arange(shape[0]) // self.units
        return ops.cast(gate == 1, dtype) * float(self.unit_forget_bias)

    def _cast(self, *names):
        return [cast_weights(getattr(self, name), self.compute_dtype) for name in names]

    def step_weights(self) -> dict[str, Tensor]:
        """Returns the matrices of a step, in the compute dtype, by name.

        Of W_r the rows of γ~_t: x_t is projected before.
        """
        names = ["recurrent_kernel", "W_htilde", "W_h", "v", *FUSED[self.fusion]]
        weights = dict(zip(names, self._cast(*names), strict=True))
        if self.fusion == "deep":
            weights["W_r"] = weights["W_r"][: self.units]
        return weights

    # === Before the loop ===
    def project(self, inputs: Tensor) -> Tensor:
        """Computes all that the inputs `(..., n)` alone decide.

        That is the gates' share, the query's, and with deep fusion those of r_t and of
        the source's query.
        """
        inputs = ops.cast(inputs, self.compute_dtype)
        kernel, bias, W_x = self._cast("kernel", "bias", "W_x")
        shown = inputs[..., : self.query_size]
        parts = [linear(inputs, kernel) + bias, linear(shown, W_x)]
        if self.fusion == "deep":
            W_r, b_r, W_xgamma = self._cast("W_r", "b_r", "W_xgamma")
            parts += [linear(inputs, W_r[self.units :]) + b_r, linear(shown, W_xgamma)]
        return ops.concatenate(parts, axis=-1)

    def project_source(
        self, hidden: Tensor, memory: Tensor, mask: Tensor
    ) -> dict[str, Tensor]:
        """Prepares a source for a cell with fusion.

        γ and α are `(B, S, units)`, the mask is bool `(B, S)`.
        """
        hidden, memory = (
            clear_masked(ops.cast(x, self.compute_dtype), mask)
            for x in (hidden, memory)
        )
        [W_gamma] = self._cast("W_gamma")
        return {
            "keys": linear(hidden, W_gamma),
            "values": ops.concatenate([hidden, memory], axis=-1),
            "mask": ops.cast(mask, "bool"),
        }

    def make_states(
        self, batch_size: int, length: int, initial: Any = None
    ) -> list[Tensor]:
        """Room for `length` steps behind slot 0.

        Args:
            batch_size, length: ints.
            initial: `[h, c]`, each `(B, units)`, for slot 0; zeros by default.

        Returns:
            A list: the tapes of h, c and h W_h side by side `(B, length + 1, …)`, which
            slots are written `(B, length + 1)`, the last h and c, h~ (and γ~ with deep
            fusion), the position int32 `(B,)`.
        """
        dtype, n = self.compute_dtype, self.units
        zeros = ops.zeros((batch_size, n), dtype=dtype)
        h, c = (ops.cast(s, dtype) for s in initial) if initial else (zeros, zeros)
        [W_h] = self._cast("W_h")
        first = ops.concatenate([h, c, ops.matmul(h, W_h)], axis=-1)[:, None]
        slots = ops.arange(length + 1, dtype="int32")[None]
        real = ops.cast(ops.tile(slots == 0, (batch_size, 1)), dtype)
        tape = first * real[..., None]
        fed = [zeros, zeros] if self.fusion == "deep" else [zeros]
        return [tape, real, h, c, *fed, ops.zeros((batch_size,), dtype="int32")]

    # === One step ===
    def advance(
        self,
        x: Tensor,
        states: list[Tensor],
        source: Tensor | None = None,
        keep: Tensor | None = None,
        starts: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None, list[Tensor]]:
        """One step.

        Args:
            x: `(B, m)` of `project`.
            states: from `make_states` or the last step.
            source: from `project_source`, with fusion; of fewer rows where several
                consecutive ones (a beam's hypotheses) share a sentence.
            keep: `(B, 1)` bool, false where the step is a pad; None for no pads.
            starts: `(B, 1)` bool, true where the tapes start anew; None for never.
                A pad starts nothing. Without fusion.

        Returns:
            `(h, c, alignment, states)`: `(B, units)` twice, the weights on the source
            `(B, S)` or None, a list.
        """
        tape, real, last_h, last_c, htilde, *fed, position = states
        slots = ops.arange(ops.shape(tape)[1], dtype="int32")[None]
        if starts is not None:
            starts = self.checked_starts(starts, keep)
            last = ops.max(ops.where(real > 0, slots, 0), axis=1, keepdims=True)
            real = ops.where(starts, ops.cast(slots == last, real.dtype), real)
            htilde = ops.where(starts, 0.0, htilde)
        w, old = self.step_weights(), [last_h, last_c, htilde, *fed]
        *new, alignment = self.equations(
            w, x, tape, real > 0, last_h, htilde, fed[0] if fed else None, source
        )
        new = new[: len(old)]
        h, c = new[:2]

        here = slots == position[:, None] + 1
        if keep is not None:
            here = ops.logical_and(here, keep)
            new = [ops.where(keep, a, b) for a, b in zip(new, old, strict=True)]
        row = ops.concatenate([h, c, ops.matmul(h, w["W_h"])], axis=-1)
        tape = ops.where(here[..., None], row[:, None], tape)
        real = ops.where(here, ops.ones_like(real), real)
        return h, c, alignment, [tape, real, *new, position + 1]

    def equations(
        self,
        w: dict[str, Tensor],
        x: Tensor,
        tape: Tensor,
        seen: Tensor,
        h: Tensor,
        htilde: Tensor,
        gamma: Tensor | None = None,
        source: dict[str, Tensor] | None = None,
    ) -> tuple:
        """Sections 3.2 and, with fusion, 4.

        Args:
            w: `step_weights()`.
            x: `(B, m)` of `project`.
            tape: `(B, L, …)`, h_i, c_i and h_i W_h side by side.
            seen: bool `(B, L)`, the slots that are looked at.
            h, htilde: h_{t-1} and h~_{t-1}.
            gamma: γ~_{t-1}, with deep fusion.
            source: from `project_source`.

        Returns:
            `(h_t, c_t, h~_t, γ~_t or None, alignment or None)`.
        """
        n, alignment = self.units, None
        net, query, *more = self._parts(x)  # x_t times W, W_x, W_r, W_xγ
        query = query + ops.matmul(htilde, w["W_htilde"])  # x_t W_x + h~_{t-1} W_h~
        read, _ = self.recall(query, tape, seen, w["v"])
        htilde, ctilde = ops.split(read, 2, axis=-1)
        net = net + ops.matmul(htilde, w["recurrent_kernel"])  # [h~_t; x_t] W
        if self.fusion == "shallow":
            query = ops.matmul(h, w["W_q"])
            read, alignment = self.read(query, source, w["u"])
            net = net + ops.matmul(read[:, :n], w["context_kernel"])
        elif self.fusion == "deep":
            share, query = more
            query = query + ops.matmul(gamma, w["W_gammatilde"])
            read, alignment = self.read(query, source, w["u"])
            gamma, alpha = ops.split(read, 2, axis=-1)
            r = ops.sigmoid(share + ops.matmul(gamma, w["W_r"]))
        i, f, candidate, o = ops.split(net, 4, axis=-1)
        c = ops.sigmoid(f) * ctilde + ops.sigmoid(i) * ops.tanh(candidate)
        if self.fusion == "deep":
            c = r * alpha + c
        h = ops.sigmoid(o) * ops.tanh(c)
        return h, c, htilde, gamma, alignment

    def _parts(self, x):
        """The parts of `project`."""
        n, a = self.units, self.attention_units or self.units
        ends = {None: [], "shallow": [], "deep": [4 * n + a, 5 * n + a]}[self.fusion]
        return ops.split(x, [4 * n, *ends], axis=-1)

    def checked_starts(self, starts: Tensor, mask: Tensor | None = None) -> Tensor:
        """`starts` as a bool tensor, false at pads.

        Raises:
            ValueError: with fusion.
        """
        if self.fusion is not None:
            raise ValueError(
                "`starts` is for a layer without fusion. Received: "
                f"fusion={self.fusion!r} and `starts`"
            )
        starts = ops.cast(ops.convert_to_tensor(starts), "bool")
        return starts if mask is None else ops.logical_and(starts, mask)

    def recall(
        self, query: Tensor, tape: Tensor, seen: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Attention to the tape: h~_t and c~_t `(R, 2 units)`, and `(R, L)`."""
        n = self.units
        keys, values = tape[..., 2 * n :], tape[..., : 2 * n]
        read, weights = attend(query[:, None], keys, v, seen, values)
        return read[:, 0], weights[:, 0]

    def read(self, query: Tensor, source: Any, u: Tensor) -> tuple[Tensor, Tensor]:
        """Attention to the source: `(R, 2 units)` and `(R, S)`."""
        batch = ops.shape(source["keys"])[0]
        query = ops.reshape(query, (batch, -1, query.shape[-1]))
        read, weights = attend(
            query, source["keys"], u, source["mask"], source["values"]
        )
        read = as_rows(read)
        return read, ops.reshape(weights, (-1, ops.shape(weights)[-1]))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "attention_units": self.attention_units,
            "fusion": self.fusion,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "unit_forget_bias": self.unit_forget_bias,
        }


def attend(
    query: Tensor, keys: Tensor, vector: Tensor, mask: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    """Additive attention, v · tanh(query + keys).

    From `(B, K, a)` and `(B, S, a)` to the weighted sums of the values `(B, K, d)` and
    the weights `(B, K, S)`.
    """
    hidden = ops.tanh(query[:, :, None] + keys[:, None])
    scores = linear(hidden, vector[:, None])[..., 0]
    weights = masked_softmax(scores, mask[:, None])
    return mix(weights, values), weights


def _as_column(initializer):
    """Draws a vector as a matrix with one column: fans are counted so."""

    def draw(shape, dtype=None):
        return initializer((*shape, 1), dtype=dtype)[..., 0]

    return draw
