"""Subword regularization: words segmented anew each time they are read."""

import itertools
from array import array
from bisect import bisect
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import sentencepiece

from zoo.checks import positive, zero_or_above
from zoo.ids import END_ID

LIMIT = 512  # SentencePiece's, of segmentations
KEPT = 1 << 16  # words whose segmentations are kept, 3 KB each
LONGEST = 32  # pieces of a word that is kept
MEASURED = 4096  # rows of which the growth is measured


class _Choices(NamedTuple):
    """The segmentations of a word and their distribution."""

    ids: array  # of all segmentations, one after the other
    bounds: array  # where the segmentations begin, and the end of the last
    tops: array  # cumulative probabilities, without the last, which is 1
    mean: float  # of the number of pieces that are drawn
    variance: float


class SubwordRegularization:
    """Draws the pieces of sentences, in training (Kudo 2018).

    A unigram model gives a segmentation x of a text the probability P(x), the product
    of its pieces' probabilities. Otherwise a text has the ids of its likeliest
    segmentation; here one of the l likeliest is drawn (section 3.2 of "Subword
    Regularization"):

        P(x_i | X) = P(x_i)^α / Σ_k P(x_k)^α,   k = 1 … l

    α = 0 is uniform; a large α nearly always draws the likeliest. The paper draws from
    the l likeliest segmentations of a sentence. Here each word is drawn from the l
    likeliest of its own, so that a sentence of n words has up to l^n, which is close to
    the paper's l = ∞. Text without spaces is one word, of which l is the paper's; to
    segment it takes a millisecond or two a sentence. A word with an unknown character
    keeps its pieces.

    Args:
        proto: bytes of a SentencePiece unigram model, as `Tokenizer.proto`.
        alpha: α, at least 0.
        best: l, at most 512.

    Call arguments:
        rows: sentences as lists or arrays of ids, without start and end tokens.
        rng: a `numpy.random.Generator`.

    Returns:
        A list of lists of ids, of the same texts.

    Attributes:
        alpha, best: as given.

    Raises:
        ValueError: for an `alpha` or a `best` out of range, or another kind of model.

    Example:
        >>> import numpy as np
        >>> from zoo.text import SubwordRegularization, Tokenizer, train_tokenizer
        >>> texts = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze"]
        >>> tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=26))
        >>> draw = SubwordRegularization(tokenizer.proto, alpha=0.2)
        >>> ids = draw(tokenizer(["a dog runs"]), np.random.default_rng(1))
        >>> tokenizer.detokenize(ids)
        ['a dog runs']
    """

    def __init__(self, proto: bytes, alpha: float = 0.2, best: int = 64) -> None:
        self.alpha = float(zero_or_above("alpha", alpha))
        self.best = positive("best", best)
        if best > LIMIT:
            raise ValueError(
                f"`best` must be at most {LIMIT}, SentencePiece's limit. "
                f"Received: {best}"
            )
        model = sentencepiece.SentencePieceProcessor(model_proto=proto)
        try:
            model.nbest_encode("a", nbest_size=2)
        except RuntimeError as error:
            raise ValueError(
                "The SentencePiece model must be of type unigram, the only one with "
                f"several segmentations of a text. Received: {error}"
            ) from error
        self._model = model
        pieces = [model.id_to_piece(i) for i in range(len(model))]
        self._begins = np.array([piece.startswith("▁") for piece in pieces])
        self._known: dict[tuple[int, ...], _Choices] = {}

    def __call__(
        self, rows: Sequence[Sequence[int]], rng: np.random.Generator
    ) -> list[list[int]]:
        """Draws the pieces of each row."""
        words, counts = self._words(rows)
        parts = []
        for word, height in zip(words, rng.random(len(words)).tolist(), strict=True):
            choices = self._choices(word)
            place = bisect(choices.tops, height)
            first, end = choices.bounds[place : place + 2]
            parts.append(choices.ids[first:end])
        each = iter(parts)
        return [
            list(itertools.chain.from_iterable(itertools.islice(each, count)))
            for count in counts
        ]

    def growth(self, rows: Sequence[Sequence[int]]) -> tuple[float, float]:
        """Measures how much longer rows become; of more than 4,096, so many of them.

        Returns:
            `(mean, variance)` of the number of pieces that are drawn, for each of the
            row's likeliest ones: a row of n pieces becomes one of n * mean on average,
            with a variance of n * variance.
        """
        places = np.linspace(0, len(rows) - 1, min(len(rows), MEASURED)).astype(int)
        rows = [rows[place] for place in places]
        words, counts = self._words(rows)
        of_words = iter([self._choices(word)[3:] for word in words])
        moments = np.array(
            [
                np.sum(list(itertools.islice(of_words, count)) or [[0, 0]], axis=0)
                for count in counts
            ]
        ).reshape(-1, 2)
        lengths = np.array([len(row) for row in rows])
        if not lengths.sum():
            return 1.0, 0.0
        mean = moments[:, 0].sum() / lengths.sum()
        # Rows of one length differ in their means, too.
        squares = moments[:, 1] + (moments[:, 0] - mean * lengths) ** 2
        return float(mean), float(squares.sum() / lengths.sum())

    def _words(self, rows):
        """The words of all rows, each a tuple of ids, and each row's number of them."""
        lengths = [len(row) for row in rows]
        ends = np.cumsum([0, *lengths])
        ids = np.concatenate([np.zeros(0, "int64"), *rows]).astype("int64")
        begins = self._begins[ids]
        begins[ends[:-1][np.array(lengths, bool)]] = True
        places = np.flatnonzero(begins)
        counts = np.diff(np.searchsorted(places, ends)).tolist()
        flat = tuple(ids.tolist())
        spans = itertools.pairwise([*places.tolist(), len(flat)])
        return [flat[first:end] for first, end in spans], counts

    def _choices(self, word):
        choices = self._known.get(word)
        if choices is None:
            choices = self._segment(word)
            if len(word) <= LONGEST:
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[word] = choices
        return choices

    def _segment(self, word):
        """The `_Choices` of a word."""
        model = self._model
        text = "".join(model.id_to_piece(i) for i in word)
        found = []
        if text.startswith("▁") and min(word) > END_ID:
            found = model.nbest_encode(text[1:], nbest_size=self.best)
        # A word that the model would normalize or segment differently stays.
        if list(word) not in found:
            found = [list(word)]
        scores = [self.alpha * sum(map(model.get_score, ids)) for ids in found]
        shares = np.exp(np.array(scores) - max(scores))
        shares /= shares.sum()
        lengths = np.array([len(ids) for ids in found])
        mean = float(shares @ lengths)
        return _Choices(
            array("i", itertools.chain.from_iterable(found)),
            array("i", [0, *np.cumsum(lengths).tolist()]),
            array("d", np.cumsum(shares)[:-1].tolist()),
            mean,
            float(shares @ (lengths - mean) ** 2),
        )
