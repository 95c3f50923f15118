"""The steps of `LSTMNCell` over a sequence, with their gradient written out.

What a loop's automatic gradient keeps of every step (a copy of the tapes, the hidden
layers of the attentions) and what it adds up at every step (the matrices' gradients) is
most of its cost: docs/performance.md. Here the tapes are kept once, hidden layers are
computed again, and the gradient of a matrix is one product behind the loop. What the
gradient needs is kept in inference as well, a few vectors a step.

It is a gradient of first order in reverse mode: another of it, or forward mode, does
not see through the loop.
"""

from keras import ops

from zoo.layers.functional import columns, scan
from zoo.layers.lstmn_step import Rows, attend_gradient, attend_row, gates_gradient


class Loop:
    """A cell's steps over a sequence.

    Args:
        step: the cell's `Step`.
        attention_units: size of the scores' hidden layers.
    """

    def __init__(self, step, attention_units):
        self.step, self.units, self.fusion = step, step.units, step.fusion
        n, a = step.units, attention_units
        kept = {"net": 4 * n, "query": a, "read": 2 * n, "last_htilde": n}
        given = {"net": 4 * n, "query": a, "v": a}
        if self.fusion:
            kept |= {"asked": a, "context": 2 * n, "last_fed": n}
            given |= {"asked": a, "u": a, "context": 2 * n}
        if self.fusion == "deep":
            kept |= {"share": n}
            given |= {"share": n}
        # What a step leaves for its gradient, with the weights on the tape.
        self.kept = Rows(**kept, own=None)
        self.given = Rows(**given)  # gradients that a step knows

    def run(self, x, first, weights, mask=None, source=None, starts=None):
        """All steps.

        Args:
            x: `(B, T, m)`, of the cell's `project`.
            first: `(h, c)` of slot 0, each `(B, units)`.
            weights: the cell's `loop_weights()`.
            mask: bool `(B, T)`, true where real, or None.
            source: of the cell's `project_source`, with as many rows, or None.
            starts: bool `(B, T)`, true where the tapes start anew, at no pad, or None.

        Returns:
            `(h, c, alignment)`: `(B, T, units)` twice, whatever at pads; the weights on
            the source `(B, T, S)` or None.
        """
        keep = None if mask is None else ops.cast(mask, x.dtype)[..., None]
        arguments = [x, *first, *(weights[name] for name in self.step.weights)]
        names = ["x", "h", "c", *self.step.weights]
        if source is not None:
            arguments += [source["keys"], source["values"]]
            names += ["source_keys", "source_values"]

        @ops.custom_gradient
        def steps(*arguments):
            w = dict(zip(names, arguments, strict=True))
            tapes, kept, alignment = self._forward(
                w, keep, source and source["mask"], starts
            )
            outputs = [tapes[1][:, 1:]] + ([] if alignment is None else [alignment])

            def gradient(*args, upstream=None):
                upstream = args[0] if upstream is None else upstream
                found = self._backward(
                    w, tapes, kept, alignment, keep, starts, upstream
                )
                return tuple(found[name] for name in names)

            return ops.concatenate(outputs, axis=-1), gradient

        outputs, n = steps(*arguments), self.units
        h, c = columns(outputs, 0, n), columns(outputs, n, 2 * n)
        return h, c, None if source is None else outputs[..., 2 * n :]

    def _forward(self, w, keep, source_mask, starts):
        """`(keys, values)` of the tapes, what is kept, and the alignment."""
        x, n = w["x"], self.units
        slots = ops.arange(ops.shape(x)[1] + 1, dtype="int32")[None]
        seen = visible(ops.shape(x)[1], keep, starts)

        def read_source(query):
            source = w["source_keys"], w["u"], source_mask, w["source_values"]
            return attend_row(query, *source)

        def step(row, states):
            keys, values, htilde, *fed, position = states
            if starts is not None:
                begins = ops.take(starts, position, axis=1)[:, None]
                htilde = ops.where(begins, 0.0, htilde)
            own = ops.take(seen, position, axis=1)
            h, c, found = self.step(
                w,
                row,
                htilde,
                fed[0] if fed else None,
                lambda query: attend_row(query, keys, w["v"], own, values),
                read_source,
            )
            new = [found["read"][:, :n]]
            if self.fusion:
                new += [h if self.fusion == "shallow" else found["context"][:, :n]]
            if keep is not None:
                is_real, old = ops.take(keep, position, axis=1) > 0, [htilde, *fed]
                new = [ops.where(is_real, *pair) for pair in zip(new, old, strict=True)]
            here = (slots == position + 1)[..., None]
            keys = ops.where(here, ops.matmul(h, w["W_h"])[:, None], keys)
            both = ops.concatenate([h, c], axis=-1)[:, None]
            values = ops.where(here, both, values)
            outputs = [self.kept.join(found)]
            outputs += [found["alignment"]] if self.fusion else []
            states = [keys, values, *new, position + 1]
            return ops.concatenate(outputs, axis=-1), states

        h, first = w["h"], ops.concatenate([w["h"], w["c"]], axis=-1)
        begin = ops.cast(slots == 0, h.dtype)[..., None]
        states = [begin * ops.matmul(h, w["W_h"])[:, None], begin * first[:, None]]
        states += [ops.zeros_like(h)]
        states += {None: [], "shallow": [h], "deep": [ops.zeros_like(h)]}[self.fusion]
        states += [ops.zeros((), dtype="int32")]
        outputs, (keys, values, *_) = scan(step, x, states)
        width = ops.shape(outputs)[-1]
        if not self.fusion:
            return (keys, values), outputs, None
        width = width - ops.shape(w["source_keys"])[1]
        return (keys, values), outputs[..., :width], outputs[..., width:]

    def _backward(self, w, tapes, kept, alignment, keep, starts, upstream):
        """The gradients of all arguments, by name."""
        keys, values = tapes
        n, slots = self.units, ops.shape(keys)[1]
        turned = {
            name: ops.transpose(w[name]) for name in self.step.weights if len(name) > 1
        }
        layout = Rows(d_h=n, d_c=n, d_alignment=None)
        longer = ops.shape(alignment)[2] if self.fusion else 0

        def step(row, states):
            d_keys, d_values, d_htilde, *others, position = states
            # Rows of tensors that stay where they are: as a sequence of the loop they
            # would be copied.
            now = self.kept.split(ops.take(kept, position, axis=1), own=slots)
            now |= layout.split(row, d_alignment=longer)
            c = ops.take(values, position + 1, axis=1)[:, n:]
            if self.fusion:
                now["alignment"] = ops.take(alignment, position, axis=1)
            stays = [0.0, 0.0]
            if keep is not None:  # what a pad left as it was
                real = ops.take(keep, position, axis=1)
                stays = [(1 - real) * d for d in (d_htilde, *others[1:])]
                d_htilde, *others[1:] = (real * d for d in (d_htilde, *others[1:]))
            d_key = ops.take(d_keys, position + 1, axis=1)
            d_row = ops.take(d_values, position + 1, axis=1)
            d_h = now["d_h"] + d_row[:, :n] + ops.matmul(d_key, turned["W_h"])
            if self.fusion == "shallow":
                d_h = d_h + others[1]
            read, out = now["read"], {}
            out["net"], d_memory, d_c = gates_gradient(
                now["net"], read[:, n:], c, d_h, now["d_c"] + d_row[:, n:]
            )
            if self.fusion:
                d_source_keys, d_fed = others
                found, more = self._source_gradient(
                    w, turned, now, out["net"], d_c, d_fed
                )
                out |= found
                d_fed = ops.matmul(out["asked"], turned[self.step.ask]) + stays[1]
                others = [d_source_keys + more, d_fed]
            d_htilde = d_htilde + ops.matmul(out["net"], turned["recurrent_kernel"])
            d_read = ops.concatenate([d_htilde, d_memory], axis=-1)
            out["query"], more, out["v"] = attend_gradient(
                now["query"], keys, w["v"], values, now["own"], d_read
            )
            d_values = d_values + now["own"][..., None] * d_read[:, None]
            d_htilde = ops.matmul(out["query"], turned["W_htilde"])
            if starts is not None:
                begins = ops.take(starts, position, axis=1)[:, None]
                d_htilde = ops.where(begins, 0.0, d_htilde)
            states = [d_keys + more, d_values, d_htilde + stays[0], *others]
            return self.given.join(out), [*states, position - 1]

        states = [ops.zeros_like(keys), ops.zeros_like(values), ops.zeros_like(w["h"])]
        if self.fusion:
            states += [ops.zeros_like(w["source_keys"]), ops.zeros_like(w["h"])]
        states += [ops.convert_to_tensor(slots - 2, dtype="int32")]
        given, states = scan(step, upstream, states, reverse=True)
        given, kept = self.given.split(given), self.kept.split(kept, own=slots)
        return self._sums(turned, values, given, kept, alignment, states)

    def _source_gradient(self, w, turned, now, d_net, d_c, d_fed):
        """What a step knows of the gradients of its reading the source, by name, and
        that of the source's keys."""
        n, context, out = self.units, now["context"], {}
        if self.fusion == "shallow":  # α~ isn't used
            d_gamma = ops.matmul(d_net, turned[self.step.use])
            d_alpha = ops.zeros_like(d_gamma)
        else:
            gate = ops.sigmoid(now["share"])
            out["share"] = d_c * context[:, n:] * gate * (1 - gate)
            d_gamma = d_fed + ops.matmul(out["share"], turned[self.step.use])
            d_alpha = d_c * gate
        out["context"] = ops.concatenate([d_gamma, d_alpha], axis=-1)
        out["asked"], d_keys, out["u"] = attend_gradient(
            now["asked"],
            w["source_keys"],
            w["u"],
            w["source_values"],
            now["alignment"],
            out["context"],
            now["d_alignment"],
        )
        return out, d_keys

    def _sums(self, turned, values, given, kept, alignment, states):
        """What is left to do behind the loop: the gradients of all arguments."""
        n = self.units
        d_keys, d_values, _, *others, _ = states
        d_first = d_values[:, 0]
        found = {
            "x": self.step.inputs.join(given),
            "h": d_first[:, :n] + ops.matmul(d_keys[:, 0], turned["W_h"]),
            "c": d_first[:, n:],
            "recurrent_kernel": _product(kept["read"][..., :n], given["net"]),
            "W_htilde": _product(kept["last_htilde"], given["query"]),
            "W_h": _product(values[..., :n], d_keys),
            "v": ops.sum(given["v"], axis=(0, 1)),
        }
        if self.fusion:
            used = given["net" if self.fusion == "shallow" else "share"]
            across = ops.swapaxes(alignment, 1, 2)
            found |= {
                self.step.ask: _product(kept["last_fed"], given["asked"]),
                self.step.use: _product(kept["context"][..., :n], used),
                "u": ops.sum(given["u"], axis=(0, 1)),
                "source_keys": others[0],
                "source_values": ops.matmul(across, given["context"]),
            }
        if self.fusion == "shallow":
            found["h"] = found["h"] + others[1]
        return found


def _product(x, d):
    """Σ over rows and steps of x ⊗ d: the gradient of a matrix that x was times."""
    x, d = (ops.reshape(y, (-1, y.shape[-1])) for y in (x, d))
    return ops.matmul(ops.transpose(x), d)


def visible(length, keep=None, starts=None):
    """Which slots of its tape a step sees: its own past, pads left out, and where tapes
    start anew the last state before.

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
