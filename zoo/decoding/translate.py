"""From strings to translations: sort, batch, search, align, restore the order."""

import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import batches, pad_batch
from zoo.decoding.beam import BeamSearch, longest_translation
from zoo.decoding.beam_state import LOW
from zoo.decoding.compiled import compiled
from zoo.decoding.constraints import (
    put_words_in,
    read_banned,
    read_prefixes,
    source_words,
    unknown_beginnings,
)
from zoo.decoding.forced import align_ids
from zoo.decoding.records import Translation
from zoo.strings import check_texts
from zoo.text.preprocessor import bucket, needed_preprocessor
from zoo.text.tokenizer import UNKNOWN_ID


def translate(
    model,
    texts,
    *,
    max_length=None,
    return_details=False,
    batch_size=64,
    prefix=None,
    banned=(),
    replace_unknown=False,
    **search,
):
    """See `zoo.models.Translator.translate`; `**search` are further arguments of a
    `BeamSearch`."""
    preprocessor = needed_preprocessor(model, "`translate`")
    search = BeamSearch(**search, banned_ids=read_banned(preprocessor, banned))
    positive("batch_size", batch_size)
    if max_length is not None and search.min_length > positive(
        "max_length", max_length
    ):
        raise ValueError(
            "`min_length` must not exceed `max_length`. "
            f"Received: min_length={search.min_length}, max_length={max_length}"
        )
    single = isinstance(texts, str)
    texts = check_texts([texts] if single else texts)
    if prefix is not None and not isinstance(prefix, str):
        prefix = check_texts(prefix, "prefix")  # it is read more than once
    prefixes = read_prefixes(preprocessor, prefix, len(texts), max_length)
    sources = preprocessor.encode(texts)
    found = search_ids(model, sources, search, max_length, batch_size, prefixes)
    begun = unknown_beginnings(preprocessor, prefix, prefixes)
    texts = texts if replace_unknown else None
    results = _records(model, sources, found, return_details, batch_size, texts, begun)
    if search.n_best == 1:
        results = [result[0] for result in results]
    return results[0] if single else results


def search_ids(model, sources, search, max_length=None, batch_size=64, prefixes=None):
    """Searches for the translations of lists of source ids.

    Args:
        model: a `zoo.models.Translator`.
        sources: list of lists of ids.
        search: a `BeamSearch`.
        max_length: see `Translator.translate`.
        batch_size: sentences decoded together.
        prefixes: for each source a list of ids, shorter than its longest translation,
            with which its translations start; None for none.

    Returns:
        For each source a list of at most `n_best` `(ids, score)`, best first, without
        the end token; an empty source gives empty ones of score 0.

    Raises:
        ValueError: for a length or batch size below 1 and for a prefix that leaves no
            room within `max_length`, before any computation; for a text for which no
            hypothesis has a finite score.
    """
    positive("batch_size", batch_size)
    longest = max(map(len, prefixes), default=0) if prefixes else 0
    if max_length is not None and longest >= positive("max_length", max_length):
        raise ValueError(
            "A prefix must have fewer ids than `max_length`, in which the end token "
            f"counts. Received: one of {longest} ids, max_length={max_length}"
        )
    found = [[([], 0.0)] * search.n_best for _ in sources]
    # Sorted by length, so that a batch holds little padding.
    order = sorted(
        (i for i, ids in enumerate(sources) if len(ids)), key=lambda i: len(sources[i])
    )
    for rows in batches(order, batch_size, sources):
        batch = pad_batch([sources[i] for i in rows], batch_size)
        begun = [prefixes[i] if prefixes else [] for i in rows]
        if max_length is not None:
            limits, steps = [max_length] * len(rows), bucket(max_length)
        else:
            limits = [
                max(longest_translation(len(sources[i])) + len(own), search.min_length)
                for i, own in zip(rows, begun, strict=True)
            ]
            steps = longest_translation(batch.shape[1])
            if max(limits) > steps:
                steps = bucket(max(limits))
        # Rows that only fill the batch up end at once.
        limits = np.array(limits + [1] * (len(batch) - len(rows)), "int32")
        prefix = [pad_batch(begun, batch_size, steps)] if any(begun) else []
        run = compile_search(model, search, steps, bool(prefix))
        ids, scores = run(batch, limits, *prefix)
        for row, i in enumerate(rows):
            found[i] = [
                (_until_end(ids[row, k], search.end_id), float(scores[row, k]))
                for k in range(search.n_best)
                if scores[row, k] > LOW / 2
            ]
            if not found[i]:
                raise ValueError(
                    f"No hypothesis came out for texts[{i}]: the model's logits must "
                    "be finite, and a word must be left that isn't banned"
                )
    return found


def _records(model, sources, found, details, batch_size, source_texts, begun):
    """The results of `translate` for each source, in a list. Unknown words are replaced
    where there are `source_texts`; `begun` is what `unknown_beginnings` gave."""
    preprocessor = model.preprocessor
    flat = [(i, ids, score) for i, best in enumerate(found) for ids, score in best]
    texts = preprocessor.decode([ids for _, ids, _ in flat])
    unknown = [
        n
        for n, (i, ids, _) in enumerate(flat)
        if UNKNOWN_ID in ids and (source_texts or any(begun[i : i + 1]))
    ]
    looked = range(len(flat)) if details else unknown
    words = {}
    if source_texts:
        rows = sorted({flat[n][0] for n in unknown})
        read = [[column[i] for i in rows] for column in (source_texts, sources)]
        words = dict(zip(rows, source_words(preprocessor, *read), strict=True))
    alignments = align_ids(
        model,
        [sources[flat[n][0]] for n in looked],
        [flat[n][1] for n in looked],
        batch_size,
    )
    alignments = dict(zip(looked, alignments, strict=True))
    results = [[] for _ in sources]
    for n, (i, ids, score) in enumerate(flat):
        text, own = texts[n], alignments.get(n)
        if own:
            tokens = preprocessor.pieces(ids)
            own_beginning = begun[i] if begun else ()
            text, tokens = put_words_in(
                text, tokens, own[0], words.get(i, ()), own_beginning
            )
            if details:
                pieces = preprocessor.pieces(sources[i])
                text = Translation(text, score, tokens, pieces, *own)
        results[i].append(text)
    return results


def compile_search(model, search, steps, prefixed=False):
    """The search as a function of arrays `(source_ids, limits)`, or of `(source_ids,
    limits, prefix)`, `steps` wide; one program for searches of equal arguments."""
    names = ["prefix"] * prefixed + ["settings"] + ["banned"] * bool(search.banned_ids)

    def run(source_ids, limits, *others):
        others = dict(zip(names, others, strict=True))
        return search(model, source_ids, limits, steps, **others)

    program = compiled(model, (search.key(), steps, prefixed), run)
    own = [search.settings()] + ([search.banned()] if search.banned_ids else [])
    return lambda *arrays: program(*arrays, *own)


def _until_end(ids, end_id):
    ids = ids.tolist()
    return ids[: ids.index(end_id)] if end_id in ids else ids
