"""One step of `LSTMNCell` that keeps what its gradient needs, and that gradient."""

from typing import Any

from keras import ops

from zoo.backend import Tensor
from zoo.layers.fast_loops.gates import activate_gates, memory_gradient
from zoo.layers.functional import columns, wide
from zoo.layers.lstmn_cell import FUSED


def attend_gradient(
    query: Tensor,
    keys: Tensor,
    vector: Tensor,
    values: Tensor,
    weights: Tensor,
    d_read: Tensor,
    d_weights: Tensor | None = None,
) -> Any:
    """The gradient of `attend_row`, whose weights were `(B, S)`.

    Returns that of the query, of the keys, and each row's share `(B, a)` of that of the
    vector. (That of the values is weights times `d_read`.)
    """
    through = ops.matmul(values, d_read[..., None])[..., 0]
    d_weights = through if d_weights is None else through + d_weights
    p, d_weights = wide(weights), wide(d_weights)
    total = ops.maximum(ops.sum(p, axis=-1, keepdims=True), 1e-30)
    mean = ops.sum(p * d_weights, axis=-1, keepdims=True) / total
    d_scores = ops.cast(p * (d_weights - mean), weights.dtype)
    hidden = ops.tanh(query[:, None] + keys)
    d_keys = d_scores[..., None] * (vector * ((1 - hidden) * (1 + hidden)))
    d_vector = ops.matmul(d_scores[:, None], hidden)[:, 0]
    return ops.sum(d_keys, axis=1), d_keys, d_vector


def gates(net: Tensor, memory: Tensor, extra: Tensor | None = None) -> Any:
    """Opens the gates, whose inputs `(B, 4 units)` are in the order i, f, ĉ, o.

    Returns `(h, c)`; f lets `memory` through, and `extra` is added to c.
    """
    i, f, candidate, o = activate_gates(net)
    c = f * memory + i * candidate
    c = c if extra is None else c + extra
    return o * ops.tanh(c), c


def gates_gradient(
    net: Tensor, memory: Tensor, c: Tensor, d_h: Tensor, d_c: Tensor
) -> Any:
    """The gradient of `gates`, whose c it was: of its three arguments."""
    opened = activate_gates(wide(net))
    results = memory_gradient(opened, memory, ops.tanh(wide(c)), d_h, d_c)
    return tuple(ops.cast(part, net.dtype) for part in results)


def gate_gradient(net: Tensor, x: Tensor, d: Tensor) -> Any:
    """The gradient of σ(net) x: of both."""
    gate, x, d = ops.sigmoid(wide(net)), wide(x), wide(d)
    return ops.cast(d * x * gate * (1 - gate), net.dtype), ops.cast(d * gate, net.dtype)


class Rows:
    """Tensors `(..., m)` side by side, under names.

    Args:
        **widths: int by name; None for what is as wide as the call of `split` says.
    """

    def __init__(self, **widths: Any) -> None:
        self.widths = widths

    def join(self, results: Any) -> Any:
        """The tensors of the dict `results` that have a place here, as one."""
        return ops.concatenate([results[name] for name in self.widths], axis=-1)

    def split(self, joined: Tensor, **others: Any) -> Any:
        results, place = {}, 0
        for name, width in self.widths.items():
            width = others[name] if width is None else width
            results[name] = columns(joined, place, place + width)
            place = place + width
        return results


class Step:
    """`LSTMNCell.equations`, and their gradient.

    Args:
        units, attention_units: sizes of h and of the scores' hidden layers.
        fusion: None, "shallow" or "deep".
    """

    def __init__(self, units: int, attention_units: int, fusion: str) -> None:
        n, a = units, attention_units
        self.units, self.fusion = units, fusion
        self.weights = ["recurrent_kernel", "W_htilde", "W_h", "v", *FUSED[fusion]]
        inputs = {"net": 4 * n, "query": a}
        kept = inputs | {"read": 2 * n, "last_htilde": n}
        gradients = inputs | {"v": a}
        if fusion:  # what asks is `fed`: h_{t-1}, or γ~_{t-1}
            self.ask, self.use, _ = FUSED[fusion]
            kept |= {"asked": a, "context": 2 * n, "last_fed": n}
            gradients |= {"asked": a, "u": a, "context": 2 * n}
        if fusion == "deep":
            inputs |= {"share": n, "asked": a}
            kept |= {"share": n}
            gradients |= {"share": n}
        self.inputs = Rows(**inputs)  # as `project` has it
        # What a step leaves for its gradient, with the weights on the tape.
        self.kept = Rows(**kept, tape_weights=None)
        self.gradients = Rows(**gradients)

    def __call__(
        self,
        w: Any,
        row: Tensor,
        htilde: Tensor,
        fed: int,
        read_tape: Any,
        read_source: Any,
    ) -> Any:
        """One step.

        Args:
            w: dict of the cell's `step_weights`.
            row: `(B, m)` of its `project`.
            htilde: h~_{t-1}, `(B, units)`.
            fed: h_{t-1} with shallow fusion, γ~_{t-1} with deep.
            read_tape, read_source: functions of a query `(B, a)` that return what the
                attention reads, h~ and c~ or γ~ and α~ side by side `(B, 2 units)`, and
                its weights.

        Returns:
            `(h, c, results)`: `(B, units)` twice, and what else was computed, by name;
            `htilde` and `fed` are the next step's.
        """
        now, n, extra = self.inputs.split(row), self.units, None
        query = now["query"] + ops.matmul(htilde, w["W_htilde"])
        read, tape_weights = read_tape(query)
        net = now["net"] + ops.matmul(read[:, :n], w["recurrent_kernel"])
        results = {
            "query": query,
            "read": read,
            "tape_weights": tape_weights,
            "last_htilde": htilde,
        }
        results |= {"htilde": read[:, :n], "fed": None}
        if self.fusion:
            asked = ops.matmul(fed, w[self.ask])
            asked = asked + now["asked"] if "asked" in now else asked
            context, alignment = read_source(asked)
            product = ops.matmul(context[:, :n], w[self.use])
            if self.fusion == "shallow":
                net = net + product
            else:
                share = now["share"] + product
                extra = ops.sigmoid(share) * context[:, n:]
                results["share"] = share
            results |= {"asked": asked, "context": context, "last_fed": fed}
            results |= {"alignment": alignment}
        h, c = gates(net, read[:, n:], extra)
        if self.fusion:
            results["fed"] = h if self.fusion == "shallow" else context[:, :n]
        return h, c, results | {"net": net}

    def gradient(
        self,
        w: Any,
        transposed: Any,
        now: Any,
        tape: Tensor,
        c: Tensor,
        d_h: Tensor,
        d_c: Tensor,
        d_htilde: Tensor,
        d_fed: Tensor,
    ) -> Any:
        """The gradient of a step.

        Args:
            w, transposed: dicts of its weights, and of its matrices transposed.
            now: dict of what the step computed, and of the source weights' gradient
                `d_alignment` with fusion.
            tape: `(keys, values)` that it read.
            c: its memory, `(B, units)`.
            d_h, d_c, d_htilde, d_fed: gradients of what it returned, `(B, units)`.

        Returns:
            `(gradients, passed)`: dicts of what is summed after the loop, and of what
            goes to earlier steps: the gradients of `read`, `keys`, `htilde`, `fed` and
            `source_keys`.
        """
        n, read, results, passed = self.units, now["read"], {}, {}
        if self.fusion == "shallow":  # h asks next
            d_h = d_h + d_fed
        results["net"], d_memory, d_c = gates_gradient(
            now["net"], read[:, n:], c, d_h, d_c
        )
        if self.fusion:
            if self.fusion == "shallow":  # α~ isn't used
                d_gamma = ops.matmul(results["net"], transposed[self.use])
                d_alpha = ops.zeros_like(d_gamma)
            else:
                results["share"], d_alpha = gate_gradient(
                    now["share"], now["context"][:, n:], d_c
                )
                d_gamma = d_fed + ops.matmul(results["share"], transposed[self.use])
            results["context"] = ops.concatenate([d_gamma, d_alpha], axis=-1)
            results["asked"], passed["source_keys"], results["u"] = attend_gradient(
                now["asked"],
                w["source_keys"],
                w["u"],
                w["source_values"],
                now["alignment"],
                results["context"],
                now["d_alignment"],
            )
            passed["fed"] = ops.matmul(results["asked"], transposed[self.ask])
        d_htilde = d_htilde + ops.matmul(results["net"], transposed["recurrent_kernel"])
        passed["read"] = ops.concatenate([d_htilde, d_memory], axis=-1)
        keys, values = tape
        results["query"], passed["keys"], results["v"] = attend_gradient(
            now["query"], keys, w["v"], values, now["tape_weights"], passed["read"]
        )
        passed["htilde"] = ops.matmul(results["query"], transposed["W_htilde"])
        return results, passed
