"""`Translating`, the methods of a translator that take text. Imports no Keras."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zoo.decoding.batch_decoding import (
    BatchDecoder,
    nest_results,
    perplexity_from,
    score_ids,
    search_ids,
    total,
)
from zoo.decoding.batches import LONGEST
from zoo.decoding.constraints import (
    read_banned,
    read_prefixes,
    read_terms,
    replace_unknown_words,
    source_words,
)
from zoo.decoding.records import Translation
from zoo.ids import UNKNOWN_ID
from zoo.strings import check_texts, describe, plain_texts, read_texts
from zoo.text.rows import cut_rows
from zoo.text.translation_arrays import needed_preprocessor


def translate(model: Any, texts: Any, **options: Any) -> Any:
    """Translates texts with a model: `model.translate(texts, **options)`."""
    return model.translate(texts, **options)


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
        length_normalization: str = "gnmt",
        min_length: int = 0,
        prefix: str | Sequence[str] | None = None,
        banned: str | Iterable[str] = (),
        terms: Mapping[str, str] | Iterable[Mapping[str, str]] | None = None,
        replace_unknown: bool = False,
        no_repeat_ngram_size: int = 0,
    ) -> Any:
        """Translates text.

        Args:
            texts: a str, or a list of str.
            beam_size: hypotheses kept in beam search; 1 is greedy search.
            length_penalty: α of the length normalization; 0 disables it.
            coverage_penalty: β of Wu et al. 2016, equation 14; 0 disables it.
            n_best: translations per text.
            max_length: maximum pieces of a translation, the end token included.
                Default: twice the source's pieces plus 10.
            return_details: whether to return records instead of strings.
            batch_size: sentences decoded together. It never changes a result.
            length_normalization: divisor of the log-probability of a translation Y:
                "gnmt" ((5 + |Y|) / 6)^α (Wu et al. 2016, equation 14), "plain" |Y|^α.
            min_length: minimum pieces of a translation, the end token included.
            prefix: the beginning of the translations: a str, or a list of one for each
                text, "" for none. Its last word may go on: "Zw" may become "Zwei", by
                whichever pieces are likely; after a space at its end it does not. Its
                log-probability counts, and the default `max_length` starts at its end.
                A blank text's prefix is unused.
            banned: pieces to avoid (except in a prefix), as in a record's `tokens` or
                as words, "Hund" for "▁Hund". A word can still be spelled with smaller
                pieces. "<unk>" can be banned too.
            terms: words of the source and what must translate them, {"street":
                "Straße"}: a dict for all texts, or a list of one for each. If a text
                has the word, spelled as here, its translation has the pieces of the
                other in a row. It is the search of Post & Vilar 2018; for each of these
                pieces the beam has one more place.
            replace_unknown: whether each `<unk>` becomes the source word with the
                highest attention (Luong et al. 2015, section 4), in a record's tokens
                too. Without attention it stays.
            no_repeat_ngram_size: n for which no translation has the same n pieces in a
                row twice, unless a prefix or term asks for it; 0 disables it.

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
                leaves no room within `max_length`, another number of prefixes than of
                texts, a banned piece that is not in the vocabulary, a term that is
                blank, unknown, banned or too long, or without a preprocessor.
        """
        preprocessor = needed_preprocessor(self, "`translate`")
        texts, single = read_texts(texts)
        free = isinstance(banned, tuple) and not banned
        banned_ids = () if free else read_banned(preprocessor, banned)
        search = self.search_class(
            beam_size,
            length_penalty,
            coverage_penalty,
            n_best,
            length_normalization,
            min_length,
            banned_ids,
            no_repeat_ngram_size=no_repeat_ngram_size,
        )
        unknown: Any = [{}] * len(texts)
        given: dict[str, Any] = {}
        if prefix is not None:
            ids, completions, unknown = read_prefixes(preprocessor, prefix, len(texts))
            given = {"prefixes": ids, "completions": completions}
        if terms is not None:
            given["terms"] = read_terms(preprocessor, terms, texts, banned_ids)
        sources = preprocessor.encode(texts)
        found = search_ids(self, sources, search, max_length, batch_size, **given)
        rows = [(i, ids, score) for i, best in enumerate(found) for ids, score in best]
        written = preprocessor.decode([ids for _, ids, _ in rows])
        words: Any = [()] * len(texts)
        if replace_unknown:
            words = source_words(preprocessor, texts, sources)
        chosen = [
            n
            for n, (i, ids, _) in enumerate(rows)
            if return_details or (UNKNOWN_ID in ids and (replace_unknown or unknown[i]))
        ]
        records = self._records(
            [sources[rows[n][0]] for n in chosen],
            [rows[n][1] for n in chosen],
            [written[n] for n in chosen],
            [rows[n][2] for n in chosen],
            batch_size,
        )
        for n, record in zip(chosen, records, strict=True):
            i = rows[n][0]
            record = replace_unknown_words(record, words[i], unknown[i])
            written[n] = record if return_details else record.text
        return nest_results(rows, written, len(texts), n_best, single)

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

    def _record(self, source, ids, text, score, alignment, log_probs):
        tokens, source_tokens = map(self.preprocessor.pieces, (ids, source))
        return Translation(
            text, score, tokens, source_tokens, *alignment, log_probs=log_probs
        )

    def _read_pairs(self, sources, targets):
        preprocessor = needed_preprocessor(self, "Reading a translation")
        source_texts, single = read_texts(sources, "sources")
        given = plain_texts(targets)
        one = isinstance(given, (str, Translation))
        targets = [given] if one else given
        if not isinstance(targets, list):
            targets = check_texts(targets, "targets")
        texts = [x.text if isinstance(x, Translation) else x for x in targets]
        texts = check_texts(texts, "targets")
        if len(source_texts) != len(texts) or single != one:
            raise ValueError(
                "sources and targets must both be one text, or lists of equally many. "
                f"Received: {len(source_texts)} in {describe(sources)} and "
                f"{len(texts)} in {describe(given)}"
            )
        source_ids = preprocessor.encode(source_texts)
        for place, ids in enumerate(source_ids):
            if not ids:
                raise ValueError(
                    f"sources[{place}] must not be blank: nothing is translated then. "
                    f"Received: {source_texts[place]!r}"
                )
        # Targets with too many pieces are cut, with a warning. The pieces of a record
        # count, which may differ from those of its text.
        records = {i: x for i, x in enumerate(targets) if isinstance(x, Translation)}
        plain = ["" if i in records else text for i, text in enumerate(texts)]
        target_ids = preprocessor.encode_targets(plain, length=LONGEST)
        rows = [_own_ids(preprocessor.tokenizer, x, i) for i, x in records.items()]
        for i, ids in zip(records, cut_rows(rows, LONGEST - 1, "pieces"), strict=True):
            target_ids[i] = ids
        return source_ids, texts, target_ids, single


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
