"""The methods of classifiers and taggers. Imports no Keras."""

from collections.abc import Callable
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.records import Classification
from zoo.strings import plain_texts, read_texts
from zoo.text.rows import LONGEST, Rows, by_length, cut_rows, pad_batch
from zoo.text.translation_arrays import needed_preprocessor


class Classifying:
    """The method of a classifier that takes text."""

    backbone: Any
    preprocessor: Any

    def classify(
        self, texts: str | list[str], batch_size: int = 32, return_details: bool = False
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
        texts, single = read_texts(texts)
        rows = needed_preprocessor(self, "Reading text").encode(texts)
        logits, classes = class_logits(self, rows, batch_size), self.backbone.classes
        found: list[Any] = [classes[index] for index in logits.argmax(-1)]
        if return_details:
            attention = _attention(self, rows, batch_size)
            shares = softmax(logits).tolist()
            shares = [dict(zip(classes, row, strict=True)) for row in shares]
            words = [text.split()[:LONGEST] for text in texts]
            found = list(map(Classification, texts, found, shares, words, attention))
        return found[0] if single else found


def class_logits(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Returns the logits `(N, classes)` of rows of ids, cut at `LONGEST` words."""
    rows = cut_rows(rows, LONGEST)
    found = np.zeros((len(rows), len(task.backbone.classes)), "float32")
    for i, logits in _outputs(task.logits, _pad_words, rows, batch_size):
        found[i] = logits
    return found


def _attention(task, rows, batch_size):
    """Returns each row's `Classification.attention`."""
    found: list[Any] = [None] * len(rows)
    if getattr(task.backbone, "cell", None) == "lstmn":
        rows = [row[:LONGEST] for row in rows]
        for i, weights in _outputs(task.attention, _pad_words, rows, batch_size):
            size = len(rows[i])
            found[i] = weights[:size, : size + 1].astype("float32")
    return found


def _outputs(function, pad, rows, batch_size):
    """Yields each row's place, and what a function of padded batches gives it."""
    for chosen in by_length(rows, positive("batch_size", batch_size)):
        arrays = pad([rows[i] for i in chosen], batch_size)
        yield from zip(chosen, function(arrays), strict=False)


def _pad_words(rows, batch_size):
    return {"token_ids": pad_batch(rows, batch_size)}


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns the probabilities of logits `(..., V)`, in float64."""
    logits = logits.astype("float64")
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


class Tagging:
    """The method of a tagger that takes text."""

    logits: Callable[..., Any]
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
        preprocessor = needed_preprocessor(self, "`tag`")
        rows = preprocessor.split([sentences] if single else sentences)
        tagged: list[Any] = [[] for _ in rows]

        def pad(batch, batch_size):
            height, width = pad_batch([[0] * len(x) for x in batch], batch_size).shape
            return preprocessor.arrays([*batch, *[[]] * (height - len(batch))], width)

        for i, logits in _outputs(self.logits, pad, rows, batch_size):
            tags = preprocessor.decode(logits.argmax(-1)[: len(rows[i])])
            tagged[i] = list(zip(rows[i], tags, strict=True))
        return tagged[0] if single else tagged
