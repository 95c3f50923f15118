"""Search, scores and alignments of many sources, in batches. Imports no Keras."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import Rows, batches, is_image, pad_batch
from zoo.decoding.search import Search, check_found, longest_translation
from zoo.ids import END_ID, START_ID
from zoo.text.rows import bucket


class BatchDecoder:
    """Base of the tasks that write text, with or without Keras.

    Subclasses have `label_log_probs` and `target_alignments`; see `KerasDecoder`. Of a
    kind of source, `_read_pairs` returns sources, target texts, their ids, and whether
    there was one of each; `_record` makes the record of one.

    Attributes:
        backbone: the model, with the contract of `zoo.models.Seq2SeqBackbone`.
        preprocessor: its preprocessor.
        search_class: the class of its searches, a `zoo.decoding.search.Search`.
        map_batches: function that applies a function to batches, as Python's `map`.
    """

    backbone: Any
    preprocessor: Any
    search_class: type[Search]
    map_batches: Callable[..., Iterable[Any]] = map
    _read_pairs: Callable[..., tuple[Any, Any, Any, bool]]

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
                A `zoo.decoding.Translation` instead of a str has its own pieces scored,
                so that a result of `translate` with `length_penalty=0` keeps its score.
                The pieces must be in the vocabulary, unlike words from
                `replace_unknown`.
            per_token: whether to return the tokens' log-probabilities instead of their
                sum.
            batch_size: sources read together. It never changes a result.

        Returns:
            A float for a str, a list of floats for a list. Per token, arrays
            `(tokens + 1,)` instead of floats, the end token's last.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for lists of different lengths, a blank source, a record's token
                that is not in the vocabulary, or without a preprocessor.
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
        scores = [total(row) for row in log_probs]
        records = self._records(sources, ids, texts, scores, batch_size, log_probs)
        return records[0] if single else records

    def _records(self, sources, ids, texts, scores, batch_size, log_probs=None):
        """A record for each source and row of ids; `log_probs` of given targets."""
        log_probs = log_probs or [None] * len(ids)
        alignments = align_ids(self, sources, ids, batch_size)
        columns = sources, ids, texts, scores, alignments, log_probs
        return [self._record(*row) for row in zip(*columns, strict=True)]


def search_ids(
    model: Any,
    sources: Rows,
    search: Search,
    max_length: int | None = None,
    batch_size: int = 64,
    prefixes: Rows | None = None,
    completions: Callable[[int], np.ndarray] | None = None,
    terms: Rows | None = None,
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
        completions: function that returns those of the prefix of one source, `(V,)`,
            as `BeamSearch` takes them; None for none.
        terms: for each source, the ids of the terms that its translations must hold,
            the first of each negative; None for none.

    Returns:
        For each source at most `n_best` pairs of (ids, score), best first, without the
        end token; an empty source has empty ones with score 0.

    Raises:
        ValueError: for a length or batch size below 1, or a `min_length`, prefix or
            terms without room within `max_length`, before any computation; for a text
            without a hypothesis of finite score.
    """
    positive("batch_size", batch_size)
    given, held = prefixes or [[]] * len(sources), terms or [[]] * len(sources)
    if max_length is not None:
        positive("max_length", max_length)
        _check_length(max_length, search.min_length, prefix=given, terms=held)
    results: list[Any] = [[([], 0.0)] * search.n_best for _ in sources]
    # Sorted by length, so that a batch holds little padding.
    full = [i for i, ids in enumerate(sources) if len(ids)]
    order = sorted(full, key=lambda i: len(sources[i]))

    def decode(rows):
        source = pad_batch([sources[i] for i in rows], batch_size)
        if max_length is None:
            sizes = [longest_translation(len(sources[i])) for i in rows]
            pairs = zip(rows, sizes, strict=True)
            sizes = [size + len(given[i]) + len(held[i]) for i, size in pairs]
            limits = [max(size, search.min_length) for size in sizes]
            steps = longest_translation(source.shape[1])
            steps = steps if max(limits) <= steps else bucket(max(limits))
        else:
            limits, steps = [max_length] * len(rows), bucket(max_length)
        begun, wanted = [given[i] for i in rows], [held[i] for i in rows]
        limits, arrays = np.array(limits, "int32"), {}
        if any(begun):
            arrays["prefix"] = pad_batch(begun, batch_size, steps)
        if any(begun) and completions:
            found = [completions(i) for i in rows]
            arrays["completions"] = pad_batch(found, batch_size, len(found[0]))
        if size := max(map(len, wanted)):  # in one of few widths
            width = 1 + (1 << (size - 1).bit_length())
            arrays["terms"] = pad_batch(wanted, batch_size, width)
        return rows, *search.find(model.backbone, source, limits, steps, **arrays)

    groups = batches(order, batch_size, sources)
    for rows, ids, scores in model.map_batches(decode, groups):
        name = "images" if is_image(sources[rows[0]]) else "texts"
        check_found(scores[: len(rows)], rows, name)
        for row, i in enumerate(rows):
            results[i] = search.best_rows(ids[row], scores[row])
    return results


def _check_length(max_length, min_length, **given):
    if min_length > max_length:
        raise ValueError(
            "`min_length` must not exceed `max_length`. "
            f"Received: min_length={min_length}, max_length={max_length}"
        )
    for name, rows in given.items():
        for place, ids in enumerate(rows):
            if len(ids) >= max_length:
                raise ValueError(
                    "A prefix or a text's terms must have fewer pieces than "
                    "`max_length`, in which the end token counts. Received: "
                    f"{name}[{place}] of {len(ids)} pieces, max_length={max_length}"
                )


def nest_results(
    rows: Sequence[Any], written: Sequence[Any], count: int, n_best: int, single: bool
) -> Any:
    """Returns what was written for each of `count` sources, as `translate` does.

    `rows` has a tuple for each hypothesis, the place of its source first.
    """
    results: list[Any] = [[] for _ in range(count)]
    for (i, *_), text in zip(rows, written, strict=True):
        results[i].append(text)
    if n_best == 1:
        results = [result[0] for result in results]
    return results[0] if single else results


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
    run = model.label_log_probs
    for i, log_probs in _read(model, run, sources, targets, batch_size):
        results[i] = log_probs[0][: len(targets[i]) + 1]
    return results


def align_ids(
    model: Any, sources: Rows, targets: Rows, batch_size: int = 64
) -> list[tuple[np.ndarray, ...]]:
    """Computes `Seq2SeqBackbone.align_details` for given translations; see `score_ids`.

    Returns:
        For each translation a tuple of arrays with one row per token; for an empty
        source or target only weights.
    """
    grid = math.prod(getattr(model.backbone, "grid", None) or ())  # of an image
    widths = [grid if is_image(x) else len(x) for x in sources]
    results: list[tuple[np.ndarray, ...]] = [
        (np.zeros((len(target), width), "float32"),)
        for target, width in zip(targets, widths, strict=True)
    ]
    full = [i for i in range(len(sources)) if len(sources[i]) and len(targets[i])]
    pairs = [sources[i] for i in full], [targets[i] for i in full]
    run = model.target_alignments
    for n, (weights, *places) in _read(model, run, *pairs, batch_size):
        height = len(pairs[1][n])
        weights = weights[:height, : widths[full[n]]].astype("float32")
        results[full[n]] = weights, *(place[:height] for place in places)
    return results


def _read(model, function, sources, targets, batch_size):
    """Applies a function of (sources, targets read, labels) in batches.

    Target token t is the label of step t, after the tokens before it have been read.

    Yields:
        The index of each pair, and its rows of the outputs.
    """
    positive("batch_size", batch_size)
    read = [[START_ID, *ids] for ids in targets]
    sizes = [(bucket(len(s)), len(t)) for s, t in zip(sources, read, strict=True)]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)

    def apply(chosen):
        return chosen, function(
            pad_batch([sources[i] for i in chosen], batch_size),
            pad_batch([read[i] for i in chosen], batch_size),
            pad_batch([[*targets[i], END_ID] for i in chosen], batch_size),
        )

    for chosen, outputs in model.map_batches(
        apply, batches(order, batch_size, sources, read)
    ):
        for row, i in enumerate(chosen):
            yield i, [output[row] for output in outputs]


def perplexity_from(total: float, count: int) -> float:
    """Returns the perplexity for `count` log-probabilities whose sum is `total`."""
    mean = -total / count
    return math.exp(mean) if mean < 700 else math.inf


def total(log_probs: np.ndarray) -> float:
    """Returns their sum, in float64."""
    return float(np.sum(log_probs, dtype="float64"))
