"""Search, scores and alignments of many sources, in batches. Imports no Keras."""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from zoo.checks import integer
from zoo.decoding.beam_state import LOW
from zoo.decoding.search import Search, longest_translation
from zoo.ids import END_ID, START_ID, UNKNOWN_ID
from zoo.text.rows import Rows, batches, bucket, pad_batch


class BatchDecoder:
    """Base of the tasks that write text, with or without Keras.

    Subclasses have `label_log_probs` and `target_alignments`; see `KerasDecoder`.
    """

    backbone: Any  # with the contract of `zoo.models.Seq2SeqBackbone`
    preprocessor: Any
    search_class: type[Search]
    map_batches: Callable[..., Iterable[Any]] = map
    # Sources, target texts, their ids, and whether there was one of each.
    _read_pairs: Callable[..., tuple[Any, Any, Any, bool]]
    _record: Callable[..., Any]

    def score(
        self, sources: Any, targets: Any, per_token: bool = False, batch_size: int = 64
    ) -> Any:
        """Computes the log-probability of given texts, log P(target | source).

        The end token counts. A source is cut as in `translate`, a target after 511
        pieces (a caption as in training), both with a warning.

        Args:
            sources: a str, or a list of str, none of them blank; a captioner's images,
                see `caption`.
            targets: a str, or a list of as many str, split into pieces as in training.
            per_token: whether to return the tokens' log-probabilities instead of their
                sum.
            batch_size: sources read together. It never changes a result.

        Returns:
            A float for a str, a list of floats for a list. Per token, arrays
            `(tokens + 1,)` instead of floats, the end token's last.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for lists of different lengths, a blank source, or without a
                preprocessor.
        """
        sources, _, ids, single = self._read_pairs(sources, targets)
        rows = score_ids(self, sources, ids, batch_size)
        scores = rows if per_token else [total(row) for row in rows]
        return scores[0] if single else scores

    def align(self, sources: Any, targets: Any, batch_size: int = 64) -> Any:
        """Computes the alignment of given texts.

        It takes the arguments of `score`, and raises the same errors.

        Returns:
            A `zoo.decoding.Translation` (a captioner's `Caption`) for a str, a list of
            them for a list, with the alignment (which `plot()` draws), the
            log-probability as the score, and those of the tokens as `log_probs`. If a
            target was cut, its text is whole and its tokens are the first ones.
        """
        sources, texts, ids, single = self._read_pairs(sources, targets)
        log_probs = score_ids(self, sources, ids, batch_size)
        columns = sources, ids, texts, map(total, log_probs), log_probs
        records = self._records(list(zip(*columns, strict=True)), batch_size)
        return records[0] if single else records

    def _records(self, rows, batch_size):
        """A record for each (source, ids, text, score, log_probs if given)."""
        columns = [row[0] for row in rows], [row[1] for row in rows]
        alignments = align_ids(self, *columns, batch_size)
        return [self._record(x, *row) for x, row in zip(alignments, rows, strict=True)]

    def _write(self, found, sources, n_best, single, details, batch_size, mend=None):
        """Turns the result of `search_ids` into texts, or records with `details`.

        `mend` replaces the unknown pieces of a record, given the index of its source.
        """
        rows = [(i, *pair) for i, best in enumerate(found) for pair in best]
        written = self.preprocessor.decode([ids for _, ids, _ in rows])
        chosen = {
            n: (sources[i], ids, written[n], score, None)
            for n, (i, ids, score) in enumerate(rows)
            if details or (mend and UNKNOWN_ID in ids)
        }
        records = self._records(list(chosen.values()), batch_size)
        for n, record in zip(chosen, records, strict=True):
            if mend:
                record = mend(rows[n][0], record)
            written[n] = record if details else record.text
        texts = iter(written)
        results = [[next(texts) for _ in best] for best in found]
        if n_best == 1:
            results = [result[0] for result in results]
        return results[0] if single else results


def search_ids(
    model: Any,
    sources: Rows,
    search: Search,
    max_length: int | None = None,
    batch_size: int = 64,
    prefixes: Rows | None = None,
) -> list[list[tuple[list[int], float]]]:
    """Searches for the translations of source ids.

    Args:
        model: a `zoo.models.Translator`, or a captioner.
        sources: source ids; images `(N, H, W, C)` for a captioner.
        search: the search.
        max_length: see `Translator.translate`.
        batch_size: sentences decoded together.
        prefixes: ids with which the translations of each source start, shorter than
            the maximum length; None for none.

    Returns:
        For each source at most `n_best` pairs of (ids, score), best first, without the
        end token; an empty source has empty ones with score 0.

    Raises:
        ValueError: for a length or batch size below 1, or a `min_length` or prefix
            without room within `max_length`, before any computation; for a text without
            a hypothesis of finite score.
    """
    integer("batch_size", batch_size, 1)
    prefixes = prefixes or [[]] * len(sources)
    if max_length is not None:
        _check_length(integer("max_length", max_length, 1), search.min_length, prefixes)

    def decode(rows):
        source = pad_batch([sources[i] for i in rows], batch_size)
        own = [longest_translation(len(sources[i])) + len(prefixes[i]) for i in rows]
        limits = np.maximum(own, search.min_length).astype("int32")
        if max_length:
            limits[:] = max_length
        steps = longest_translation(source.shape[1])
        if max_length or limits.max() > steps:
            steps = bucket(int(limits.max()))
        prefix = None
        if any(begun := [prefixes[i] for i in rows]):
            prefix = pad_batch(begun, batch_size, steps)
        return rows, *search.find(model.backbone, source, limits, steps, prefix)

    results: list[Any] = [[([], 0.0)] * search.n_best for _ in sources]
    full = (i for i in range(len(sources)) if len(sources[i]))
    order = sorted(full, key=lambda i: len(sources[i]))  # little padding in a batch
    groups = list(batches(order, batch_size, sources))
    run = model.map_batches if len(groups) > 1 else map  # one has all cores
    for rows, ids, scores in run(decode, groups):
        for row, i in enumerate(rows):
            results[i] = search.best_rows(ids[row], scores[row])
            if not scores[row, 0] > LOW / 2:
                name = "images" if np.ndim(sources[i]) > 1 else "texts"
                raise ValueError(
                    f"The search found no hypothesis for {name}[{i}]: the model's "
                    "logits must be finite, and some word must not be banned"
                )
    return results


def _check_length(max_length, min_length, prefixes):
    if min_length > max_length:
        raise ValueError(
            "`min_length` must not exceed `max_length`. "
            f"Received: min_length={min_length}, max_length={max_length}"
        )
    for place, ids in enumerate(prefixes):
        if len(ids) >= max_length:
            raise ValueError(
                "A prefix must have fewer pieces than `max_length`, in which the end "
                f"token counts. Received: prefix[{place}] of {len(ids)} pieces, "
                f"max_length={max_length}"
            )


def in_threads(
    workers: int, function: Callable[..., Any], items: Iterable[Any]
) -> Iterator[Any]:
    """Applies a function to items as `map` does, several at a time."""
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(function, items)
    finally:  # after an error the rest is not run
        pool.shutdown(cancel_futures=True)


# === Given targets ===


def score_ids(
    model: Any, sources: Rows, targets: Rows, batch_size: int = 64
) -> list[np.ndarray]:
    """Computes the log-probability of each token and of the end token.

    Args:
        model: a `zoo.models.Translator`, or a captioner.
        sources: source ids, or images.
        targets: target ids, without start and end tokens.
        batch_size: sentences read together.

    Returns:
        For each translation a float32 array `(tokens + 1,)`.
    """
    results: list[Any] = [None] * len(sources)
    given = sources, targets, range(len(sources)), batch_size
    for i, (log_probs,) in _read(model, model.label_log_probs, *given):
        results[i] = log_probs[: len(targets[i]) + 1]
    return results


def align_ids(
    model: Any, sources: Rows, targets: Rows, batch_size: int = 64
) -> list[tuple[np.ndarray, ...]]:
    """Computes `Seq2SeqBackbone.align_details` for given translations; see `score_ids`.

    Returns:
        For each translation a tuple of arrays with one row per token; for an empty
        source or target only weights.
    """
    grid = getattr(model.backbone, "grid", None)  # of an image
    widths = [math.prod(grid) if grid else len(x) for x in sources]
    results: list[tuple[np.ndarray, ...]] = [
        (np.zeros((len(target), width), "float32"),)
        for target, width in zip(targets, widths, strict=True)
    ]
    full = [i for i in range(len(sources)) if len(sources[i]) and len(targets[i])]
    given = sources, targets, full, batch_size
    for i, (weights, *details) in _read(model, model.target_alignments, *given):
        height = len(targets[i])
        weights = weights[:height, : widths[i]].astype("float32")
        results[i] = weights, *(rows[:height] for rows in details)
    return results


def _read(model, function, sources, targets, chosen, batch_size):
    """Yields the index of each chosen pair, and its rows of a function's outputs."""
    integer("batch_size", batch_size, 1)
    read = [[START_ID, *ids] for ids in targets]
    sizes = [(bucket(len(s)), len(t)) for s, t in zip(sources, read, strict=True)]
    order = sorted(chosen, key=sizes.__getitem__)

    def apply(rows):
        return rows, function(
            pad_batch([sources[i] for i in rows], batch_size),
            pad_batch([read[i] for i in rows], batch_size),
            pad_batch([[*targets[i], END_ID] for i in rows], batch_size),
        )

    groups = list(batches(order, batch_size, sources, read))
    run = model.map_batches if len(groups) > 1 else map
    for rows, outputs in run(apply, groups):
        for row, i in enumerate(rows):
            yield i, [output[row] for output in outputs]


def total(log_probs: np.ndarray) -> float:
    """Returns their sum, in float64."""
    return float(np.sum(log_probs, dtype="float64"))


def perplexity_from(total: float, count: int) -> float:
    """Returns the perplexity for `count` log-probabilities whose sum is `total`."""
    mean = -total / count
    return math.exp(mean) if mean < 700 else math.inf
