"""Labels of texts: the class of each, or the tag of each word."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import (
    LONGEST,
    Rows,
    batch_shape,
    by_length,
    pad_batch,
    warn_of_parts,
)
from zoo.decoding.compiled import compiled
from zoo.text.rows import cut_rows

_BESIDE = LONGEST // 8  # words of context on either side of those tagged


def classify_ids(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Returns the most probable class of each row of word ids, an int array.

    Rows of more than `LONGEST` words are cut, with a warning.

    Args:
        task: a `zoo.models.SentimentClassifier`.
        rows: word ids.
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


def tag_words(
    task: Any, rows: Sequence[list[str]], batch_size: int = 64
) -> list[list[str]]:
    """Returns the tag of each word of sentences.

    A sentence of more than `LONGEST` words is read in overlapping parts, with a
    warning, so that each tag has some context.

    Args:
        task: a `zoo.models.BiRNNTagger`.
        rows: the words of each sentence.
        batch_size: sentences, or parts of them, read together.
    """
    positive("batch_size", batch_size)
    warn_of_parts(rows, LONGEST)
    parts = [(i, *part) for i, row in enumerate(rows) for part in _parts(row)]
    tags: list[Any] = [None] * len(parts)
    words = [part for *_, part in parts]
    for chosen in by_length(words, batch_size):
        batch = [words[n] for n in chosen]
        height, length = batch_shape(batch, batch_size)
        batch += [[]] * (height - len(batch))
        inputs = task.preprocessor.arrays(batch, length)
        logits = keras.Model.predict_on_batch(task, inputs)
        for n, scores in zip(chosen, logits, strict=False):
            tags[n] = task.preprocessor.decode(scores.argmax(-1)[: len(words[n])])
    results: list[list[str]] = [[] for _ in rows]
    for (i, kept, _), part_tags in zip(parts, tags, strict=True):
        results[i] += part_tags[kept]
    return results


def _parts(words):
    """Returns slices of at most `LONGEST` words, and which of them to keep."""
    if len(words) <= LONGEST:
        return [(slice(None), words)]
    step = LONGEST - 2 * _BESIDE
    parts = []
    for start in range(0, len(words), step):
        first = max(start - _BESIDE, 0)
        kept = slice(start - first, start - first + step)
        parts.append((kept, words[first : start + step + _BESIDE]))
    return parts
