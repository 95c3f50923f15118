"""Labels of texts: the class of each, or the tag of each word. Imports no Keras."""

from collections.abc import Sequence
from typing import Any

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
from zoo.decoding.records import Classification
from zoo.strings import plain_texts
from zoo.text.rows import cut_rows
from zoo.text.translation_arrays import needed_preprocessor

_BESIDE = LONGEST // 8  # words of context on either side of those tagged


class Classifying:
    """The method of a classifier that takes text."""

    backbone: Any
    preprocessor: Any

    def logits(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """Returns the logits of the preprocessor's arrays, `(B, classes)`."""
        raise NotImplementedError

    def attention(self, inputs: dict[str, np.ndarray]) -> np.ndarray | None:
        """Returns the weights of B texts' T words on the words before them.

        Returns:
            `(B, T, T + 1)`; see `Classification`. None where there are none.
        """
        return None

    def classify(
        self,
        texts: str | list[str],
        batch_size: int = 32,
        return_details: bool = False,
    ) -> Any:
        """The most probable class of each text.

        Args:
            texts: a str, or a list of str. One of more than 512 words is cut, with a
                warning.
            batch_size: texts read together. It never changes a result.
            return_details: whether to return records instead of names.

        Returns:
            The class's name for a str, a list of them for a list. With details,
            `zoo.decoding.Classification` records with all probabilities and, for an
            LSTMN, the words that each word attended to, which `plot()` draws.

        Raises:
            TypeError: for a text that is not a str.
            ValueError: without a preprocessor.
        """
        texts = plain_texts(texts)
        rows = needed_preprocessor(self, "Reading text").encode(texts)
        logits, classes = class_logits(self, rows, batch_size), self.backbone.classes
        found: list[Any] = [classes[index] for index in logits.argmax(-1)]
        if return_details:
            given = [texts] if isinstance(texts, str) else list(texts)
            attention = attended(self, rows, batch_size)
            columns = given, found, softmax(logits).tolist(), attention
            found = [
                Classification(
                    text,
                    name,
                    dict(zip(classes, shares, strict=True)),
                    text.split()[:LONGEST],
                    weights,
                )
                for text, name, shares, weights in zip(*columns, strict=True)
            ]
        return found[0] if isinstance(texts, str) else found


class Tagging:
    """The method of a tagger that takes text."""

    preprocessor: Any

    def logits(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """Returns the logits of the preprocessor's arrays, `(B, T, tags)`."""
        raise NotImplementedError

    def tag(self, sentences: Any, batch_size: int = 64) -> Any:
        """The part of speech of each word.

        Args:
            sentences: a str, or a list of sentences, each a str or a list of words. A
                str is cut into words by `zoo.text.split_words`; words are taken as
                they are. One of more than 512 words is read in parts that overlap, with
                a warning.
            batch_size: sentences read together. It never changes a result.

        Returns:
            For a str a list of `(word, tag)`, for a list a list of such lists.

        Raises:
            TypeError: for a sentence that is neither; its position is named.
            ValueError: without a preprocessor, or for a batch size that is not a
                positive integer.
        """
        positive("batch_size", batch_size)
        sentences = plain_texts(sentences)
        single = isinstance(sentences, str)
        rows = needed_preprocessor(self, "`tag`").split(
            [sentences] if single else sentences
        )
        tags = tag_words(self, rows, batch_size)
        tagged = [list(zip(*row, strict=True)) for row in zip(rows, tags, strict=True)]
        return tagged[0] if single else tagged


def classify_ids(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Returns the most probable class of each row of word ids, an int array.

    Rows of more than `LONGEST` words are cut, with a warning.
    """
    return class_logits(task, rows, batch_size).argmax(-1).astype("int32")


def class_logits(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Returns the logits `(N, classes)` of rows of word ids; see `classify_ids`."""
    found = _rows_of(task.logits, cut_rows(rows, LONGEST), batch_size)
    empty = np.zeros((0, len(task.backbone.classes)), "float32")
    return np.stack(found).astype("float32") if found else empty


def attended(task: Any, rows: Rows, batch_size: int = 32) -> list[Any]:
    """Returns each row's `Classification.attention`."""
    sizes = [min(len(row), LONGEST) for row in rows]
    cut = [row[:LONGEST] for row in rows]
    found = _rows_of(task.attention, cut, batch_size)
    return [
        None if x is None else x[:size, : size + 1].astype("float32")
        for x, size in zip(found, sizes, strict=True)
    ]


def _rows_of(function, rows, batch_size):
    """The rows of what a function of ids returns; None for each if it returns None."""
    positive("batch_size", batch_size)
    found: list[Any] = [None] * len(rows)
    for chosen in by_length(rows, batch_size):
        ids = pad_batch([rows[i] for i in chosen], batch_size)
        outputs = function({"token_ids": ids})
        if outputs is None:
            break
        for i, output in zip(chosen, outputs, strict=False):
            found[i] = output
    return found


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns the probabilities of logits `(..., V)`, in float64."""
    logits = logits.astype("float64")
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def tag_words(
    task: Any, rows: Sequence[list[str]], batch_size: int = 64
) -> list[list[str]]:
    """Returns the tag of each word of sentences.

    A sentence of more than `LONGEST` words is read in overlapping parts, with a
    warning, so that each tag has some context.
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
        logits = task.logits(inputs)
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
