"""Constraints on translations: prefixes, banned words, replaced unknown words."""

import bisect
import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from zoo.decoding.batches import LONGEST
from zoo.ids import UNKNOWN_ID
from zoo.strings import check_texts, composed, describe
from zoo.text.pieces import UNSPACED, words_of

_UNKNOWN = "<unk>"
_SPECIAL = re.compile("<(pad|unk|s|/s|0x..)>").fullmatch
_LAST = 30  # pieces of a prefix that completions may replace, as an int has bits
_TEXT_OF = {_UNKNOWN: " ⁇ ", "<pad>": "", "<s>": ""}  # as SentencePiece has it


class Constraints(NamedTuple):
    """Constraints on the translations of texts, as `search_ids` takes them.

    Attributes:
        banned_ids: the ids to avoid.
        prefixes: the ids with which each begins, or None.
        completions: function of a text's place that returns the completions of its
            prefix, see `BeamSearch`; or None.
        terms: for each text, the ids of the terms that its translation must hold, or
            None.
        surfaces: the text's own pieces of prefixes with unknown ones, by the text's
            place.
    """

    banned_ids: Sequence[int] = ()
    prefixes: list[list[int]] | None = None
    completions: Callable[[int], np.ndarray] | None = None
    terms: list[list[list[int]]] | None = None
    surfaces: Mapping[int, list[str]] = MappingProxyType({})


def read_constraints(
    preprocessor: Any,
    texts: Sequence[str],
    max_length: int | None,
    prefix: str | Iterable[str] | None,
    banned: str | Iterable[str],
    terms: Mapping[str, str] | Sequence[Mapping[str, str]] | None,
) -> Constraints:
    """Returns the constraints on the translations of texts.

    `zoo.models.Translator.translate` documents the arguments and errors.
    """
    found = Constraints()
    if prefix is not None:
        found = read_prefixes(preprocessor, prefix, len(texts), max_length)
    if not (isinstance(banned, tuple) and banned == ()):
        found = found._replace(banned_ids=read_banned(preprocessor, banned))
    if terms is not None:
        ids = read_terms(preprocessor, terms, texts, max_length, found.banned_ids)
        found = found._replace(terms=ids)
    return found


def read_prefixes(
    preprocessor: Any, prefix: str | Iterable[str], count: int, max_length: int | None
) -> Constraints:
    """Returns the constraints that prefixes put; see `read_constraints`.

    The completions of a prefix are the pieces that begin with its last pieces within
    its last word, as "▁Zwei" does with "▁Z", "w", and go on. A prefix that ends in a
    space has none: after it a new word begins, or it ends.
    """
    texts = check_texts([prefix] if isinstance(prefix, str) else prefix, "prefix")
    if not isinstance(prefix, str) and len(texts) != count:
        raise ValueError(
            "`prefix` must be one str, or hold as many as there are texts. "
            f"Received: {len(texts)} prefixes and {count} texts"
        )
    rows = preprocessor.encode_targets(texts, length=sys.maxsize)
    for place, row in enumerate(rows):
        if len(row) >= LONGEST:
            raise ValueError(
                f"A prefix must have fewer than {LONGEST} pieces. Received: "
                f"prefix[{place}] of {len(row)} pieces"
            )
        if max_length is not None and len(row) >= max_length:
            raise ValueError(
                "A prefix must have fewer pieces than `max_length`, in which the end "
                f"token counts. Received: prefix[{place}] of {len(row)} pieces, "
                f"max_length={max_length}"
            )
    surfaces: dict[int, list[str]] = {}
    if any(UNKNOWN_ID in row for row in rows):
        pairs = zip(rows, preprocessor.surfaces(texts), strict=True)
        surfaces = {i: x for i, (row, x) in enumerate(pairs) if UNKNOWN_ID in row}
    if isinstance(prefix, str):
        texts, rows = texts * count, rows * count
        surfaces = dict.fromkeys(range(count), surfaces[0]) if surfaces else {}
    completions = _completions_of(preprocessor.tokenizer, texts, rows)
    return Constraints((), rows, completions, None, surfaces)


def _completions_of(tokenizer, texts, rows):
    vocabulary = [tokenizer.id_to_token(i) for i in range(tokenizer.vocabulary_size())]

    @functools.lru_cache
    def of_pieces(ids: tuple[int, ...]) -> np.ndarray:
        found, rest = np.zeros(len(vocabulary), "int32"), ""
        for bit, token_id in enumerate(reversed(ids[-_LAST:])):
            rest = vocabulary[token_id] + rest
            for other, piece in enumerate(vocabulary):
                if piece.startswith(rest) and piece != rest and not _SPECIAL(piece):
                    found[other] |= 2 << bit
            if rest.startswith("▁"):
                break
        return found

    begins = [x.startswith("▁") or x in (_UNKNOWN, "</s>") for x in vocabulary]

    def of_text(i: int) -> np.ndarray:
        if rows[i] and texts[i][-1:].isspace() and vocabulary[rows[i][-1]][-1] != "▁":
            return np.array(begins, "int32")
        return of_pieces(tuple(rows[i]))

    return of_text


def read_banned(preprocessor: Any, banned: str | Iterable[str]) -> list[int]:
    """Returns the ids of pieces, or of words, with and without the "▁" before them."""
    tokenizer, banned_ids = preprocessor.tokenizer, set()
    for place, text in enumerate(check_texts(banned, "banned")):
        pieces = (text, f"▁{text}") if text else ()
        ids = {tokenizer.token_to_id(piece) for piece in pieces}  # of none: <unk>'s
        ids = {x for x in ids if tokenizer.id_to_token(x) in pieces}
        if not ids:
            raise ValueError(
                "`banned` must hold pieces of the vocabulary; a word of several pieces "
                f"is not one. Received: banned[{place}]={text!r}"
            )
        banned_ids |= ids
    return sorted(banned_ids)


def read_terms(
    preprocessor: Any,
    terms: Mapping[str, str] | Sequence[Mapping[str, str]],
    texts: Sequence[str],
    max_length: int | None,
    banned_ids: Sequence[int],
) -> list[list[list[int]]]:
    """Returns the ids of each text's terms; see `read_constraints`."""
    tables = [terms] * len(texts) if isinstance(terms, Mapping) else list(terms)
    if len(tables) != len(texts):
        raise ValueError(
            "`terms` must be one dict, or hold as many as there are texts. "
            f"Received: {len(tables)} dicts and {len(texts)} texts"
        )
    for table in tables:
        if not isinstance(table, Mapping):
            raise TypeError(
                "`terms` must be a dict of source words and what translates them, or a "
                f"list of such dicts. Received: {describe(table)}"
            )
        for source in table:
            if not isinstance(source, str):
                raise TypeError(
                    f"A key of `terms` must be a str. Received: {describe(source)}"
                )
            if not source.strip():
                raise ValueError(
                    f"A key of `terms` must not be blank. Received: {source!r}"
                )
    known: dict[str, list[int]] = {}
    for target in {target for table in tables for target in table.values()}:
        [ids] = preprocessor.encode_targets(check_texts([target], "terms"))
        if not ids or UNKNOWN_ID in ids or set(ids) & set(banned_ids):
            raise ValueError(
                "A term must have pieces, known to the vocabulary and not banned. "
                f"Received: {target!r}"
            )
        known[target] = ids
    found = []
    for place, (table, text) in enumerate(zip(tables, texts, strict=True)):
        targets = [
            target
            for source, target in table.items()
            if re.search(_word(composed(source)), composed(text))
        ]
        found.append([known[target] for target in dict.fromkeys(targets)])
        size = sum(map(len, found[-1]))
        if max_length is not None and size >= max_length:
            raise ValueError(
                "Terms must have fewer pieces than `max_length`, which counts the end "
                f"token. Received: {size} pieces for texts[{place}], "
                f"max_length={max_length}"
            )
    return found


def _word(source):
    """A pattern for it as whole words, where its script has spaces between words."""
    before = "" if UNSPACED.match(source[0]) else r"(?<!\w)"
    after = "" if UNSPACED.match(source[-1]) else r"(?!\w)"
    return before + re.escape(source) + after


def source_words(
    preprocessor: Any, texts: Sequence[str], sources: Sequence[Sequence[int]]
) -> list[list[str]]:
    """Returns the word around each piece of each text.

    Args:
        preprocessor: a `zoo.text.TranslatorPreprocessor`.
        texts: the texts.
        sources: their ids; an end token has no word.
    """
    results = []
    for pieces, ids in zip(preprocessor.surfaces(texts), sources, strict=True):
        words, starts = words_of(pieces)
        places = range(len(ids) - bool(preprocessor.source_end))
        results.append([words[bisect.bisect(starts, place) - 1] for place in places])
    return results


def replace_unknown_tokens(
    text: str,
    tokens: list[str],
    weights: np.ndarray,
    words: Sequence[str],
    prefix: Sequence[str] = (),
) -> tuple[str, list[str]]:
    """Replaces each unknown token by the source word with the highest attention.

    Args:
        text: the translation.
        tokens: its pieces.
        weights: its alignment, `(len(tokens), S)`.
        words: the word around each source piece; empty to keep unknown tokens.
        prefix: the pieces of its prefix, as the caller wrote them.

    Returns:
        `(text, tokens)`, unchanged if nothing is unknown, or nothing was attended to.
    """
    new = [*prefix, *tokens[len(prefix) :]]
    for place, row in enumerate(weights[:, : len(words)]):
        if new[place] == _UNKNOWN and row.any():
            word = words[int(row.argmax())]
            joined = place and new[place - 1] == "▁"
            new[place] = word if joined else f"▁{word}"
    if new == tokens:
        return text, tokens
    pieces = (_TEXT_OF.get(piece, piece) for piece in new)
    return "".join(pieces).replace("▁", " ").strip(), new
