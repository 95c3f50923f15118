"""The methods of translators and captioners that take text and images. No Keras."""

import bisect
import dataclasses
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from zoo.decoding.batch_decoding import (
    BatchDecoder,
    perplexity_from,
    score_ids,
    search_ids,
    total,
)
from zoo.decoding.records import Caption, Translation
from zoo.ids import UNKNOWN_ID
from zoo.images import read_images
from zoo.strings import check_texts
from zoo.text.rows import LONGEST
from zoo.text.translation_arrays import needed_preprocessor
from zoo.text.word_splitting import words_of

_UNKNOWN = "<unk>"
_TEXT_OF = {_UNKNOWN: " ⁇ ", "<pad>": "", "<s>": ""}  # as SentencePiece has it


class Translating(BatchDecoder):
    """The text methods of a `zoo.models.Translator` or `zoo.decoding.Ensemble`.

    Example:
        >>> from zoo.models import Luong, LuongPreprocessor, LuongTranslator
        >>> from zoo.text import Tokenizer, train_tokenizer
        >>> tokenizer = Tokenizer(train_tokenizer(["a dog", "ein hund"], 14))
        >>> backbone = Luong(14, num_layers=1, hidden_dim=8, embedding_dim=4)
        >>> model = LuongTranslator(backbone, LuongPreprocessor(tokenizer))
        >>> record = model.translate("a dog", max_length=5, return_details=True)
        >>> record.alignment.shape == (len(record.tokens), len(record.source_tokens))
        True
        >>> score = model.score("a dog", "ein hund")
        >>> log_probs = model.score("a dog", "ein hund", per_token=True)
        >>> abs(score - sum(log_probs.tolist())) < 1e-4
        True
        >>> model.perplexity(["a dog"], ["ein hund"]) > 1
        True
        >>> model.align("a dog", "ein hund").text
        'ein hund'
    """

    def translate(
        self,
        texts: Any,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        coverage_penalty: float = 0.0,
        n_best: int = 1,
        max_length: int | None = None,
        return_details: bool = False,
        batch_size: int = 64,
        min_length: int = 0,
        prefix: str | Sequence[str] | None = None,
        banned: str | Iterable[str] | None = None,
        replace_unknown: bool = False,
        no_repeat_ngram_size: int = 0,
    ) -> Any:
        """Translates text.

        Args:
            texts: a str, or a list of str.
            beam_size: hypotheses kept in beam search; 1 is greedy search.
            length_penalty: α of the length normalization, ((5 + |Y|) / 6)^α (Wu et al.
                2016, equation 14); 0 disables it.
            coverage_penalty: β of the same equation; 0 disables it.
            n_best: translations per text.
            max_length: maximum pieces of a translation, the end token included.
                Default: twice the source's pieces plus 10.
            return_details: whether to return records instead of strings.
            batch_size: sentences decoded together. It never changes a result.
            min_length: minimum pieces of a translation, the end token included.
            prefix: the beginning of the translations, in whole words: a str, or a list
                of one for each text, "" for none. Its log-probability counts, and the
                default `max_length` starts at its end. A blank text's prefix is unused.
            banned: pieces to avoid (except in a prefix), as in a record's `tokens` or
                as words, "Hund" for "▁Hund". A word can still be spelled with smaller
                pieces. "<unk>" can be banned too.
            replace_unknown: whether each `<unk>` becomes the source word with the
                highest attention (Luong et al. 2015, section 4), in a record's tokens
                too. Without attention it stays.
            no_repeat_ngram_size: n for which no translation has the same n pieces in a
                row twice, unless a prefix asks for it; 0 disables it.

        Returns:
            A str for a str, a list for a list; with `n_best` > 1, a list of at most
            `n_best` of them per text, best first. With details,
            `zoo.decoding.Translation` records of text, score, tokens, source_tokens and
            alignment (target tokens × source tokens, a NumPy array), which `plot()`
            draws; for local attention also p_t and its windows.

        Raises:
            TypeError: for a text or prefix that is not a str; the message gives its
                position.
            ValueError: for a beam, penalty, length or count out of range, a prefix that
                is unknown to the vocabulary or leaves no room within `max_length`,
                another number of prefixes than of texts, a banned piece that is not in
                the vocabulary, or without a preprocessor.
        """
        preprocessor = needed_preprocessor(self, "`translate`")
        single, texts = isinstance(texts, str), check_texts(texts)
        search = self.search_class(
            beam_size,
            length_penalty,
            coverage_penalty,
            n_best,
            min_length,
            () if banned is None else _read_banned(preprocessor, banned),
            no_repeat_ngram_size=no_repeat_ngram_size,
        )
        prefixes = None
        if prefix is not None:
            prefixes = _read_prefixes(preprocessor, prefix, len(texts))
        sources = preprocessor.encode(texts)
        found = search_ids(self, sources, search, max_length, batch_size, prefixes)
        words = source_words(preprocessor, texts, sources) if replace_unknown else None

        def mend(i, record):
            return _replace_unknown(record, words[i])

        output = n_best, single, return_details, batch_size
        return self._write(found, sources, *output, mend if words else None)

    def perplexity(self, sources: Any, targets: Any, batch_size: int = 64) -> float:
        """Computes exp of the mean negative log-likelihood of pieces and end tokens.

        It takes the arguments of `score`, and raises the same errors, as well as a
        ValueError without texts. Perplexities of models with different tokenizers are
        not comparable.
        """
        sources, _, ids, _ = self._read_pairs(sources, targets)
        log_probs = score_ids(self, sources, ids, batch_size)
        if not log_probs:
            raise ValueError("There must be a translation. Received: none")
        return perplexity_from(sum(map(total, log_probs)), sum(map(len, log_probs)))

    def _record(self, alignment, source, ids, text, score, log_probs):
        tokens, source_tokens = map(self.preprocessor.pieces, (ids, source))
        return Translation(
            text, score, tokens, source_tokens, *alignment, log_probs=log_probs
        )

    def _read_pairs(self, sources, targets):
        preprocessor = needed_preprocessor(self, "Reading a translation")
        texts, single = check_texts(sources, "sources"), isinstance(sources, str)
        source_ids = preprocessor.encode(texts)
        targets = _read_targets(targets, single, len(texts))
        for place, ids in enumerate(source_ids):
            if not ids:
                raise ValueError(
                    f"sources[{place}] must not be blank: nothing is translated then. "
                    f"Received: {texts[place]!r}"
                )
        target_ids = preprocessor.encode_targets(targets, length=LONGEST)
        return source_ids, targets, target_ids, single


class Captioning(BatchDecoder):
    """The methods of a captioner that take images."""

    def caption(
        self,
        images: Any,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        n_best: int = 1,
        max_length: int | None = None,
        return_details: bool = False,
        batch_size: int = 32,
        min_length: int = 0,
    ) -> Any:
        """Describes images.

        Args:
            images: one image, or a list of them: a path, a PIL image, or an array
                `(height, width)` or `(height, width, channels)`, of integers from 0 to
                255 or of floats from 0 to 1, grey or RGB. An array with an axis before
                these holds several. Of an image of another size the largest middle part
                of the model's proportions is scaled to it; what is transparent is
                white.
            beam_size: hypotheses kept in beam search; 1 is greedy search.
            length_penalty: α of the length normalization; 0 disables it.
            n_best: captions per image.
            max_length: maximum pieces of a caption, the end token included. Default:
                the preprocessor's `target_length`.
            return_details: whether to return records instead of strings.
            batch_size: images read together. It never changes a result.
            min_length: minimum pieces of a caption, the end token included.

        Returns:
            A str for one image, a list for several; with `n_best` > 1, a list of at
            most `n_best` of them per image, best first. With details,
            `zoo.decoding.Caption` records, whose `plot()` lays the attention over the
            image, word by word.

        Raises:
            TypeError: for what is no image; the message gives its position.
            ValueError: for an image of another shape or range, an option out of range,
                or without a preprocessor.
            FileNotFoundError: if a file is not there.
            ImportError: without Pillow, for a file or an image of another size.
        """
        preprocessor = needed_preprocessor(self, "`caption`")
        search = self.search_class(
            beam_size, length_penalty, n_best=n_best, min_length=min_length
        )
        if max_length is None:
            max_length = max(preprocessor.target_length, search.min_length)
        arrays: Any
        arrays, single = read_images(images, preprocessor.image_shape)
        found = search_ids(self, arrays, search, max_length, batch_size)
        return self._write(found, arrays, n_best, single, return_details, batch_size)

    def _record(self, alignment, source, ids, text, score, log_probs):
        weights = alignment[0].reshape(-1, *self.backbone.grid)
        pieces = self.preprocessor.pieces(ids)
        return Caption(text, score, pieces, source, weights, log_probs)

    def _read_pairs(self, images, captions):
        preprocessor = needed_preprocessor(self, "Reading a caption")
        arrays, single = read_images(images, preprocessor.image_shape)
        texts = _read_targets(captions, single, len(arrays))
        return arrays, texts, preprocessor.encode_targets(texts), single


def _read_targets(targets, single, count):
    texts = check_texts(targets, "targets")
    if len(texts) != count or single != isinstance(targets, str):
        raise ValueError(
            "There must be one source and one target, or lists of equally many. "
            f"Received: {count} sources and {len(texts)} targets"
        )
    return texts


# === Constraints ===


def _read_prefixes(preprocessor, prefix, count):
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


def _read_banned(preprocessor, banned):
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


# === Unknown words ===


def source_words(
    preprocessor: Any, texts: Sequence[str], sources: Sequence[Sequence[int]]
) -> list[list[str]]:
    """Returns the word around each piece of each text, without end tokens."""
    results = []
    for pieces, ids in zip(preprocessor.surfaces(texts), sources, strict=True):
        words, starts = words_of(pieces)
        places = range(len(ids) - bool(preprocessor.source_end))
        results.append([words[bisect.bisect(starts, place) - 1] for place in places])
    return results


def _replace_unknown(record, words):
    """Replaces unknown tokens by the `words` around the most attended source pieces."""
    new = list(record.tokens)
    for place, row in enumerate(record.alignment[:, : len(words)]):
        if new[place] == _UNKNOWN and row.any():
            word = words[int(row.argmax())]
            joined = place and new[place - 1] == "▁"
            new[place] = word if joined else f"▁{word}"
    if new == record.tokens:  # nothing unknown, or nothing attended to
        return record
    pieces = (_TEXT_OF.get(piece, piece) for piece in new)
    text = "".join(pieces).replace("▁", " ").strip()
    return dataclasses.replace(record, text=text, tokens=new)
