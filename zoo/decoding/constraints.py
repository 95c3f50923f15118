"""Constraints on a translation's words: a beginning, no word of some, none that
is unknown."""

import bisect
import sys

from zoo.decoding.batches import LONGEST
from zoo.strings import check_texts
from zoo.text.pieces import words_of
from zoo.text.tokenizer import UNKNOWN_ID

_UNKNOWN = "<unk>"
_TEXT_OF = {_UNKNOWN: " ⁇ ", "<pad>": "", "<s>": ""}  # as SentencePiece has it


def read_prefixes(preprocessor, prefix, count, max_length):
    """The ids of the prefixes of `count` translations.

    Args:
        preprocessor: a `zoo.text.TranslatorPreprocessor`.
        prefix: None, a str for all translations, or a list of `count` str.
        count: int.
        max_length: longest translation in pieces, the end token included, or None.

    Returns:
        A list of lists of int, or None.

    Raises:
        TypeError: for a prefix that is not a str.
        ValueError: for another number of prefixes, or one that is too long.
    """
    if prefix is None:
        return None
    single = isinstance(prefix, str)
    texts = check_texts([prefix] if single else prefix, "prefix")
    if not single and len(texts) != count:
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
    return rows * count if single else rows


def unknown_beginnings(preprocessor, prefix, rows):
    """The text of prefixes in the place of their unknown pieces.

    Args:
        preprocessor, prefix: as in `read_prefixes`.
        rows: what it returned.

    Returns:
        For each translation the pieces of its prefix as the text has them; an empty
        list where all are known.
    """
    if not any(UNKNOWN_ID in row for row in rows or ()):
        return [[] for _ in rows or ()]
    texts = [prefix] * len(rows) if isinstance(prefix, str) else prefix
    found = preprocessor.tokenizer.surfaces(texts)
    return [f if UNKNOWN_ID in row else [] for f, row in zip(found, rows, strict=True)]


def read_banned(preprocessor, banned):
    """The ids of pieces and words that are never to be written.

    Args:
        preprocessor: a `zoo.text.TranslatorPreprocessor`.
        banned: a str or a list of str: a piece, or a word, which is the piece of that
            name with and without the "▁" that begins a word.

    Returns:
        A list of int.

    Raises:
        TypeError: for what is not a str.
        ValueError: for one that the vocabulary does not have.
    """
    tokenizer, found = preprocessor.tokenizer, set()
    for place, text in enumerate(check_texts(banned, "banned")):
        pieces = (text, f"▁{text}") if text else ()
        ids = {tokenizer.token_to_id(piece) for piece in pieces}  # of none: <unk>'s
        ids = {x for x in ids if tokenizer.id_to_token(x) in pieces}
        if not ids:
            raise ValueError(
                "`banned` must hold pieces of the vocabulary; a word of several pieces "
                f"is none. Received: banned[{place}]={text!r}"
            )
        found |= ids
    return sorted(found)


def source_words(preprocessor, texts, sources):
    """For each text a list of the words that the pieces read are part of: those of
    `sources`, lists of ids, without their end token."""
    found = []
    for pieces, ids in zip(
        preprocessor.tokenizer.surfaces(texts), sources, strict=True
    ):
        words, starts = words_of(pieces)
        places = range(len(ids) - bool(preprocessor.source_end))
        found.append([words[bisect.bisect(starts, place) - 1] for place in places])
    return found


def put_words_in(text, tokens, weights, words, begun=()):
    """Puts the source word of highest attention in the place of each unknown token.

    Args:
        text: the translation.
        tokens: list of its pieces.
        weights: its alignment, `(len(tokens), S)`.
        words: for each source piece its word; none where unknown tokens stay.
        begun: the pieces of its prefix as the caller wrote them.

    Returns:
        `(text, tokens)`, as they came where nothing is unknown, or nothing attended to.
    """
    new = [*begun, *tokens[len(begun) :]]
    for place, row in enumerate(weights[:, : len(words)]):
        if new[place] == _UNKNOWN and row.any():
            word = words[int(row.argmax())]
            joined = place and new[place - 1] == "▁"
            new[place] = word if joined else f"▁{word}"
    if new == tokens:
        return text, tokens
    pieces = (_TEXT_OF.get(piece, piece) for piece in new)
    return "".join(pieces).replace("▁", " ").strip(), new
