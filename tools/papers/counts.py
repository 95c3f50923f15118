"""The whole numbers for each sentence that the study keeps of a run's outputs.

Every score of the study is a function of sums over sentences: of matching n-grams, of
log-probabilities, of links. With the numbers of each sentence kept, the score of any
sample of the test set follows without the model: see `tools.papers.significance`.
"""

import base64
import dataclasses
import json
import zlib
from collections.abc import Callable

import numpy as np

HELD = 0.9  # share of its BLEU that a model keeps which doesn't fall with length
ORDERS = 4  # of BLEU's n-grams
LONG = 13  # words of a source from which on it counts as long: a third of Multi30k's
HUNDREDTHS = 100  # log-probabilities are kept in hundredths


def pack(table):
    """Writes a table of whole numbers, (sentences, columns), as a short ASCII text."""
    columns = np.asarray(table).T.tolist()
    text = json.dumps(columns, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(text):
    """Reads what `pack` wrote: int64 (sentences, columns)."""
    columns = json.loads(zlib.decompress(base64.b64decode(text)))
    return np.array(columns, "int64").T


# === Counts of each kind of output ===


def bleu_counts(sources, references, texts):
    """Counts of BLEU: int (sentences, 3 + 4).

    Args:
        sources: list of str.
        references: list of lists of str.
        texts: the translations, list of str.

    Returns:
        For each sentence the words of its source, the tokens (13a) of its translation
        and of the reference, and the n-grams of orders 1 to 4 that match.
    """
    from sacrebleu.metrics import BLEU

    metric, rows = BLEU(effective_order=True), []  # which changes no count
    for source, several, text in zip(sources, references, texts, strict=True):
        found = metric.sentence_score(text, several)
        rows.append([len(source.split()), found.sys_len, found.ref_len, *found.counts])
    return np.array(rows)


def reading_counts(log_probs):
    """Counts of perplexity: int (sentences, 2).

    Args:
        log_probs: for each sentence the log-probabilities of its tokens.

    Returns:
        For each sentence minus their sum, in hundredths, and their number.
    """
    rows = [(-HUNDREDTHS * float(np.sum(row)), len(row)) for row in log_probs]
    return np.rint(rows).astype("int64")


# === Scores of sums of counts ===


def _bleu_parts(counts):
    """The counts that BLEU sums: matches, n-grams, tokens of both sides."""
    lengths, references, matches = counts[:, 1:2], counts[:, 2:3], counts[:, 3:]
    totals = np.maximum(lengths - np.arange(ORDERS), 0)
    return np.concatenate([matches, totals, lengths, references], axis=1)


def _bleu(sums):
    """sacreBLEU's BLEU (smoothing "exp") of sums `(…, 10)`."""
    sums = np.asarray(sums, "float64")
    matches, totals = sums[..., :ORDERS], sums[..., ORDERS : 2 * ORDERS]
    lengths, references = sums[..., -2], sums[..., -1]
    missing = np.cumsum(matches == 0, axis=-1)
    smoothed = np.where(matches == 0, 0.5**missing, matches)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.log(smoothed / totals).mean(axis=-1)
        brevity = np.minimum(1 - references / lengths, 0)
        score = 100 * np.exp(precisions + brevity)
    empty = (totals == 0).any(axis=-1) | (matches == 0).all(axis=-1)
    return np.where(empty, 0.0, score)


def _by_length(counts):
    """The parts of BLEU, of short sources and of long ones."""
    parts, is_long = _bleu_parts(counts), counts[:, :1] >= LONG
    return np.concatenate([parts * ~is_long, parts * is_long], axis=1)


def _drop(sums):
    return _bleu(sums[..., :10]) - _bleu(sums[..., 10:])


def _held(sums):
    """How much BLEU on long sources exceeds `HELD` of that on all."""
    return _bleu(sums[..., 10:]) - HELD * _bleu(sums[..., :10] + sums[..., 10:])


def _perplexity(sums):
    return np.exp(sums[..., 0] / HUNDREDTHS / sums[..., 1])


def _error_rate(sums):
    """Alignment error rate (Och & Ney 2003) of sums of |A∩S|, |A∩P|, |A|, |S|."""
    return 1 - (sums[..., 0] + sums[..., 1]) / (sums[..., 2] + sums[..., 3])


def _share(sums):
    return sums[..., 0] / sums[..., 1]


def _percentage(sums):
    return 100 * _share(sums)


def bleu_between(counts, low, high):
    """BLEU of the sources of `low` to `high` words; None where there are none."""
    chosen = counts[(counts[:, 0] >= low) & (counts[:, 0] <= high)]
    return float(_bleu(_bleu_parts(chosen).sum(axis=0))) if len(chosen) else None


def _columns(*numbers):
    return lambda counts: counts[:, list(numbers)]


@dataclasses.dataclass(frozen=True)
class Measure:
    """A score that follows from sums of counts.

    Attributes:
        title: for the heads of tables.
        counts: the kind of counts that it is made of; None for a number that a run
            gives as it is, for which there are no sentences.
        parts: function of counts (sentences, columns) to what is summed.
        score: function of such sums `(…, parts)` to the score `(…,)`.
        higher: whether more is better.
        digits: decimals that are shown.
    """

    title: str
    counts: str | None
    parts: Callable = _bleu_parts
    score: Callable = _bleu
    higher: bool = True
    digits: int = 1

    def of(self, counts):
        """The score of a whole table of counts, a float."""
        return float(self.score(self.parts(counts).sum(axis=0)))


# The counts of alignments: see `tools.papers.aligner.link_counts`.
MEASURES = {
    "bleu": Measure("BLEU", "beam 5"),
    **{
        f"beam {size}": Measure(f"BLEU, beam {size}", f"beam {size}")
        for size in (1, 2, 12)
    },
    "drop": Measure(
        f"BLEU below {LONG} words less BLEU from {LONG} on",
        "beam 5",
        _by_length,
        _drop,
        higher=False,
    ),
    "held": Measure(
        f"BLEU from {LONG} words on less {HELD:.0%} of BLEU",
        "beam 5",
        _by_length,
        _held,
    ),
    "perplexity": Measure(
        "perplexity", "reading", lambda counts: counts, _perplexity, False, 2
    ),
    "aer": Measure("AER", "links", _columns(0, 1, 2, 3), _error_rate, False, 3),
    "aer moved": Measure(
        "AER, moved by one", "links", _columns(4, 5, 2, 3), _error_rate, False, 3
    ),
    "left": Measure("one left", "links", _columns(6, 9), _share, True, 3),
    "on": Measure("right", "links", _columns(7, 9), _share, True, 3),
    "right": Measure("one right", "links", _columns(8, 9), _share, True, 3),
    # See `tools.papers.study.captioner_counts`.
    "true": Measure("true captions, %", "captions", _columns(0, 1), _percentage),
    "looks": Measure("sharpest looks, %", "captions", _columns(2, 3), _percentage),
    "words": Measure("words, %", "captions", _columns(4, 5), _percentage),
}
ERROR = Measure("error", None, higher=False, digits=6)  # of a net on artificial data


def measure_of(name):
    """The `Measure` of a name; any other name is that of an error, less is better."""
    return MEASURES.get(name, ERROR)
