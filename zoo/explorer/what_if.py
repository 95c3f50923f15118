"""A decoder's step with other attention than the model's own, and with its details."""

import contextlib
from collections.abc import Iterator
from typing import Any

from keras import ops, tree

from zoo.backend import Tensor
from zoo.layers.attention import weighted_sum


def step(
    backbone: Any,
    token_ids: Tensor,
    state: Any,
    memory: Any,
    attention: Tensor,
    window: Any = None,
) -> tuple[Tensor, Any, Tensor, dict[str, Tensor]]:
    """A backbone's `step`, in which attention may be given.

    Args:
        backbone: a `zoo.models.Seq2SeqBackbone`.
        token_ids: as in its `step`.
        state: as in its `step`.
        memory: as in its `step`.
        attention: float `(B, S)`: weights that replace the model's own, in an LSTMN
            those of every layer; of a Transformer `(B, layers, h, S)`. Zeros for its
            own.
        window: D of local attention, an int or int tensor, () or None for its own.

    Returns:
        `(logits, state, weights, details)`. The details are, as far as a step has them:
        "heads", weights of a Transformer's heads on the source `(R, layers, h, S)`;
        "focus", p_t of local attention, float `(R,)`; "windows", its first and last
        position, int `(R, 2)`; "norm_h_t", ‖h_t‖ `(R,)` of a recurrent decoder with
        attention; "recalled", weights of an LSTMN's top layer on its tape `(R, L)`: on
        the state before the first word, and on that of each word.
    """
    heads: list[Tensor] = []
    recalled: list[Tensor] = []
    single = _single(backbone)
    with contextlib.ExitStack() as stack:

        def change(layer, **attributes):
            stack.enter_context(_changed(layer, attributes))

        for place, layer in enumerate(_multi_head(backbone)):
            change(layer, attend=_attend_by_head(layer, attention[:, place], heads))
        for cell in getattr(getattr(backbone, "decoder", None), "cells", ()):
            if getattr(cell, "fusion", None):  # an LSTMN's, which reads the source
                change(cell, attend=_attend_in_lstmn(cell, attention, recalled))
        if single is not None:
            change(single, attend=_attend(single, attention))
        if window is not None and has_window(backbone):
            change(single, window=window)
        logits, new_state, weights = backbone.step(token_ids, state, memory)
        details = _details(backbone, single, state, new_state, memory)
    if heads:
        details["heads"] = ops.stack(heads, axis=1)
    if recalled:
        details["recalled"] = recalled[-1]
    return logits, new_state, weights, details


def has_window(backbone: Any) -> bool:
    """Returns whether a backbone's attention has a window."""
    return getattr(_single(backbone), "window", None) is not None


def heads_of(backbone: Any) -> tuple[int, ...]:
    """Returns how many layers and heads of a Transformer read the source, else ()."""
    layers = _multi_head(backbone)
    return (len(layers), layers[0].num_heads) if layers else ()


# === Where attention is ===
def _single(backbone):
    """The attention layer of a recurrent decoder, or None."""
    cell = getattr(getattr(backbone, "decoder", None), "cell", None)
    return getattr(cell, "attention", None)


def _multi_head(backbone):
    """The attention layers of a Transformer's decoder that read the source."""
    return [layer.memory_attention for layer in getattr(backbone, "decoder_layers", ())]


def _details(backbone, attention, state, new_state, memory):
    if attention is None:
        return {}
    cell = backbone.decoder.cell
    # h_t is the first state of the last cell.
    hidden = tree.flatten(new_state)[sum(getattr(cell, "counts", [0])[:-1])]
    norm = ops.norm(ops.cast(hidden, "float32"), axis=-1)
    if not hasattr(attention, "window"):
        return {"norm_h_t": norm}
    batch = ops.shape(memory.mask)[0]
    focus, windows = attention.attention_window(
        ops.reshape(hidden, (batch, -1, hidden.shape[-1])),
        memory.mask,
        ops.reshape(tree.flatten(state)[-1], (batch, -1)),  # the target position
    )
    places = {"focus": ops.reshape(focus, -1), "windows": ops.reshape(windows, (-1, 2))}
    return {**places, "norm_h_t": norm}


# === Other attention ===
def _given(attention, weights):
    """Weights `(B, ..., T, S)`, those that are given in place; and which rows are."""
    given = ops.cast(attention, weights.dtype)[..., None, :]
    is_given = ops.any(given > 0, axis=-1, keepdims=True)
    return ops.where(is_given, given, weights), is_given


def _attend(layer, attention):
    own = layer.attend

    def attend(query, memory, mask, keys, position):
        context, weights = own(query, memory, mask, keys, position)
        weights, is_given = _given(attention, weights)
        return ops.where(is_given, weighted_sum(weights, memory), context), weights

    return attend


def _attend_by_head(layer, attention, heads):
    own = layer.attend

    def attend(query, keys, mask=None):
        output, weights = own(query, keys, mask)  # (B, T, d) and (B, h, T, S)
        weights, is_given = _given(attention, weights)
        changed = ops.any(is_given, axis=1)  # (B, 1, 1)
        output = ops.where(changed, layer.combine(weights, keys[1]), output)
        # Rows are B sentences of T hypotheses: (R, h, S).
        by_row = ops.transpose(weights, (0, 2, 1, 3))
        shape = (-1, layer.num_heads, ops.shape(by_row)[-1])
        heads.append(ops.reshape(by_row, shape))
        return output, weights

    return attend


def _attend_in_lstmn(cell, attention, recalled):
    own = cell.attend

    def attend(query, source, vector):
        found, weights = own(query, source, vector)  # (R, 2 units) and (R, S)
        if vector == "v":  # on the tape
            recalled.append(weights)
            return found, weights
        shape = (ops.shape(attention)[0], -1, ops.shape(weights)[-1])
        weights, is_given = _given(attention, ops.reshape(weights, shape))
        size = found.shape[-1]
        found = ops.reshape(found, (*shape[:2], size))
        found = ops.where(is_given, weighted_sum(weights, source["values"]), found)
        return ops.reshape(found, (-1, size)), ops.reshape(weights, (-1, shape[-1]))

    return attend


@contextlib.contextmanager
def _changed(layer: Any, attributes: dict[str, Any]) -> Iterator[None]:
    """Gives a layer other attributes, without Keras's tracking of them."""
    own = {name: layer.__dict__[name] for name in attributes if name in layer.__dict__}
    layer.__dict__.update(attributes)
    try:
        yield
    finally:
        for name in attributes:
            del layer.__dict__[name]
        layer.__dict__.update(own)
