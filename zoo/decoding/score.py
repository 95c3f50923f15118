"""Log-probabilities of texts under a language model, and of given labels."""

from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.backend import Tensor
from zoo.checks import positive
from zoo.decoding.batches import LONGEST, Rows, by_length, pad_batch, warn_of_parts
from zoo.decoding.compiled import compiled
from zoo.decoding.forced import perplexity_from
from zoo.text.generation import lay_out
from zoo.text.rows import END_ID, PAD_ID

SEGMENT = 35  # words read at once if the state is carried over


def score_rows(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Computes the log-probability of each row of word ids and its end token.

    To bound memory, a row of more than `LONGEST` words is read in parts with the state
    carried over; an LSTMN's tapes restart with each part, which gives a warning.

    Args:
        task: a `zoo.models.RecurrentCausalLM`.
        rows: word ids.
        batch_size: rows read together.

    Returns:
        One float per row.
    """
    positive("batch_size", batch_size)
    read = [[END_ID, *row] for row in rows]
    if task.backbone.cell == "lstmn":
        # An end token precedes each row.
        anew = ": an LSTMN's tapes start anew with each"
        warn_of_parts(rows, LONGEST - 1, anew)
    totals = np.zeros(len(rows))
    for chosen in by_length(read, batch_size):
        inputs = pad_batch([read[i] for i in chosen], batch_size)
        labels = pad_batch([[*rows[i], END_ID] for i in chosen], batch_size)
        sums = _segment_sums(task, inputs, labels, min(LONGEST, inputs.shape[1]))
        totals[chosen] = np.sum(sums, axis=0)[: len(chosen)]
    return totals


def perplexity_of(
    task: Any,
    rows: Rows,
    batch_size: int = 32,
    carry_over: bool = False,
    length: int = SEGMENT,
) -> float:
    """Computes exp of the mean negative log-likelihood.

    See `RecurrentCausalLM.perplexity`. `length` is that of the segments in which a text
    is read with `carry_over`; it only affects an LSTMN.
    """
    if not rows:
        raise ValueError("There must be a text. Received: none")
    positive("batch_size", batch_size)
    if carry_over:
        total = np.sum(document_scores(task, rows, batch_size, length))
    else:
        total = np.sum(score_rows(task, rows, batch_size))
    return perplexity_from(total, sum(len(row) + 1 for row in rows))


def document_scores(
    task: Any, rows: Rows, streams: int = 1, length: int = SEGMENT
) -> np.ndarray:
    """Computes log-probabilities of rows that form one text, carrying the state over.

    Args:
        task: a `zoo.models.RecurrentCausalLM`.
        rows: word ids.
        streams: number of equal parts to read in parallel, each from a zero state.
        length: words of a segment.

    Returns:
        Floats `(segments, streams)`, which sum to that of the text.
    """
    inputs, labels = lay_out(rows, streams, length)
    return _segment_sums(task, inputs, labels, length)


def _segment_sums(task, inputs, labels, length):
    """Computes log-probabilities of labels `(B, n * length)` by segment, `(n, B)`.

    The first segment starts from states of zeros.
    """
    backbone, scores = task.backbone, []
    start = keras.tree.map_structure(
        ops.convert_to_numpy, backbone.initial_states(len(inputs))
    )

    def segment(inputs, labels, *states):
        states = keras.tree.pack_sequence_as(start, states)
        logits, states = backbone(
            {"token_ids": inputs, "states": states}, return_states=True
        )
        return _sum(logits, labels), *keras.tree.flatten(states)

    states = keras.tree.flatten(start)
    run = compiled(task, "segment", segment)
    for place in range(0, inputs.shape[1], length):
        part = slice(place, place + length)
        sums, *states = run(inputs[:, part], labels[:, part], *states)
        scores.append(np.asarray(sums, "float64"))
    return np.stack(scores)


def _sum(logits, labels):
    """Sums the log-probabilities of the real labels of each row."""
    real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
    return ops.sum(label_log_probs(logits, labels) * real, axis=-1)


def label_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns float32 log-probabilities of labels `(...)` under logits `(..., V)`."""
    logits = ops.cast(logits, "float32")
    gold = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return gold - ops.logsumexp(logits, axis=-1)
