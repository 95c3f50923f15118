"""Labels of texts: the class of each, or the tag of each word. Imports no Keras."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import LONGEST, Rows, by_length, pad_batch
from zoo.decoding.records import Classification
from zoo.strings import plain_texts
from zoo.text.rows import cut_rows
from zoo.text.translation_arrays import needed_preprocessor


class Classifying:
    """The method of a classifier that takes text."""

    backbone: Any
    preprocessor: Any

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
            given = [texts] if isinstance(texts, str) else texts
            attention = attended(self, rows, batch_size)
            shares = softmax(logits).tolist()
            found = [
                Classification(
                    text,
                    name,
                    dict(zip(classes, row, strict=True)),
                    text.split()[:LONGEST],
                    weights,
                )
                for text, name, row, weights in zip(
                    given, found, shares, attention, strict=True
                )
            ]
        return found[0] if isinstance(texts, str) else found


class Tagging:
    """The method of a tagger that takes text."""

    preprocessor: Any

    def tag(self, sentences: Any, batch_size: int = 64) -> Any:
        """The part of speech of each word.

        Args:
            sentences: a str, or a list of sentences, each a str or a list of words. A
                str is cut into words by `zoo.text.split_words`; words are taken as
                they are.
            batch_size: sentences read together. It never changes a result.

        Returns:
            For a str a list of `(word, tag)`, for a list a list of such lists.

        Raises:
            TypeError: for a sentence that is neither; its position is named.
            ValueError: without a preprocessor, or for a batch size that is not a
                positive integer.
        """
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
    rows, classes = cut_rows(rows, LONGEST), len(task.backbone.classes)
    found = np.zeros((len(rows), classes), "float32")
    for chosen, inputs in _id_batches(rows, batch_size):
        found[chosen] = task.logits(inputs)[: len(chosen)]
    return found


def attended(task: Any, rows: Rows, batch_size: int = 32) -> list[Any]:
    """Returns each row's `Classification.attention`."""
    rows = [row[:LONGEST] for row in rows]
    found: list[Any] = [None] * len(rows)
    for chosen, inputs in _id_batches(rows, batch_size):
        weights = task.attention(inputs) if hasattr(task, "attention") else None
        for i, output in zip(chosen, [] if weights is None else weights, strict=False):
            size = len(rows[i])
            found[i] = output[:size, : size + 1].astype("float32")
    return found


def _id_batches(rows, batch_size):
    for chosen in by_length(rows, positive("batch_size", batch_size)):
        ids = pad_batch([rows[i] for i in chosen], batch_size)
        yield chosen, {"token_ids": ids}


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns the probabilities of logits `(..., V)`, in float64."""
    logits = logits.astype("float64")
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def tag_words(
    task: Any, rows: Sequence[list[str]], batch_size: int = 64
) -> list[list[str]]:
    """Returns the tag of each word of sentences."""
    tags: list[list[str]] = [[] for _ in rows]
    for chosen in by_length(rows, positive("batch_size", batch_size)):
        batch = [rows[i] for i in chosen]
        shape = pad_batch([[0] * len(row) for row in batch], batch_size).shape
        batch += [[]] * (shape[0] - len(batch))
        logits = task.logits(task.preprocessor.arrays(batch, shape[1]))
        for i, scores in zip(chosen, logits, strict=False):
            tags[i] = task.preprocessor.decode(scores.argmax(-1)[: len(rows[i])])
    return tags
