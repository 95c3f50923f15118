"""The steps of `LSTMNCell` over a sequence, with their gradient written out.

What a loop's automatic gradient keeps of every step (a copy of the tapes, the hidden
layers of the attentions) and what it adds up at every step (the matrices' gradients) is
most of its cost. Here the tapes are kept once, hidden layers are computed again, and
the gradient of a matrix is one product behind the loop.
"""

from keras import ops

from zoo.layers.attention import mix
from zoo.layers.functional import columns, linear, masked_softmax, scan


def attend(query, keys, vector, mask, values):
    """Additive attention, v · tanh(query + keys): `(B, K, a)` and `(B, S, a)` to the
    weighted sums of the values `(B, K, d)` and the weights `(B, K, S)`."""
    hidden = ops.tanh(query[:, :, None] + keys[:, None])
    scores = linear(hidden, vector[:, None])[..., 0]
    weights = masked_softmax(scores, mask[:, None])
    return mix(weights, values), weights


def attend_gradient(query, keys, vector, values, weights, d_read, d_weights=0.0):
    """The gradient of `attend` with one query a row, `(B, a)`, whose weights were
    `(B, S)`: that of the query, of the keys, and each row's share `(B, a)` of that of
    the vector. (That of the values is weights times `d_read`.)"""
    d_weights = d_weights + ops.matmul(values, d_read[..., None])[..., 0]
    mean = ops.sum(weights * d_weights, axis=-1, keepdims=True)
    d_scores = weights * (d_weights - mean)
    hidden = ops.tanh(query[:, None] + keys)
    d_keys = d_scores[..., None] * (vector * (1 - hidden * hidden))
    d_vector = ops.matmul(d_scores[:, None], hidden)[:, 0]
    return ops.sum(d_keys, axis=1), d_keys, d_vector


def gates(net, memory, extra=None):
    """`(h, c)` of the gates' inputs `(B, 4 units)` in the order i, f, ĉ, o, of the
    memory that f lets through, and of what is added to c."""
    i, f, candidate, o = ops.split(net, 4, axis=-1)
    c = ops.sigmoid(f) * memory + ops.sigmoid(i) * ops.tanh(candidate)
    c = c if extra is None else c + extra
    return ops.sigmoid(o) * ops.tanh(c), c


def gates_gradient(net, memory, c, d_h, d_c):
    """The gradient of `gates`, whose c it was: of its three arguments."""
    i, f, candidate, o = ops.split(net, 4, axis=-1)
    i, f, o = ops.sigmoid(i), ops.sigmoid(f), ops.sigmoid(o)
    candidate, squashed = ops.tanh(candidate), ops.tanh(c)
    d_c = d_c + d_h * o * (1 - squashed * squashed)
    parts = [
        d_c * candidate * i * (1 - i),
        d_c * memory * f * (1 - f),
        d_c * i * (1 - candidate * candidate),
        d_h * squashed * o * (1 - o),
    ]
    return ops.concatenate(parts, axis=-1), d_c * f, d_c


class Rows:
    """Tensors `(..., m)` side by side, under names.

    Args:
        **widths: int by name; None for what is as wide as the call of `split` says.
    """

    def __init__(self, **widths):
        self.widths = widths

    def join(self, found):
        """The tensors of the dict `found` that have a place here, as one."""
        return ops.concatenate([found[name] for name in self.widths], axis=-1)

    def split(self, joined, **others):
        found, place = {}, 0
        for name, width in self.widths.items():
            if width is None:
                found[name] = joined[..., place : place + others[name]]
                place = place + others[name]
            else:
                found[name] = columns(joined, place, place + width)
                place = place + width
        return found


class Loop:
    """A cell's steps over a sequence.

    Args:
        units, attention_units: sizes of h and of the scores' hidden layers.
        fusion: None, "shallow" or "deep".
    """

    def __init__(self, units, attention_units, fusion):
        self.units, self.fusion = units, fusion
        n, a = units, attention_units
        self.weights = ["recurrent_kernel", "W_htilde", "W_h", "v"]
        inputs = {"net": 4 * n, "query": a}
        kept = {"net": 4 * n, "query": a, "read": 2 * n, "last_htilde": n}
        given = {"net": 4 * n, "query": a, "v": a}
        if fusion:  # `fed` is what asks: h_{t-1}, or γ~_{t-1}
            self.ask = "W_q" if fusion == "shallow" else "W_gammatilde"
            self.use = "context_kernel" if fusion == "shallow" else "W_r"
            self.weights += [self.ask, self.use, "u"]
            kept |= {"asked": a, "found": 2 * n, "last_fed": n}
            given |= {"asked": a, "u": a, "found": 2 * n}
        if fusion == "deep":
            inputs |= {"share": n, "asked": a}
            kept |= {"share": n}
            given |= {"share": n}
        self.inputs = Rows(**inputs)  # as `project` has it
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
            source: of the cell's `project_source`, or None.
            starts: bool `(B, T)`, true where the tapes start anew, with the last state
                before as slot 0, or None; without fusion.

        Returns:
            `(h, c, alignment)`: `(B, T, units)` twice, whatever at pads; the weights on
            the source `(B, T, S)` or None.
        """
        keep = None if mask is None else ops.cast(mask, x.dtype)[..., None]
        if starts is not None and mask is not None:
            starts = ops.logical_and(starts, mask)  # a pad starts nothing
        arguments = [x, *first, *(weights[name] for name in self.weights)]
        names = ["x", "h", "c", *self.weights]
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

    def _forward(self, w, keep, source_mask, starts=None):
        """`(keys, values)` of the tapes, what is kept, and the alignment."""
        x, n = w["x"], self.units
        slots = ops.arange(ops.shape(x)[1] + 1, dtype="int32")[None]
        seen = visible(ops.shape(x)[1], keep, starts)

        def step(row, states):
            keys, values, htilde, *fed, position = states
            if starts is not None:
                begins = ops.take(starts, position, axis=1)[:, None]
                htilde = ops.where(begins, 0.0, htilde)
            now, found = self.inputs.split(row), {"last_htilde": htilde}
            query = now["query"] + ops.matmul(htilde, w["W_htilde"])
            own = ops.take(seen, position, axis=1)
            read, own = attend(query[:, None], keys, w["v"], own, values)
            read, new = read[:, 0], [read[:, 0, :n]]
            net = now["net"] + ops.matmul(new[0], w["recurrent_kernel"])
            extra, rest = None, []
            if self.fusion:
                asked = ops.matmul(fed[0], w[self.ask])
                asked = asked + now["asked"] if "asked" in now else asked
                context, weights = attend(
                    asked[:, None],
                    w["source_keys"],
                    w["u"],
                    source_mask,
                    w["source_values"],
                )
                context, rest = context[:, 0], [weights[:, 0]]
                found |= {"asked": asked, "found": context, "last_fed": fed[0]}
                product = ops.matmul(context[:, :n], w[self.use])
                if self.fusion == "shallow":
                    net = net + product
                else:
                    found["share"] = now["share"] + product
                    extra = ops.sigmoid(found["share"]) * context[:, n:]
            h, c = gates(net, read[:, n:], extra)
            if self.fusion:
                new += [h if self.fusion == "shallow" else context[:, :n]]
            if keep is not None:
                is_real = ops.take(keep, position, axis=1) > 0
                old = [htilde, *fed]
                new = [ops.where(is_real, *pair) for pair in zip(new, old, strict=True)]
            here = (slots == position + 1)[..., None]
            keys = ops.where(here, ops.matmul(h, w["W_h"])[:, None], keys)
            row = ops.concatenate([h, c], axis=-1)[:, None]
            values = ops.where(here, row, values)
            found |= {"net": net, "query": query, "read": read, "own": own[:, 0]}
            output = ops.concatenate([self.kept.join(found), *rest], axis=-1)
            return output, [keys, values, *new, position + 1]

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
        n, fused = self.units, self.fusion is not None
        slots = ops.shape(keys)[1]
        transposed = {
            name: ops.transpose(w[name]) for name in self.weights if name not in "vu"
        }
        upstream_rows = Rows(d_h=n, d_c=n, d_alignment=None)
        longer = ops.shape(alignment)[2] if fused else 0

        def step(row, states):
            d_keys, d_values, d_htilde, *others, position = states
            # Rows of tensors that stay where they are: as a sequence of the loop they
            # would be copied.
            now = self.kept.split(ops.take(kept, position, axis=1), own=slots)
            now |= upstream_rows.split(row, d_alignment=longer)
            c = ops.take(values, position + 1, axis=1)[:, n:]
            out, stays = {}, [0.0, 0.0]
            if keep is not None:  # what a pad left as it was
                real = ops.take(keep, position, axis=1)
                stays = [(1 - real) * d for d in (d_htilde, *others[1:])]
                d_htilde, *others[1:] = (real * d for d in (d_htilde, *others[1:]))
            d_key = ops.take(d_keys, position + 1, axis=1)
            d_row = ops.take(d_values, position + 1, axis=1)
            d_h = now["d_h"] + d_row[:, :n] + ops.matmul(d_key, transposed["W_h"])
            if self.fusion == "shallow":
                d_h = d_h + others[1]
            read = now["read"]
            out["net"], d_memory, d_c = gates_gradient(
                now["net"], read[:, n:], c, d_h, now["d_c"] + d_row[:, n:]
            )
            if fused:
                d_source_keys, d_fed = others
                context = now["found"]
                if self.fusion == "shallow":
                    d_gamma = ops.matmul(out["net"], transposed[self.use])
                    d_alpha = ops.zeros_like(d_gamma)
                else:
                    gate = ops.sigmoid(now["share"])
                    out["share"] = d_c * context[:, n:] * gate * (1 - gate)
                    d_gamma = d_fed + ops.matmul(out["share"], transposed[self.use])
                    d_alpha = d_c * gate
                out["found"] = ops.concatenate([d_gamma, d_alpha], axis=-1)
                out["asked"], more, out["u"] = attend_gradient(
                    now["asked"],
                    w["source_keys"],
                    w["u"],
                    w["source_values"],
                    ops.take(alignment, position, axis=1),
                    out["found"],
                    now["d_alignment"],
                )
                d_fed = ops.matmul(out["asked"], transposed[self.ask]) + stays[1]
                others = [d_source_keys + more, d_fed]
            d_htilde = d_htilde + ops.matmul(out["net"], transposed["recurrent_kernel"])
            d_read = ops.concatenate([d_htilde, d_memory], axis=-1)
            out["query"], more, out["v"] = attend_gradient(
                now["query"], keys, w["v"], values, now["own"], d_read
            )
            d_values = d_values + now["own"][..., None] * d_read[:, None]
            d_htilde = ops.matmul(out["query"], transposed["W_htilde"])
            if starts is not None:
                begins = ops.take(starts, position, axis=1)[:, None]
                d_htilde = ops.where(begins, 0.0, d_htilde)
            d_htilde = d_htilde + stays[0]
            states = [d_keys + more, d_values, d_htilde, *others, position - 1]
            return self.given.join(out), states

        states = [ops.zeros_like(keys), ops.zeros_like(values), ops.zeros_like(w["h"])]
        if fused:
            states += [ops.zeros_like(w["source_keys"]), ops.zeros_like(w["h"])]
        states += [ops.convert_to_tensor(slots - 2, dtype="int32")]
        given, states = scan(step, upstream, states, reverse=True)
        given, kept = self.given.split(given), self.kept.split(kept, own=slots)
        return self._sums(w, values, given, kept, alignment, states)

    def _sums(self, w, values, given, kept, alignment, states):
        """What is left to do behind the loop."""
        n = self.units
        d_keys, d_values, _, *others, _ = states
        d_first = d_values[:, 0]
        found = {
            "x": self.inputs.join(given),
            "h": d_first[:, :n] + ops.matmul(d_keys[:, 0], ops.transpose(w["W_h"])),
            "c": d_first[:, n:],
            "recurrent_kernel": _product(kept["read"][..., :n], given["net"]),
            "W_htilde": _product(kept["last_htilde"], given["query"]),
            "W_h": _product(values[..., :n], d_keys),
            "v": ops.sum(given["v"], axis=(0, 1)),
        }
        if self.fusion:
            target = given["net" if self.fusion == "shallow" else "share"]
            found |= {
                self.ask: _product(kept["last_fed"], given["asked"]),
                self.use: _product(kept["found"][..., :n], target),
                "u": ops.sum(given["u"], axis=(0, 1)),
                "source_keys": others[0],
                "source_values": ops.matmul(
                    ops.swapaxes(alignment, 1, 2), given["found"]
                ),
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
