"""Forced decoding: scores and alignments of given translations. Imports no Keras."""

import math
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import LONGEST, Rows, batches, pad_batch
from zoo.decoding.records import Translation
from zoo.ids import END_ID, START_ID
from zoo.strings import check_texts, plain_texts
from zoo.text.rows import bucket, cut_rows
from zoo.text.translation_arrays import needed_preprocessor


def score(
    model: Any,
    sources: Any,
    targets: Any,
    per_token: bool = False,
    batch_size: int = 64,
) -> Any:
    """See `zoo.models.Translator.score`."""
    sources = plain_texts(sources)
    _, source_ids, target_ids = _read_pairs(model, sources, targets, batch_size)
    log_probs = score_ids(model, source_ids, target_ids, batch_size)
    scores = log_probs if per_token else [_total(row) for row in log_probs]
    return scores[0] if isinstance(sources, str) else scores


def align(model: Any, sources: Any, targets: Any, batch_size: int = 64) -> Any:
    """See `zoo.models.Translator.align`."""
    sources = plain_texts(sources)
    texts, *pairs = _read_pairs(model, sources, targets, batch_size)
    log_probs = score_ids(model, pairs[0], pairs[1], batch_size)
    alignments = align_ids(model, pairs[0], pairs[1], batch_size)
    pieces = model.preprocessor.pieces
    records = [
        Translation(  # type: ignore[misc]  # the alignment's fields come before
            text, _total(row), pieces(target), pieces(source), *alignment, log_probs=row
        )
        for text, source, target, row, alignment in zip(
            texts, *pairs, log_probs, alignments, strict=True
        )
    ]
    return records[0] if isinstance(sources, str) else records


def perplexity(model: Any, sources: Any, targets: Any, batch_size: int = 64) -> float:
    """See `zoo.models.Translator.perplexity`."""
    _, source_ids, target_ids = _read_pairs(model, sources, targets, batch_size)
    log_probs = score_ids(model, source_ids, target_ids, batch_size)
    if not log_probs:
        raise ValueError("There must be a translation. Received: none")
    return perplexity_from(sum(map(_total, log_probs)), sum(map(len, log_probs)))


def score_ids(
    model: Any, sources: Rows, targets: Rows, batch_size: int = 64
) -> list[np.ndarray]:
    """Computes the log-probability of each token and of the end token.

    Args:
        model: a `zoo.models.Translator`.
        sources: source ids.
        targets: target ids, without start and end tokens.
        batch_size: sentences read together.

    Returns:
        For each translation a float32 array `(tokens + 1,)`.
    """
    results: list[Any] = [None] * len(sources)
    make = model.engine.scores
    for i, log_probs in _read(model, make, sources, targets, batch_size):
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
    results: list[tuple[np.ndarray, ...]] = [
        (np.zeros((len(target), len(source)), "float32"),)
        for source, target in zip(sources, targets, strict=True)
    ]
    full = [i for i in range(len(sources)) if sources[i] and targets[i]]
    pairs = [sources[i] for i in full], [targets[i] for i in full]
    make = model.engine.alignments
    for n, (weights, *places) in _read(model, make, *pairs, batch_size):
        height, width = len(pairs[1][n]), len(pairs[0][n])
        weights = weights[:height, :width].astype("float32")
        results[full[n]] = weights, *(place[:height] for place in places)
    return results


def _read(model, make, sources, targets, batch_size):
    """Runs a function of the model's engine in batches.

    Target token t is the label of step t, after the tokens before it have been read.

    Yields:
        The index of each pair, and its rows of the outputs.
    """
    read = [[START_ID, *ids] for ids in targets]
    sizes = [(bucket(len(s)), len(t)) for s, t in zip(sources, read, strict=True)]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)

    def run(chosen):
        return chosen, make(model)(
            pad_batch([sources[i] for i in chosen], batch_size),
            pad_batch([read[i] for i in chosen], batch_size),
            pad_batch([[*targets[i], END_ID] for i in chosen], batch_size),
        )

    groups = batches(order, batch_size, sources, read)
    for chosen, outputs in model.engine.map(run, groups):
        for row, i in enumerate(chosen):
            yield i, [output[row] for output in outputs]


def perplexity_from(total: float, count: int) -> float:
    """Returns the perplexity for `count` log-probabilities whose sum is `total`."""
    mean = -total / count
    return math.exp(mean) if mean < 700 else math.inf


def _read_pairs(model, sources, targets, batch_size):
    """Returns the texts of the targets, and the ids of sources and targets."""
    positive("batch_size", batch_size)
    preprocessor = needed_preprocessor(model, "Reading a translation")
    targets = plain_texts(targets)
    single = isinstance(targets, (str, Translation))
    if isinstance(sources, str) != single:
        raise ValueError(
            "sources and targets must both be one text or both be lists. "
            f"Received: {type(sources).__name__} and {type(targets).__name__}"
        )
    sources = check_texts(sources, "sources")
    if single:
        targets = [targets]
    elif not isinstance(targets, (list, tuple)):
        targets = check_texts(targets, "targets")
    texts = [x.text if isinstance(x, Translation) else x for x in targets]
    texts = check_texts(texts, "targets")
    if len(sources) != len(texts):
        raise ValueError(
            "sources and targets must hold equally many texts. "
            f"Received: {len(sources)} and {len(texts)}"
        )
    source_ids = preprocessor.encode(sources)
    for place, ids in enumerate(source_ids):
        if not ids:
            raise ValueError(
                f"sources[{place}] must not be blank: nothing is translated then. "
                f"Received: {sources[place]!r}"
            )
    # Targets with too many pieces are cut, with a warning. The pieces of a record
    # count, which may differ from those of its text.
    records = {i: x for i, x in enumerate(targets) if isinstance(x, Translation)}
    target_ids = preprocessor.encode_targets(
        ["" if i in records else text for i, text in enumerate(texts)], length=LONGEST
    )
    record_ids = {i: _own_ids(preprocessor.tokenizer, x, i) for i, x in records.items()}
    rows = cut_rows(list(record_ids.values()), LONGEST - 1, "pieces")
    for place, ids in zip(record_ids, rows, strict=True):
        target_ids[place] = ids
    return texts, source_ids, target_ids


def _own_ids(tokenizer, record, place):
    """Returns the ids of a record's tokens, which must all be in the vocabulary."""
    ids = [tokenizer.token_to_id(token) for token in record.tokens]
    for token, token_id in zip(record.tokens, ids, strict=True):
        if tokenizer.id_to_token(token_id) != token:
            raise ValueError(
                "The tokens of a Translation must be pieces of this model's vocabulary "
                "(those of `merge_words`, and words put in the place of `<unk>`, are "
                f"not: give the text). Received: {token!r} in targets[{place}]"
            )
    return ids


def _total(log_probs):
    return float(np.sum(log_probs, dtype="float64"))
