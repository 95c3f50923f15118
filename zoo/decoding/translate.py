"""From strings to translations: sort, batch, search, align, restore the order."""

import numpy as np

from zoo.decoding.batches import batches, bucket, pad_batch
from zoo.decoding.beam import _LOW, BeamSearch
from zoo.decoding.compiled import compiled
from zoo.decoding.forced import align_ids
from zoo.decoding.records import Translation
from zoo.layers.functional import positive
from zoo.text import check_texts


def translate(
    model, texts, max_length=None, return_details=False, batch_size=64, **search
):
    """See `zoo.models.Translator.translate`; `**search` are the arguments of a
    `BeamSearch`."""
    search = BeamSearch(**search)
    positive("batch_size", batch_size)
    if max_length is not None and search.min_length > positive(
        "max_length", max_length
    ):
        raise ValueError(
            "`min_length` must not exceed `max_length`. "
            f"Received: min_length={search.min_length}, max_length={max_length}"
        )
    preprocessor = model.preprocessor
    if preprocessor is None:
        raise ValueError(
            "`translate` needs a model with a preprocessor. "
            f"Received: {type(model).__name__} with preprocessor=None"
        )
    single = isinstance(texts, str)
    texts = check_texts([texts] if single else texts)
    sources = preprocessor.encode(texts)
    found = search_ids(model, sources, search, max_length, batch_size)
    results = _records(model, sources, found, return_details, batch_size)
    if search.n_best == 1:
        results = [result[0] for result in results]
    return results[0] if single else results


def search_ids(model, sources, search, max_length=None, batch_size=64):
    """Searches for the translations of lists of source ids.

    Args:
        model: a `zoo.models.Translator`.
        sources: list of lists of ids.
        search: a `BeamSearch`.
        max_length: see `Translator.translate`.
        batch_size: sentences decoded together.

    Returns:
        For each source a list of at most `n_best` `(ids, score)`, best first, without
        the end token; an empty source gives empty ones of score 0.

    Raises:
        ValueError: if the model's logits are not finite.
    """
    found = [[([], 0.0)] * search.n_best for _ in sources]
    # Sorted by length, so that a batch holds little padding.
    order = sorted(
        (i for i, ids in enumerate(sources) if len(ids)), key=lambda i: len(sources[i])
    )
    for rows in batches(order, sources, batch_size):
        batch = pad_batch([sources[i] for i in rows], batch_size)
        if max_length:
            limits, steps = [max_length] * len(rows), bucket(max_length)
        else:
            limits = [max(2 * len(sources[i]) + 10, search.min_length) for i in rows]
            steps = max(2 * batch.shape[1] + 10, search.min_length)
        # Rows that only fill the batch up end at once.
        limits = np.array(limits + [1] * (len(batch) - len(rows)), "int32")
        ids, scores = compile_search(model, search, steps)(batch, limits)
        for row, i in enumerate(rows):
            found[i] = [
                (_until_end(ids[row, k], search.end_id), float(scores[row, k]))
                for k in range(search.n_best)
                if scores[row, k] > _LOW / 2
            ]
            if not found[i]:
                raise ValueError(
                    "The model's logits must be finite: no hypothesis came out for "
                    f"texts[{i}]. Received: NaN or infinite logits"
                )
    return found


def _records(model, sources, found, details, batch_size):
    preprocessor = model.preprocessor
    flat = [(i, ids, score) for i, best in enumerate(found) for ids, score in best]
    texts = preprocessor.decode([ids for _, ids, _ in flat])
    if details:
        alignments = align_ids(
            model,
            [sources[i] for i, _, _ in flat],
            [ids for _, ids, _ in flat],
            batch_size,
        )
        pieces = [preprocessor.pieces(ids) for _, ids, _ in flat]
        source_pieces = [preprocessor.pieces(ids) for ids in sources]
    results = [[] for _ in sources]
    for n, (i, _, score) in enumerate(flat):
        if not details:
            results[i].append(texts[n])
            continue
        results[i].append(
            Translation(texts[n], score, pieces[n], source_pieces[i], *alignments[n])
        )
    return results


def compile_search(model, search, steps):
    """The search as a function of arrays `(source_ids, limits)`, `steps` wide; one for
    searches of equal arguments."""

    def run(source_ids, limits):
        return search(model, source_ids, limits, steps)

    return compiled(model, (search.key(), steps), run)


def _until_end(ids, end_id):
    ids = ids.tolist()
    return ids[: ids.index(end_id)] if end_id in ids else ids
