"""Forced decoding: what a translator makes of translations that it is given."""

import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import LONGEST, batches, pad_batch
from zoo.decoding.compiled import compiled
from zoo.decoding.records import Translation
from zoo.decoding.score import label_log_probs, perplexity_from
from zoo.strings import check_texts
from zoo.text.preprocessor import bucket, needed_preprocessor
from zoo.text.tokenizer import END_ID, START_ID
from zoo.text.words import cut_rows


def score(model, sources, targets, per_token=False, batch_size=64):
    """See `zoo.models.Translator.score`."""
    _, *pairs = _read_pairs(model, sources, targets, batch_size)
    found = score_ids(model, *pairs, batch_size)
    if not per_token:
        found = [_total(row) for row in found]
    return found[0] if isinstance(sources, str) else found


def align(model, sources, targets, batch_size=64):
    """See `zoo.models.Translator.align`."""
    texts, *pairs = _read_pairs(model, sources, targets, batch_size)
    log_probs = score_ids(model, *pairs, batch_size)
    alignments = align_ids(model, *pairs, batch_size)
    pieces = model.preprocessor.pieces
    found = [
        Translation(
            text, _total(row), pieces(target), pieces(source), *own, log_probs=row
        )
        for text, source, target, row, own in zip(
            texts, *pairs, log_probs, alignments, strict=True
        )
    ]
    return found[0] if isinstance(sources, str) else found


def perplexity(model, sources, targets, batch_size=64):
    """See `zoo.models.Translator.perplexity`."""
    _, *pairs = _read_pairs(model, sources, targets, batch_size)
    log_probs = score_ids(model, *pairs, batch_size)
    if not log_probs:
        raise ValueError("There must be a translation. Received: none")
    return perplexity_from(sum(map(_total, log_probs)), sum(map(len, log_probs)))


def score_ids(model, sources, targets, batch_size=64):
    """Log-probability of each token of given translations, and of the end behind them.

    Args:
        model: a `zoo.models.Translator`.
        sources, targets: lists of lists of ids, the targets' without start and end.
        batch_size: sentences read together.

    Returns:
        For each translation a NumPy array `(tokens + 1,)`, float32.
    """

    def function(source_ids, target_ids, labels):
        inputs = {"source_ids": source_ids, "target_ids": target_ids}
        return (label_log_probs(model.backbone(inputs), labels),)

    found = [None] * len(sources)
    for i, log_probs in _read(model, "force", function, sources, targets, batch_size):
        found[i] = log_probs[0][: len(targets[i]) + 1]
    return found


def align_ids(model, sources, targets, batch_size=64):
    """`Seq2SeqBackbone.look` for given translations.

    Args:
        model, sources, targets, batch_size: as in `score_ids`.

    Returns:
        For each translation a tuple of NumPy arrays, of as many rows as it has tokens;
        of an empty source or target weights alone.
    """

    def function(source_ids, target_ids, labels):
        return model.backbone.look(source_ids, target_ids)

    found = [
        (np.zeros((len(target), len(source)), "float32"),)
        for source, target in zip(sources, targets, strict=True)
    ]
    full = [i for i in range(len(sources)) if sources[i] and targets[i]]
    own = [sources[i] for i in full], [targets[i] for i in full]
    for n, (weights, *places) in _read(model, "look", function, *own, batch_size):
        height, width = len(own[1][n]), len(own[0][n])
        weights = weights[:height, :width].astype("float32")
        found[full[n]] = weights, *(place[:height] for place in places)
    return found


def _read(model, key, function, sources, targets, batch_size):
    """Yields the place of each pair and its rows of the outputs of a function of
    `(source_ids, target_ids, labels)`: target token t is the label of step t, at which
    the tokens before it have been read."""
    read = [[START_ID, *ids] for ids in targets]
    sizes = [(bucket(len(s)), len(t)) for s, t in zip(sources, read, strict=True)]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    for chosen in batches(order, batch_size, sources, read):
        outputs = compiled(model, key, function)(
            pad_batch([sources[i] for i in chosen], batch_size),
            pad_batch([read[i] for i in chosen], batch_size),
            pad_batch([[*targets[i], END_ID] for i in chosen], batch_size),
        )
        for row, i in enumerate(chosen):
            yield i, [output[row] for output in outputs]


def _read_pairs(model, sources, targets, batch_size):
    """The texts of the targets, and the ids of sources and targets."""
    positive("batch_size", batch_size)
    preprocessor = needed_preprocessor(model, "Reading a translation")
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
    # Those of more pieces, with the end token, are cut, with a warning. A record may
    # have other pieces than the text gives: its own count.
    records = {i: x for i, x in enumerate(targets) if isinstance(x, Translation)}
    target_ids = preprocessor.encode_targets(
        ["" if i in records else text for i, text in enumerate(texts)], length=LONGEST
    )
    own = {i: _own_ids(preprocessor.tokenizer, x, i) for i, x in records.items()}
    rows = cut_rows(list(own.values()), LONGEST - 1, "pieces")
    for place, ids in zip(own, rows, strict=True):
        target_ids[place] = ids
    return texts, source_ids, target_ids


def _own_ids(tokenizer, record, place):
    """The ids of a record's tokens, all of which the vocabulary must have."""
    ids = [tokenizer.token_to_id(token) for token in record.tokens]
    for token, own in zip(record.tokens, ids, strict=True):
        if tokenizer.id_to_token(own) != token:
            raise ValueError(
                "The tokens of a Translation must be pieces of this model's vocabulary "
                "(those of `merge_words`, and words put in the place of `<unk>`, are "
                f"not: give the text). Received: {token!r} in targets[{place}]"
            )
    return ids


def _total(log_probs):
    return float(np.sum(log_probs, dtype="float64"))
