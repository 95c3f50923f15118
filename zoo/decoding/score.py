"""Log-probabilities of texts under a language model."""

import math

import numpy as np
from keras import ops

from zoo.decoding.compiled import compiled
from zoo.text.tokenizer import END_ID, PAD_ID

SEGMENT = 64  # words read at once where the state is carried over
_ROUND = 16  # lengths are padded to a multiple: each is compiled by itself


def score_ids(task, rows, batch_size=32):
    """Log-probability of each row of word ids and the end token behind it.

    Args:
        task: a `zoo.models.RecurrentCausalLM`.
        rows: list of lists of int.
        batch_size: rows read together.

    Returns:
        NumPy array of floats, one a row.
    """
    totals = np.zeros(len(rows))
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    for start in range(0, len(rows), batch_size):
        chosen = order[start : start + batch_size]
        length = -(-(len(rows[chosen[-1]]) + 1) // _ROUND) * _ROUND
        inputs, labels = np.full((2, batch_size, length), PAD_ID, "int32")
        for place, index in enumerate(chosen):
            row = rows[index]
            inputs[place, : len(row) + 1] = [END_ID, *row]
            labels[place, : len(row) + 1] = [*row, END_ID]
        [found] = compiled(task, "score", _scores(task.backbone))(inputs, labels)
        totals[chosen] = found[: len(chosen)]
    return totals


def perplexity_of(task, rows, batch_size=32, carry_over=False):
    """exp of the mean negative log-likelihood; see `RecurrentCausalLM.perplexity`."""
    if not rows:
        raise ValueError("There must be a text. Received: none")
    if carry_over:
        total = _document_score(task, [i for row in rows for i in [*row, END_ID]])
    else:
        total = score_ids(task, rows, batch_size).sum()
    return math.exp(-total / sum(len(row) + 1 for row in rows))


def _document_score(task, ids):
    """Log-probability of one long row, read in segments."""
    backbone, total = task.backbone, 0.0
    padded = -(-len(ids) // SEGMENT) * SEGMENT
    inputs, labels = np.full((2, 1, padded), PAD_ID, "int32")
    inputs[0, : len(ids)], labels[0, : len(ids)] = [END_ID, *ids[:-1]], ids
    states = [[ops.convert_to_numpy(s) for s in x] for x in backbone.initial_states(1)]
    places = [len(layer) for layer in states]

    def segment(inputs, labels, *flat):
        states, flat = [], list(flat)
        for count in places:
            states.append([flat.pop(0) for _ in range(count)])
        logits, states = backbone(
            {"token_ids": inputs, "states": states}, return_states=True
        )
        return _sum(logits, labels), *(state for layer in states for state in layer)

    flat = [state for layer in states for state in layer]
    for start in range(0, padded, SEGMENT):
        part = slice(start, start + SEGMENT)
        run = compiled(task, "document", segment)
        found, *flat = run(inputs[:, part], labels[:, part], *flat)
        total += float(found[0])
    return total


def _scores(backbone):
    return lambda inputs, labels: (_sum(backbone({"token_ids": inputs}), labels),)


def _sum(logits, labels):
    """Log-probability of the real labels of each row."""
    logits = ops.cast(logits, "float32")
    gold = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    found = gold - ops.logsumexp(logits, axis=-1)
    real = ops.cast(ops.not_equal(labels, PAD_ID), found.dtype)
    return ops.sum(found * real, axis=-1)
