"""Log-probabilities of texts under a language model. Imports no Keras."""

from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.batch_decoding import perplexity_from
from zoo.decoding.batches import LONGEST, Rows, by_length, pad_batch
from zoo.ids import END_ID
from zoo.strings import plain_texts
from zoo.text.translation_arrays import needed_preprocessor
from zoo.text.vocabulary import lay_out
from zoo.warn import warn_caller

SEGMENT = 35  # words read at once if the state is carried over


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
