"""Subword regularization: words in other pieces each time they are read."""

import bisect
import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import sentencepiece

from zoo.checks import positive, zero_or_above
from zoo.text.rows import END_ID

LIMIT = 512  # SentencePiece's, of segmentations
KEPT = 1 << 18  # words whose segmentations are kept


class _Choices(NamedTuple):
    """What a word may be cut into.

    Attributes:
        segmentations: lists of ids.
        tops: where the share of [0, 1) of each ends; the last one's is left out.
        mean, variance: of the number of ids that are drawn.
    """

    segmentations: list[list[int]]
    tops: list[float]
    mean: float
    variance: float


class SubwordSampling:
    """Draws the pieces of each word of a sentence, in training (Kudo 2018).

    A unigram model gives a segmentation x of a text the probability P(x), the product
    of its pieces' probabilities. The usual ids are those of the likeliest one; here one
    of the l likeliest is drawn (section 3.2, "Subword Regularization"):

        P(x_i | X) = P(x_i)^α / Σ_l P(x_l)^α

    α = 0 draws all l alike, a large α hardly anything but the likeliest. The paper's l
    segmentations are those of a sentence; here they are those of each of its words,
    which SentencePiece cuts one by one: for all segmentations (l = ∞, the paper's
    advice) that is the same distribution. A word with an unknown character stays as it
    is.

    Args:
        proto: bytes of a SentencePiece unigram model, as `Tokenizer.proto`.
        alpha: α, at least 0. The paper has 0.1 to 0.5 with l = 64, 0.2 with l = ∞.
        best: l, the number of segmentations of a word to draw from, at most 512.

    Call arguments:
        ids: a sentence's ids without start and end token.
        rng: a `numpy.random.Generator`.

    Returns:
        A list of ids of the same text.

    Raises:
        ValueError: for an `alpha` or a `best` out of range, or another kind of model.

    Example:
        >>> import numpy as np
        >>> from zoo.text import SubwordSampling, Tokenizer, train_tokenizer
        >>> texts = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze"]
        >>> tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=26))
        >>> sampling = SubwordSampling(tokenizer.proto, alpha=0.2)
        >>> ids = sampling(tokenizer("a dog runs"), np.random.default_rng(1))
        >>> tokenizer.detokenize(ids)
        'a dog runs'
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
                "`proto` must be a SentencePiece model of type unigram, the only one "
                f"with several segmentations of a text. Received: {error}"
            ) from error
        self._model = model
        pieces = [model.id_to_piece(i) for i in range(len(model))]
        self._begins = np.array([piece.startswith("▁") for piece in pieces])
        self._choices = functools.lru_cache(KEPT)(self._find)

    def __call__(self, ids: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Draws a sentence's pieces."""
        words = self._words(ids)
        drawn: list[int] = []
        for word, height in zip(words, rng.random(len(words)).tolist(), strict=True):
            choices = self._choices(word)
            drawn += choices.segmentations[bisect.bisect(choices.tops, height)]
        return drawn

    def lengths(self, rows: Iterable[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Returns mean and standard deviation of each row's length, float64 `(R,)`."""
        moments = np.array([self._moments(row) for row in rows], "float64")
        moments = moments.reshape(-1, 2)
        return moments[:, 0], np.sqrt(moments[:, 1])

    def _moments(self, ids):
        words = [self._choices(word) for word in self._words(ids)]
        return sum(word.mean for word in words), sum(word.variance for word in words)

    def _words(self, ids):
        """A sentence's words, each a tuple of ids."""
        ids = np.asarray(ids, "int64")
        begins = np.flatnonzero(self._begins[ids]).tolist()
        if not begins or begins[0]:
            begins = [0, *begins]
        ids = tuple(ids.tolist())
        spans = itertools.pairwise([*begins, len(ids)])
        return [ids[first:end] for first, end in spans if end > first]

    def _find(self, word):
        """The `_Choices` of a word."""
        model = self._model
        text = "".join(model.id_to_piece(i) for i in word)
        found = []
        if text.startswith("▁") and min(word) > END_ID:
            found = model.nbest_encode(text[1:], nbest_size=self.best)
        # Not a text that the model would read otherwise, as if by its normalization.
        if list(word) not in found:
            found = [list(word)]
        scores = [self.alpha * sum(map(model.get_score, ids)) for ids in found]
        shares = np.exp(np.array(scores) - max(scores))
        shares /= shares.sum()
        lengths = np.array([len(ids) for ids in found])
        mean = float(shares @ lengths)
        variance = float(shares @ (lengths - mean) ** 2)
        return _Choices(found, np.cumsum(shares)[:-1].tolist(), mean, variance)
