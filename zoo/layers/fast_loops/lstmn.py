"""The steps of `LSTMNCell` over a sequence, with their gradient written out.

What a loop's automatic gradient keeps of every step (a copy of the tapes, the hidden
layers of the attentions) and what it adds up at every step (the matrices' gradients) is
most of its cost: `tools.bench.lstmn`. Here the tapes are kept once, hidden layers
are computed again, and the gradient of a matrix is one product after the loop. What
the gradient needs is kept in inference as well: a few vectors a step, and the weights
on the tape.

JAX has no forward mode through it.
"""

from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.fast_loops.lstmn_step import Rows, Step
from zoo.layers.functional import (
    as_rows,
    columns,
    custom_gradient,
    gather_rows,
    scan,
)
from zoo.layers.lstmn_cell import attend_row


def run_lstmn_cell(
    cell: Any,
    inputs: Tensor,
    mask: Tensor | None = None,
    initial: Any = None,
    source: Tensor | None = None,
    starts: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor | None, list[Tensor]]:
    """`LSTMNCell` over a sequence.

    Args:
        cell: a built `LSTMNCell`.
        inputs: `(B, T, n)`.
        mask: bool `(B, T)`, true where real, or None.
        initial: `[h, c]`, zeros by default.
        source: from `project_source`, with fusion; it has as many rows.
        starts: bool `(B, T)`, true where the tapes start anew, as if what follows
            were run by itself from the last h and c; None, the default, for
            nowhere. Without fusion.

    Returns:
        `(h, c, weights, [h, c])`: `(B, T, units)` twice, zeros at pads; the weights
        on the source `(B, T, S)` or None; the last real step's.
    """
    if mask is not None:
        mask = ops.cast(ops.convert_to_tensor(mask), "bool")
    if starts is not None:
        starts = cell.checked_starts(starts, mask)
    x = cell.project(inputs)
    zeros = ops.zeros((ops.shape(x)[0], cell.units), dtype=x.dtype)
    first = [ops.cast(s, x.dtype) for s in initial] if initial else [zeros, zeros]
    h, c, weights = _Loop(cell).run(x, first, cell.step_weights(), mask, source, starts)
    if mask is None:
        return h, c, weights, [h[:, -1], c[:, -1]]
    # The place behind the last real step, in the tape; 0 without any.
    steps = ops.arange(ops.shape(x)[1], dtype="int32") + 1
    place = ops.max(ops.where(mask, steps, 0), axis=1)
    last = [
        gather_rows(
            ops.concatenate([start[:, None], tape], axis=1), place[:, None, None]
        )[:, 0, 0]
        for start, tape in zip(first, (h, c), strict=True)
    ]
    real = mask[..., None]
    h, c = (ops.where(real, tape, 0.0) for tape in (h, c))
    weights = None if weights is None else ops.where(real, weights, 0.0)
    return h, c, weights, last


class _Loop:
    """A cell's steps over a sequence."""

    def __init__(self, cell):
        self.units, self.fusion = cell.units, cell.fusion
        attention_units = cell.attention_units or cell.units
        self.step = Step(self.units, attention_units, self.fusion)

    def run(self, x, first, weights, mask=None, source=None, starts=None):
        """All steps.

        Args:
            x: `(B, T, m)`, of the cell's `project`.
            first: `(h, c)` of slot 0, each `(B, units)`.
            weights: the cell's `step_weights()`.
            mask: bool `(B, T)`, true where real, or None.
            source: of the cell's `project_source`, with as many rows, or None.
            starts: bool `(B, T)`, true where the tapes start anew, at no pad, or None.

        Returns:
            `(h, c, alignment)`: two tensors `(B, T, units)`, undefined at padding; the
            weights on the source `(B, T, S)` or None.
        """
        given = {"x": x, "h": first[0], "c": first[1]}
        given |= {name: weights[name] for name in self.step.weights}
        # Arguments too, though without a gradient: what a function with a gradient of
        # its own closes over, JAX can't lead out of a compiled one.
        if mask is not None:
            given["keep"] = ops.cast(mask, x.dtype)[..., None]
        if starts is not None:
            given["starts"] = starts
        if source is not None:
            given |= {f"source_{name}": value for name, value in source.items()}

        @custom_gradient
        def steps(*arguments):
            w = dict(zip(given, arguments, strict=True))
            tapes, kept, alignment = self._forward(w)
            outputs = [tapes[1][:, 1:]] + ([] if alignment is None else [alignment])

            def gradient(upstream):
                results = self._backward(w, tapes, kept, alignment, upstream)
                return tuple(results.get(name) for name in given)

            return ops.concatenate(outputs, axis=-1), gradient

        outputs, n = steps(*given.values()), self.units
        h, c = columns(outputs, 0, n), columns(outputs, n, 2 * n)
        return h, c, None if source is None else outputs[..., 2 * n :]

    def _forward(self, w):
        """`(keys, values)` of the tapes, what is kept, and the alignment."""
        x, keep, starts = w["x"], w.get("keep"), w.get("starts")
        slots = ops.arange(ops.shape(x)[1] + 1, dtype="int32")[None]
        seen = visible(ops.shape(x)[1], keep, starts)

        def read_source(query):
            source = w["source_keys"], w["u"], w["source_mask"], w["source_values"]
            return attend_row(query, *source)

        def forward_step(row, states):
            keys, values, htilde, *fed, position = states
            if starts is not None:
                begins = ops.take(starts, position, axis=1)[:, None]
                htilde = ops.where(begins, 0.0, htilde)
            sees = ops.take(seen, position, axis=1)
            h, c, results = self.step(
                w,
                row,
                htilde,
                fed[0] if fed else None,
                lambda query: attend_row(query, keys, w["v"], sees, values),
                read_source,
            )
            new = [results["htilde"]] + ([results["fed"]] if fed else [])
            if keep is not None:
                is_real, old = ops.take(keep, position, axis=1) > 0, [htilde, *fed]
                new = [ops.where(is_real, *pair) for pair in zip(new, old, strict=True)]
            here = (slots == position + 1)[..., None]
            keys = ops.where(here, ops.matmul(h, w["W_h"])[:, None], keys)
            both = ops.concatenate([h, c], axis=-1)[:, None]
            values = ops.where(here, both, values)
            outputs = [self.step.kept.join(results)]
            outputs += [results["alignment"]] if self.fusion else []
            states = [keys, values, *new, position + 1]
            return ops.concatenate(outputs, axis=-1), states

        h, first = w["h"], ops.concatenate([w["h"], w["c"]], axis=-1)
        begin = ops.cast(slots == 0, h.dtype)[..., None]
        states = [begin * ops.matmul(h, w["W_h"])[:, None], begin * first[:, None]]
        states += [ops.zeros_like(h)]
        states += {None: [], "shallow": [h], "deep": [ops.zeros_like(h)]}[self.fusion]
        states += [ops.zeros((), dtype="int32")]
        outputs, (keys, values, *_) = scan(forward_step, x, states)
        width = ops.shape(outputs)[-1]
        if not self.fusion:
            return (keys, values), outputs, None
        width = width - ops.shape(w["source_keys"])[1]
        return (keys, values), outputs[..., :width], outputs[..., width:]

    def _backward(self, w, tapes, kept, alignment, upstream):
        """The gradients of all arguments that have one, by name."""
        keys, values = tapes
        keep, starts = w.get("keep"), w.get("starts")
        n, slots = self.units, ops.shape(keys)[1]
        matrices = [name for name in self.step.weights if len(w[name].shape) == 2]
        transposed = {name: ops.transpose(w[name]) for name in matrices}
        layout = Rows(d_h=n, d_c=n, d_alignment=None)
        longer = ops.shape(alignment)[2] if self.fusion else 0

        def backward_step(row, states):
            d_keys, d_values, d_htilde, *others, position = states
            # Rows of tensors that stay where they are: as a sequence of the loop they
            # would be copied.
            now = self.step.kept.split(
                ops.take(kept, position, axis=1), tape_weights=slots
            )
            now |= layout.split(row, d_alignment=longer)
            c = ops.take(values, position + 1, axis=1)[:, n:]
            if self.fusion:
                now["alignment"] = ops.take(alignment, position, axis=1)
            d_fed, stays = others[1] if self.fusion else None, [0.0, 0.0]
            if keep is not None:  # what a pad left as it was
                real = ops.take(keep, position, axis=1)
                stays[0], d_htilde = (1 - real) * d_htilde, real * d_htilde
                if self.fusion:
                    stays[1], d_fed = (1 - real) * d_fed, real * d_fed
            d_key = ops.take(d_keys, position + 1, axis=1)
            d_row = ops.take(d_values, position + 1, axis=1)
            results, passed = self.step.gradient(
                w,
                transposed,
                now,
                tapes,
                c,
                now["d_h"] + d_row[:, :n] + ops.matmul(d_key, transposed["W_h"]),
                now["d_c"] + d_row[:, n:],
                d_htilde,
                d_fed,
            )
            d_values = (
                d_values + now["tape_weights"][..., None] * passed["read"][:, None]
            )
            d_htilde = passed["htilde"]
            if starts is not None:
                begins = ops.take(starts, position, axis=1)[:, None]
                d_htilde = ops.where(begins, 0.0, d_htilde)
            if self.fusion:
                others = [others[0] + passed["source_keys"], passed["fed"] + stays[1]]
            states = [d_keys + passed["keys"], d_values, d_htilde + stays[0], *others]
            return self.step.gradients.join(results), [*states, position - 1]

        states = [ops.zeros_like(keys), ops.zeros_like(values), ops.zeros_like(w["h"])]
        if self.fusion:
            states += [ops.zeros_like(w["source_keys"]), ops.zeros_like(w["h"])]
        states += [ops.convert_to_tensor(slots - 2, dtype="int32")]
        results, states = scan(backward_step, upstream, states, reverse=True)
        results = self.step.gradients.split(results)
        kept = self.step.kept.split(kept, tape_weights=slots)
        return self._sums(transposed, values, results, kept, alignment, states)

    def _sums(self, transposed, values, results, kept, alignment, states):
        """The gradients of all arguments, computed after the loop."""
        n = self.units
        d_keys, d_values, _, *others, _ = states
        d_first = d_values[:, 0]
        gradients = {
            "x": self.step.inputs.join(results),
            "h": d_first[:, :n] + ops.matmul(d_keys[:, 0], transposed["W_h"]),
            "c": d_first[:, n:],
            "recurrent_kernel": _product(kept["read"][..., :n], results["net"]),
            "W_htilde": _product(kept["last_htilde"], results["query"]),
            "W_h": _product(values[..., :n], d_keys),
            "v": ops.sum(results["v"], axis=(0, 1)),
        }
        if self.fusion:
            used = results["net" if self.fusion == "shallow" else "share"]
            across = ops.swapaxes(alignment, 1, 2)
            gradients |= {
                self.step.ask: _product(kept["last_fed"], results["asked"]),
                self.step.use: _product(kept["context"][..., :n], used),
                "u": ops.sum(results["u"], axis=(0, 1)),
                "source_keys": others[0],
                "source_values": ops.matmul(across, results["context"]),
            }
        if self.fusion == "shallow":
            gradients["h"] = gradients["h"] + others[1]
        return gradients


def _product(x, d):
    """Σ over rows and steps of x ⊗ d: the gradient of a matrix that x was times."""
    x, d = (as_rows(y) for y in (x, d))
    return ops.matmul(ops.transpose(x), d)


def visible(
    length: int, keep: Tensor | None = None, starts: Tensor | None = None
) -> Tensor:
    """Returns which slots of its tape each step sees.

    It sees its past without padding, and where tapes start anew the last state before.

    Args:
        length: of the sequence.
        keep: `(B, T, 1)`, 0 at pads, or None.
        starts: bool `(B, T)`, true where a tape starts anew, or None.

    Returns:
        Bool `(B, T, T + 1)`, or `(1, T, T + 1)` where nothing is given.
    """
    steps = ops.arange(length, dtype="int32")
    slots = ops.arange(length + 1, dtype="int32")
    past = slots[None, None] <= steps[None, :, None]
    real = slots[None] >= 0
    if keep is not None:
        real = ops.concatenate([ops.ones_like(keep[:, :1]), keep], axis=1)[..., 0] > 0
    seen = ops.logical_and(past, real[:, None])
    if starts is None:
        return seen
    last = ops.max(ops.where(seen, slots, 0), axis=-1)  # the slot before each step
    before = steps[None, None] <= steps[None, :, None]
    first = ops.where(ops.logical_and(before, starts[:, None]), last[:, None], 0)
    return ops.logical_and(seen, slots >= ops.max(first, axis=-1)[..., None])
