"""The labels of texts: the class of each, or the tag of each word."""

import keras
import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import (
    LONGEST,
    batch_shape,
    by_length,
    pad_batch,
    warn_of_parts,
)
from zoo.decoding.compiled import compiled
from zoo.text.words import cut_rows

_BESIDE = LONGEST // 8  # words read on either side of those that are tagged


def classify_ids(task, rows, batch_size=32):
    """The most probable class of each row of word ids: a NumPy array of int.

    Rows of more than `LONGEST` words are cut, with a warning.

    Args:
        task: a `zoo.models.SentimentClassifier`.
        rows: list of lists of int.
        batch_size: rows read together.
    """
    positive("batch_size", batch_size)
    rows = cut_rows(rows, LONGEST)
    backbone, classes = task.backbone, np.zeros(len(rows), "int32")
    run = compiled(task, "classify", lambda ids: (backbone({"token_ids": ids}),))
    for chosen in by_length(rows, batch_size):
        [logits] = run(pad_batch([rows[i] for i in chosen], batch_size))
        classes[chosen] = logits[: len(chosen)].argmax(-1)
    return classes


def tag_words(task, rows, batch_size=64):
    """The tag of each word of sentences that are lists of words: a list of lists.

    A sentence of more than `LONGEST` words is read in parts, with a warning; beside
    the words that it gives tags for, each part has some of those around them.

    Args:
        task: a `zoo.models.BiRNNTagger`.
        rows: list of lists of str.
        batch_size: sentences, or parts of them, that are read together.
    """
    positive("batch_size", batch_size)
    warn_of_parts(rows, LONGEST)
    parts = [(i, *part) for i, row in enumerate(rows) for part in _parts(row)]
    tags = [None] * len(parts)
    words = [part for *_, part in parts]
    for chosen in by_length(words, batch_size):
        batch = [words[n] for n in chosen]
        height, length = batch_shape(batch, batch_size)
        batch += [[]] * (height - len(batch))
        inputs = task.preprocessor.arrays(batch, length)
        logits = keras.Model.predict_on_batch(task, inputs)
        for n, scores in zip(chosen, logits, strict=False):
            tags[n] = task.preprocessor.decode(scores.argmax(-1)[: len(words[n])])
    found = [[] for _ in rows]
    for (i, kept, _), own in zip(parts, tags, strict=True):
        found[i] += own[kept]
    return found


def _parts(words):
    """Slices of the words `LONGEST` long at most, and which of them are to be kept."""
    if len(words) <= LONGEST:
        return [(slice(None), words)]
    step = LONGEST - 2 * _BESIDE
    parts = []
    for start in range(0, len(words), step):
        first = max(start - _BESIDE, 0)
        kept = slice(start - first, start - first + step)
        parts.append((kept, words[first : start + step + _BESIDE]))
    return parts
