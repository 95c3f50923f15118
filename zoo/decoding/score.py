"""Log-probabilities of texts: those of a language model, and of given labels."""

import math

import keras
import numpy as np
from keras import ops

from zoo.checks import positive
from zoo.decoding.batches import LONGEST, by_length, pad_batch, warn_of_parts
from zoo.decoding.compiled import compiled
from zoo.text.generation import lay_out
from zoo.text.tokenizer import END_ID, PAD_ID

SEGMENT = 35  # words read at once where the state is carried over


def score_rows(task, rows, batch_size=32):
    """Log-probability of each row of word ids and the end token behind it.

    A row of more than `LONGEST` words is read in parts, the state going on from one to
    the next, so that it takes no more memory; each part starts an LSTMN's tapes anew,
    with a warning.

    Args:
        task: a `zoo.models.RecurrentCausalLM`.
        rows: list of lists of int.
        batch_size: rows read together.

    Returns:
        NumPy array of floats, one a row.
    """
    positive("batch_size", batch_size)
    read = [[END_ID, *row] for row in rows]
    if task.backbone.cell == "lstmn":
        # With the end token before it, a row of so many is read at once.
        anew = ": an LSTMN's tapes start anew with each"
        warn_of_parts(rows, LONGEST - 1, anew)
    totals = np.zeros(len(rows))
    for chosen in by_length(read, batch_size):
        inputs = pad_batch([read[i] for i in chosen], batch_size)
        labels = pad_batch([[*rows[i], END_ID] for i in chosen], batch_size)
        found = _segment_sums(task, inputs, labels, min(LONGEST, inputs.shape[1]))
        totals[chosen] = np.sum(found, axis=0)[: len(chosen)]
    return totals


def perplexity_of(task, rows, batch_size=32, carry_over=False, length=SEGMENT):
    """exp of the mean negative log-likelihood; see `RecurrentCausalLM.perplexity`.

    `length` is that of the segments in which a text is read whose state is carried
    over; it changes the perplexity of an LSTMN alone."""
    if not rows:
        raise ValueError("There must be a text. Received: none")
    positive("batch_size", batch_size)
    if carry_over:
        total = np.sum(document_scores(task, rows, batch_size, length))
    else:
        total = np.sum(score_rows(task, rows, batch_size))
    return perplexity_from(total, sum(len(row) + 1 for row in rows))


def perplexity_from(total, count):
    """exp of the mean negative of `count` log-probabilities whose sum is `total`."""
    mean = -total / count
    return math.exp(mean) if mean < 700 else math.inf


def document_scores(task, rows, streams=1, length=SEGMENT):
    """Log-probabilities of rows that are one text, the state going on from one to the
    next, read in segments.

    Args:
        task: a `zoo.models.RecurrentCausalLM`.
        rows: list of lists of int.
        streams: in how many parts of equal length, each of which starts from the state
            zero, they are read at the same time.
        length: words of a segment.

    Returns:
        NumPy array of floats `(segments, streams)`; their sum is the text's.
    """
    inputs, labels = lay_out(rows, streams, length)
    return _segment_sums(task, inputs, labels, length)


def _segment_sums(task, inputs, labels, length):
    """Log-probabilities of the labels `(B, n * length)` of the words read, `(n, B)`:
    `length` of them are read at a time, the first with states of zeros."""
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
        found, *states = run(inputs[:, part], labels[:, part], *states)
        scores.append(np.asarray(found, "float64"))
    return np.stack(scores)


def _sum(logits, labels):
    """Log-probability of the real labels of each row."""
    real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
    return ops.sum(label_log_probs(logits, labels) * real, axis=-1)


def label_log_probs(logits, labels):
    """Log-probability of labels `(...)` under logits `(..., V)`, in float32."""
    logits = ops.cast(logits, "float32")
    gold = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return gold - ops.logsumexp(logits, axis=-1)
