"""Constraints on translations: prefixes, banned words, terms, unknown words."""

import bisect
import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zoo.decoding.records import Translation
from zoo.ids import UNKNOWN_ID
from zoo.strings import check_texts, composed, describe
from zoo.text.word_splitting import UNSPACED, words_of

_UNKNOWN = "<unk>"
_TEXT_OF = {_UNKNOWN: " ⁇ ", "<pad>": "", "<s>": ""}  # as SentencePiece has it


def read_prefixes(
    preprocessor: Any, prefix: str | Iterable[str], count: int
) -> list[list[int]]:
    """Returns the ids with which each of `count` translations begins."""
    texts = check_texts(prefix, "prefix")
    if isinstance(prefix, str):
        texts = texts * count
    elif len(texts) != count:
        raise ValueError(
            "`prefix` must be one str, or hold as many as there are texts. "
            f"Received: {len(texts)} prefixes and {count} texts"
        )
    rows = preprocessor.encode_targets(texts, length=sys.maxsize)
    for text, row in zip(texts, rows, strict=True):
        if UNKNOWN_ID in row:
            raise ValueError(
                f"A prefix must be known to the vocabulary. Received: {text!r}"
            )
    return rows


def read_terms(
    preprocessor: Any,
    terms: Mapping[str, str] | Iterable[Mapping[str, str]],
    texts: Sequence[str],
    banned_ids: Sequence[int],
) -> list[list[int]]:
    """Returns the ids of the terms of each text, the first of each term negative."""
    tables = [terms] * len(texts) if isinstance(terms, Mapping) else list(terms)
    if len(tables) != len(texts):
        raise ValueError(
            "`terms` must be one dict, or hold as many as there are texts. "
            f"Received: {len(tables)} dicts and {len(texts)} texts"
        )
    known: dict[str, list[int]] = {}
    for table in {id(table): table for table in tables}.values():
        if not isinstance(table, Mapping):
            raise TypeError(
                "`terms` must be a dict of source words and what translates them, or a "
                f"list of such dicts. Received: {describe(table)}"
            )
        targets = check_texts(list(table.values()), "terms")
        for source in check_texts(list(table), "the keys of terms"):
            if not source.strip():
                raise ValueError(
                    f"A key of `terms` must not be blank. Received: {source!r}"
                )
        for target, ids in zip(
            targets, preprocessor.encode_targets(targets), strict=True
        ):
            if not ids or {UNKNOWN_ID, *banned_ids} & set(ids):
                raise ValueError(
                    "A term must have pieces, known to the vocabulary and not banned. "
                    f"Received: {target!r}"
                )
            known[target] = [-ids[0], *ids[1:]]
    found = []
    for table, text in zip(tables, map(composed, texts), strict=True):
        chosen = [table[x] for x in table if re.search(_word(composed(x)), text)]
        found.append([x for target in dict.fromkeys(chosen) for x in known[target]])
    return found


def _word(source):
    """A pattern for it as whole words, where its script has spaces between words."""
    before = "" if UNSPACED.match(source[0]) else r"(?<!\w)"
    after = "" if UNSPACED.match(source[-1]) else r"(?!\w)"
    return before + re.escape(source) + after


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


def replace_unknown_words(record: Translation, words: Sequence[str]) -> Translation:
    """Replaces each unknown token by the source word with the highest attention.

    Args:
        record: the translation.
        words: the word around each source piece.

    Returns:
        The record, unchanged if nothing is unknown, or nothing was attended to.
    """
    new = list(record.tokens)
    for place, row in enumerate(record.alignment[:, : len(words)]):
        if new[place] == _UNKNOWN and row.any():
            word = words[int(row.argmax())]
            joined = place and new[place - 1] == "▁"
            new[place] = word if joined else f"▁{word}"
    if new == record.tokens:
        return record
    pieces = (_TEXT_OF.get(piece, piece) for piece in new)
    text = "".join(pieces).replace("▁", " ").strip()
    return dataclasses.replace(record, text=text, tokens=new)
