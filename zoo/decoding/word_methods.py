"""The methods of classifiers, taggers and language models. Imports no Keras."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.records import Classification
from zoo.ids import END_ID
from zoo.strings import plain_texts
from zoo.text.rows import LONGEST, Rows, by_length, cut_rows, pad_batch
from zoo.text.translation_arrays import needed_preprocessor
from zoo.text.vocabulary import lay_out
from zoo.warn import warn_caller

SEGMENT = 35  # words read at once if the state is carried over


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
        given = [texts] if isinstance(texts, str) else texts
        rows = needed_preprocessor(self, "Reading text").encode(texts)
        logits, classes = class_logits(self, rows, batch_size), self.backbone.classes
        found: list[Any] = [classes[index] for index in logits.argmax(-1)]
        if return_details:
            attention = attended(self, rows, batch_size)
            shares = softmax(logits).tolist()
            columns = given, found, shares, attention
            found = [
                Classification(
                    text,
                    name,
                    dict(zip(classes, row, strict=True)),
                    text.split()[:LONGEST],
                    weights,
                )
                for text, name, row, weights in zip(*columns, strict=True)
            ]
        return found[0] if isinstance(texts, str) else found


def class_logits(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Returns the logits `(N, classes)` of rows of word ids.

    Rows of more than `LONGEST` words are cut, with a warning.
    """
    rows = cut_rows(rows, LONGEST)
    found = np.zeros((len(rows), len(task.backbone.classes)), "float32")
    for i, logits in _outputs(task.logits, rows, batch_size):
        found[i] = logits
    return found


def attended(task: Any, rows: Rows, batch_size: int = 32) -> list[Any]:
    """Returns each row's `Classification.attention`."""
    found: list[Any] = [None] * len(rows)
    if getattr(task.backbone, "cell", None) == "lstmn":
        rows = [row[:LONGEST] for row in rows]
        for i, weights in _outputs(task.attention, rows, batch_size):
            size = len(rows[i])
            found[i] = weights[:size, : size + 1].astype("float32")
    return found


def _outputs(
    function: Callable[..., Any], rows: Rows, batch_size: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the place of each row and what a function of a batch's ids gives it."""
    for chosen in by_length(rows, positive("batch_size", batch_size)):
        ids = pad_batch([rows[i] for i in chosen], batch_size)
        yield from zip(chosen, function({"token_ids": ids}), strict=False)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns the probabilities of logits `(..., V)`, in float64."""
    logits = logits.astype("float64")
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


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
        preprocessor = needed_preprocessor(self, "`tag`")
        rows = preprocessor.split([sentences] if single else sentences)
        tags = tag_words(self, rows, batch_size)
        tagged = [list(zip(*row, strict=True)) for row in zip(rows, tags, strict=True)]
        return tagged[0] if single else tagged


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


class Scoring:
    """The methods of a language model that score text.

    They need a `preprocessor`, a `backbone` with its `cell`, and `segment`.
    """

    backbone: Any
    preprocessor: Any

    def score(self, texts: str | list[str], batch_size: int = 32) -> Any:
        """Log-probability of each text, its end token included, each by itself.

        A text of more than 511 words is read in parts, the state going on from one to
        the next. That changes an LSTMN's result alone, whose tapes start
        anew with each part, with a warning.

        Args:
            texts: a str or a list of str.
            batch_size: texts scored together. It never changes a result.

        Returns:
            A float for a str, a list of floats for a list.

        Raises:
            TypeError: for a text that is not a str.
            ValueError: without a preprocessor.
        """
        texts = plain_texts(texts)
        rows = needed_preprocessor(self, "Reading text").encode(texts)
        totals = [float(x) for x in score_rows(self, rows, batch_size)]
        return totals[0] if isinstance(texts, str) else totals

    def perplexity(
        self, texts: str | list[str], batch_size: int = 32, carry_over: bool = False
    ) -> Any:
        """Returns exp of the mean negative log-likelihood of words and end tokens.

        Args:
            texts: a list of str.
            batch_size: texts scored together.
            carry_over: whether each text is read with the state that the one before
                left. They are cut into `batch_size` parts of equal length, read at the
                same time, each of which starts from the state zero. They are read 35
                words at a time; each such segment starts an LSTMN's tapes anew, too.

        Raises:
            TypeError: for a text that is not a str.
            ValueError: without texts or a preprocessor.
        """
        rows = needed_preprocessor(self, "Reading text").encode(texts)
        return perplexity_of(self, rows, batch_size, carry_over)


def score_rows(task: Any, rows: Rows, batch_size: int = 32) -> np.ndarray:
    """Computes the log-probability of each row of word ids and its end token.

    To bound memory, a row of more than `LONGEST` words is read in parts with the state
    carried over; an LSTMN's tapes restart with each part, which gives a warning.
    """
    positive("batch_size", batch_size)
    read = [[END_ID, *row] for row in rows]
    long = sum(len(row) >= LONGEST for row in rows)  # an end token precedes each
    if long and task.backbone.cell == "lstmn":
        warn_caller(
            f"{long} of {len(rows)} texts have more than {LONGEST - 1} words and were "
            "read in parts: an LSTMN's tapes start anew with each"
        )
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


def perplexity_from(total: float, count: int) -> float:
    """Returns the perplexity for `count` log-probabilities whose sum is `total`."""
    mean = -total / count
    return math.exp(mean) if mean < 700 else math.inf


def document_scores(
    task: Any, rows: Rows, streams: int = 1, length: int = SEGMENT
) -> np.ndarray:
    """Computes log-probabilities of rows that form one text, carrying the state over.

    The text is read in segments of `length` words, in so many equal parts (`streams`)
    in parallel, each from a zero state.

    Returns:
        Floats `(segments, streams)`, which sum to that of the text.
    """
    inputs, labels = lay_out(rows, streams, length)
    return _segment_sums(task, inputs, labels, length)


def _segment_sums(task, inputs, labels, length):
    """Computes log-probabilities of labels `(B, n * length)` by segment, `(n, B)`.

    The first segment starts from states of zeros.
    """
    scores, states = [], None
    for place in range(0, inputs.shape[1], length):
        part = slice(place, place + length)
        sums, states = task.segment(inputs[:, part], labels[:, part], states)
        scores.append(np.asarray(sums, "float64"))
    return np.stack(scores)
