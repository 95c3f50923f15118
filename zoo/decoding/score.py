"""Log-probabilities of texts: those of a language model, and of given labels."""

import math

import keras
import numpy as np
from keras import ops

from zoo.decoding.compiled import compiled
from zoo.layers.functional import positive
from zoo.text.generation import lay_out
from zoo.text.preprocessor import pad_rows
from zoo.text.tokenizer import END_ID, PAD_ID

SEGMENT = 35  # words read at once where the state is carried over
_ROUND = 16  # lengths are padded to a multiple: each is compiled by itself


def score_rows(task, rows, batch_size=32):
    """Log-probability of each row of word ids and the end token behind it.

    Args:
        task: a `zoo.models.RecurrentCausalLM`.
        rows: list of lists of int.
        batch_size: rows read together.

    Returns:
        NumPy array of floats, one a row.
    """
    totals, run = np.zeros(len(rows)), compiled(task, "score", _scores(task.backbone))
    for chosen, length in _by_length(rows, batch_size):
        inputs = pad_rows([[END_ID, *rows[i]] for i in chosen], length)
        labels = pad_rows([[*rows[i], END_ID] for i in chosen], length)
        [found] = run(_fill(inputs, batch_size), _fill(labels, batch_size))
        totals[chosen] = found[: len(chosen)]
    return totals


def classify_ids(task, rows, batch_size=32):
    """The most probable class of each row of word ids: a NumPy array of int.

    Args:
        task: a `zoo.models.SentimentClassifier`.
        rows, batch_size: as in `score_rows`.
    """
    backbone, classes = task.backbone, np.zeros(len(rows), "int32")
    run = compiled(task, "classify", lambda ids: (backbone({"token_ids": ids}),))
    for chosen, length in _by_length(rows, batch_size):
        ids = pad_rows([rows[i] for i in chosen], length)
        [logits] = run(_fill(ids, batch_size))
        classes[chosen] = logits[: len(chosen)].argmax(-1)
    return classes


def _by_length(rows, batch_size):
    """Places of rows of like length, `batch_size` at most, and a length that has room
    for each and a token more."""
    positive("batch_size", batch_size)
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    for start in range(0, len(rows), batch_size):
        chosen = order[start : start + batch_size]
        yield chosen, -(-(len(rows[chosen[-1]]) + 1) // _ROUND) * _ROUND


def _fill(ids, batch_size):
    """As many rows as every batch has: each number of them is compiled by itself."""
    return np.pad(ids, ((0, batch_size - len(ids)), (0, 0)))


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
    backbone, scores = task.backbone, []
    inputs, labels = lay_out(rows, streams, length)
    start = keras.tree.map_structure(
        ops.convert_to_numpy, backbone.initial_states(streams)
    )

    def segment(inputs, labels, *states):
        states = keras.tree.pack_sequence_as(start, states)
        logits, states = backbone(
            {"token_ids": inputs, "states": states}, return_states=True
        )
        return _sum(logits, labels), *keras.tree.flatten(states)

    states = keras.tree.flatten(start)
    for place in range(0, inputs.shape[1], length):
        part = slice(place, place + length)
        run = compiled(task, "document", segment)
        found, *states = run(inputs[:, part], labels[:, part], *states)
        scores.append(np.asarray(found, "float64"))
    return np.stack(scores)


def _scores(backbone):
    return lambda inputs, labels: (_sum(backbone({"token_ids": inputs}), labels),)


def _sum(logits, labels):
    """Log-probability of the real labels of each row."""
    real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
    return ops.sum(label_log_probs(logits, labels) * real, axis=-1)


def label_log_probs(logits, labels):
    """Log-probability of labels `(...)` under logits `(..., V)`, in float32."""
    logits = ops.cast(logits, "float32")
    gold = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return gold - ops.logsumexp(logits, axis=-1)
