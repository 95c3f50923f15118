"""Search, scores and alignments of many sources, in batches. Imports no Keras."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from zoo.backend import Tensor
from zoo.checks import positive
from zoo.decoding.batches import Rows, batches, is_image, pad_batch
from zoo.decoding.search import Search, check_found, longest_translation
from zoo.ids import END_ID, START_ID
from zoo.text.rows import bucket


class BatchDecoder:
    """Base of the tasks that write text, with or without Keras.

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

    def encode(self, source_ids: Tensor) -> Any:
        """See `zoo.models.Seq2SeqBackbone.encode`."""
        return self.backbone.encode(source_ids)

    def start(self, memory: Any) -> Any:
        """See `zoo.models.Seq2SeqBackbone.start`."""
        return self.backbone.start(memory)

    def start_for(self, memory: Any, length: int) -> Any:
        """See `zoo.models.Seq2SeqBackbone.start_for`."""
        return self.backbone.start_for(memory, length)

    def step(self, token_ids: Tensor, state: Any, memory: Any) -> Any:
        """See `zoo.models.Seq2SeqBackbone.step`."""
        return self.backbone.step(token_ids, state, memory)

    def label_log_probs(
        self, source: np.ndarray, target_ids: np.ndarray, labels: np.ndarray
    ) -> list[np.ndarray]:
        """Returns `[log-probabilities (B, T)]` of int labels `(B, T)`.

        Label t is what follows `target_ids` `(B, T)` up to t.
        """
        raise NotImplementedError

    def target_alignments(
        self, source: np.ndarray, target_ids: np.ndarray, labels: np.ndarray
    ) -> list[np.ndarray]:
        """Returns what `zoo.models.Seq2SeqBackbone.align_details` does, as a list."""
        raise NotImplementedError


def search_ids(
    model: Any,
    sources: Rows,
    search: Search,
    max_length: int | None = None,
    batch_size: int = 64,
    prefixes: Rows | None = None,
    completions: Callable[[int], np.ndarray] | None = None,
    terms: Sequence[Rows] | None = None,
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
        terms: for each source, the ids of the terms that its translations must hold;
            None for none.

    Returns:
        For each source at most `n_best` pairs of (ids, score), best first, without the
        end token; an empty source has empty ones with score 0.

    Raises:
        ValueError: for a length or batch size below 1, or a prefix that leaves no room
            within `max_length`, before any computation; for a text without a
            hypothesis of finite score.
    """
    positive("batch_size", batch_size)
    most = max(map(len, prefixes), default=0) if prefixes else 0
    if max_length is not None and most >= positive("max_length", max_length):
        raise ValueError(
            "A prefix must have fewer ids than `max_length`, in which the end token "
            f"counts. Received: one of {most} ids, max_length={max_length}"
        )
    results: list[list[tuple[list[int], float]]] = [
        [([], 0.0)] * search.n_best for _ in sources
    ]
    # Sorted by length, so that a batch holds little padding.
    order = sorted(
        (i for i, ids in enumerate(sources) if len(ids)), key=lambda i: len(sources[i])
    )

    def decode(rows):
        part = [sources[i] for i in rows]
        starts = [prefixes[i] if prefixes else [] for i in rows]
        phrases = [terms[i] if terms else [] for i in rows]
        source = pad_batch(part, batch_size)
        limits, steps = [max_length] * len(rows), bucket(max_length or 1)
        if max_length is None:
            given = zip(starts, phrases, strict=True)
            sizes = [len(start) + sum(map(len, row)) for start, row in given]
            limits = [
                max(longest_translation(len(ids)) + size, search.min_length)
                for ids, size in zip(part, sizes, strict=True)
            ]
            steps = longest_translation(source.shape[1])
            steps = steps if max(limits) <= steps else bucket(max(limits))
        arrays = {}
        if any(starts):
            arrays["prefix"] = pad_batch(starts, batch_size, steps)
            found = [completions(i) for i in rows] if completions else [[0]] * len(rows)
            arrays["completions"] = _with_rows(np.stack(found), len(source), 0)
        if any(phrases):
            arrays.update(_term_arrays(phrases, len(source)))
        program = search.program(model, steps, tuple(arrays))
        # Rows that only pad the batch end at once.
        limits = _with_rows(np.array(limits, "int32"), len(source), 1)
        return rows, *program(source, limits, *arrays.values())

    groups = batches(order, batch_size, sources)
    for rows, ids, scores in model.map_batches(decode, groups):
        name = "images" if is_image(sources[rows[0]]) else "texts"
        check_found(scores[: len(rows)], rows, name)
        for row, i in enumerate(rows):
            results[i] = search.best_rows(ids[row], scores[row])
    return results


def _with_rows(array, count, value):
    """An array with as many rows, filled up with a value."""
    widths = [(0, count - len(array)), *[(0, 0)] * (array.ndim - 1)]
    return np.pad(array, widths, constant_values=value)


def _term_arrays(terms, count):
    """Returns a search's `terms` and `firsts`: `count` rows of one of few widths."""
    width = max(sum(map(len, row)) for row in terms)
    width = 1 << (width - 1).bit_length()
    arrays = {name: np.zeros((count, width), "int32") for name in ("terms", "firsts")}
    for row, phrases in enumerate(terms):
        place = 0
        for ids in phrases:
            arrays["terms"][row, place : place + len(ids)] = ids
            arrays["firsts"][row, place : place + len(ids)] = place
            place += len(ids)
        arrays["firsts"][row, place:] = -1
    return arrays


def check_max_length(search: Search, max_length: int | None) -> None:
    """Raises a `ValueError` for a length that is none, or below the minimum length."""
    if max_length is None or search.min_length <= positive("max_length", max_length):
        return
    raise ValueError(
        "`min_length` must not exceed `max_length`. "
        f"Received: min_length={search.min_length}, max_length={max_length}"
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
