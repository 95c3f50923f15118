"""From strings to translations: sort, batch, search, align, restore the order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from zoo.checks import positive
from zoo.decoding.batches import Rows, batches, pad_batch
from zoo.decoding.constraints import (
    completions_of,
    put_words_in,
    read_banned,
    read_prefixes,
    read_terms,
    source_words,
    unknown_beginnings,
)
from zoo.decoding.forced import align_ids
from zoo.decoding.records import Translation
from zoo.decoding.search import Search, check_found, longest_translation
from zoo.ids import UNKNOWN_ID
from zoo.strings import check_texts, plain_texts
from zoo.text.rows import bucket
from zoo.text.translation_arrays import needed_preprocessor


def translate(
    model: Any,
    texts: Any,
    *,
    max_length: int | None = None,
    return_details: bool = False,
    batch_size: int = 64,
    prefix: str | Sequence[str] | None = None,
    banned: str | Iterable[str] = (),
    terms: Mapping[str, str] | Sequence[Mapping[str, str]] | None = None,
    replace_unknown: bool = False,
    **options: Any,
) -> Any:
    """Translates texts; see `zoo.models.Translator.translate`.

    `**options` are further arguments of a `BeamSearch`.
    """
    preprocessor = needed_preprocessor(model, "`translate`")
    search = model.engine.search(
        **options, banned_ids=read_banned(preprocessor, banned)
    )
    positive("batch_size", batch_size)
    if max_length is not None and search.min_length > positive(
        "max_length", max_length
    ):
        raise ValueError(
            "`min_length` must not exceed `max_length`. "
            f"Received: min_length={search.min_length}, max_length={max_length}"
        )
    texts = plain_texts(texts)
    single = isinstance(texts, str)
    texts = check_texts([texts] if single else texts)
    if prefix is not None and not isinstance(prefix, str):
        prefix = check_texts(prefix, "prefix")  # it is iterated more than once
    prefixes = read_prefixes(preprocessor, prefix, len(texts), max_length)
    wanted = read_terms(preprocessor, terms, texts, max_length, search)
    sources = preprocessor.encode(texts)
    hypotheses = search_ids(
        model,
        sources,
        search,
        max_length,
        batch_size,
        prefixes,
        completions_of(preprocessor, prefix, prefixes),
        wanted,
    )
    prefix_pieces = unknown_beginnings(preprocessor, prefix, prefixes)
    texts = texts if replace_unknown else None
    results = _records(
        model, sources, hypotheses, return_details, batch_size, texts, prefix_pieces
    )
    if search.n_best == 1:
        results = [result[0] for result in results]
    return results[0] if single else results


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
        model: a `zoo.models.Translator`.
        sources: source ids.
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

    def run(rows):
        batch = pad_batch([sources[i] for i in rows], batch_size)
        starts = [prefixes[i] if prefixes else [] for i in rows]
        if max_length is not None:
            longest, steps = [max_length] * len(rows), bucket(max_length)
        else:
            longest = [
                max(
                    longest_translation(len(sources[i]))
                    + len(start)
                    + sum(map(len, terms[i] if terms else ())),
                    search.min_length,
                )
                for i, start in zip(rows, starts, strict=True)
            ]
            steps = longest_translation(batch.shape[1])
            if max(longest) > steps:
                steps = bucket(max(longest))
        # Rows that only pad the batch end at once.
        limits = np.array(longest + [1] * (len(batch) - len(rows)), "int32")
        given = {}
        if any(starts):
            given["prefix"] = pad_batch(starts, batch_size, steps)
            given["completions"] = np.zeros((len(batch), 1))
            if completions:
                found = np.stack([completions(i) for i in rows])
                padding = (0, len(batch) - len(rows)), (0, 0)
                given["completions"] = np.pad(found, padding)
        if terms and any(terms[i] for i in rows):
            given.update(_term_arrays([terms[i] for i in rows], len(batch)))
        program = search.program(model, steps, tuple(given))
        return rows, *program(batch, limits, *given.values())

    for rows, ids, scores in model.engine.map(run, batches(order, batch_size, sources)):
        check_found(scores[: len(rows)], rows, "texts")
        for row, i in enumerate(rows):
            results[i] = search.best_rows(ids[row], scores[row])
    return results


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


def _records(
    model, sources, hypotheses, details, batch_size, source_texts, prefix_pieces
):
    """Returns the results of `translate` for each source.

    Unknown words are replaced if there are `source_texts`; `prefix_pieces` is from
    `unknown_beginnings`.
    """
    preprocessor = model.preprocessor
    flat = [(i, ids, score) for i, best in enumerate(hypotheses) for ids, score in best]
    texts = preprocessor.decode([ids for _, ids, _ in flat])
    unknown = [
        n
        for n, (i, ids, _) in enumerate(flat)
        if UNKNOWN_ID in ids and (source_texts or any(prefix_pieces[i : i + 1]))
    ]
    to_align = range(len(flat)) if details else unknown
    words = {}
    if source_texts:
        rows = sorted({flat[n][0] for n in unknown})
        read = [[column[i] for i in rows] for column in (source_texts, sources)]
        words = dict(zip(rows, source_words(preprocessor, *read), strict=True))
    alignments = align_ids(
        model,
        [sources[flat[n][0]] for n in to_align],
        [flat[n][1] for n in to_align],
        batch_size,
    )
    alignments = dict(zip(to_align, alignments, strict=True))
    results = [[] for _ in sources]
    for n, (i, ids, score) in enumerate(flat):
        text, alignment = texts[n], alignments.get(n)
        if alignment:
            tokens = preprocessor.pieces(ids)
            own_prefix = prefix_pieces[i] if prefix_pieces else ()
            text, tokens = put_words_in(
                text, tokens, alignment[0], words.get(i, ()), own_prefix
            )
            if details:
                pieces = preprocessor.pieces(sources[i])
                text = Translation(text, score, tokens, pieces, *alignment)
        results[i].append(text)
    return results
