"""`Translating`, the methods of a translator that take text. Imports no Keras."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zoo.checks import integer, positive
from zoo.decoding.batch_decoding import (
    BatchDecoder,
    align_ids,
    check_max_length,
    nest_results,
    perplexity_from,
    score_ids,
    search_ids,
    total,
)
from zoo.decoding.batches import LONGEST
from zoo.decoding.constraints import (
    read_constraints,
    replace_unknown_tokens,
    source_words,
)
from zoo.decoding.records import Translation
from zoo.ids import UNKNOWN_ID
from zoo.strings import check_texts, plain_texts, read_texts
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
        terms: Mapping[str, str] | Sequence[Mapping[str, str]] | None = None,
        replace_unknown: bool = False,
        no_repeat_ngram_size: int | None = 0,
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
        if max_length is not None:
            integer("max_length", max_length, 1)
        given = read_constraints(preprocessor, texts, max_length, prefix, banned, terms)
        search = self.search_class(
            beam_size,
            length_penalty,
            coverage_penalty,
            n_best,
            length_normalization,
            min_length,
            given.banned_ids,
            no_repeat_ngram_size=no_repeat_ngram_size,
        )
        check_max_length(search, max_length)
        integer("batch_size", batch_size, 1)
        sources = preprocessor.encode(texts)
        found = search_ids(
            self,
            sources,
            search,
            max_length,
            batch_size,
            given.prefixes,
            given.completions,
            given.terms,
        )
        rows = [(i, ids, score) for i, best in enumerate(found) for ids, score in best]
        words = {}
        if replace_unknown:
            unknown = sorted({i for i, ids, _ in rows if UNKNOWN_ID in ids})
            read = [[column[i] for i in unknown] for column in (texts, sources)]
            words = dict(zip(unknown, source_words(preprocessor, *read), strict=True))
        written = self._written(
            sources, rows, return_details, batch_size, words, given.surfaces
        )
        return nest_results(rows, written, len(texts), n_best, single)

    def _written(self, sources, rows, details, batch_size, words, prefixes):
        """The text or record of each hypothesis `(i, ids, score)` of source i.

        Unknown tokens become the `words` of their source, or those of their prefix.
        """
        preprocessor = self.preprocessor
        texts = preprocessor.decode([ids for _, ids, _ in rows])
        aligned = [
            n
            for n, (i, ids, _) in enumerate(rows)
            if details or (UNKNOWN_ID in ids and (i in words or i in prefixes))
        ]
        alignments = align_ids(
            self,
            [sources[rows[n][0]] for n in aligned],
            [rows[n][1] for n in aligned],
            batch_size,
        )
        for n, alignment in zip(aligned, alignments, strict=True):
            i, ids, score = rows[n]
            text, tokens = replace_unknown_tokens(
                texts[n],
                preprocessor.pieces(ids),
                alignment[0],
                words.get(i, ()),
                prefixes.get(i, ()),
            )
            if details:
                source = preprocessor.pieces(sources[i])
                text = Translation(text, score, tokens, source, *alignment)
            texts[n] = text
        return texts

    def score(
        self, sources: Any, targets: Any, per_token: bool = False, batch_size: int = 64
    ) -> Any:
        """Computes the log-probability of given translations, log P(target | source).

        The end token counts. A source is cut as in `translate`, a target after 511
        pieces, both with a warning.

        Args:
            sources: a str, or a list of str, none of them blank.
            targets: a str, or a list of as many str, split into pieces as in training.
                A `zoo.decoding.Translation` instead of a str has its own pieces scored,
                so that a result of `translate` with `length_penalty=0` keeps its score.
                The pieces must be in the vocabulary, unlike words from
                `replace_unknown`.
            per_token: whether to return the tokens' log-probabilities instead of their
                sum.
            batch_size: sentences read together. It never changes a result.

        Returns:
            A float for a str, a list of floats for a list. Per token, arrays
            `(tokens + 1,)` instead of floats, the end token's last.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for lists of different lengths, a blank source, a record's token
                that is not in the vocabulary, or without a preprocessor.
        """
        sources, _, source_ids, target_ids = self._given(sources, targets, batch_size)
        rows = score_ids(self, source_ids, target_ids, batch_size)
        scores = rows if per_token else [total(row) for row in rows]
        return scores[0] if isinstance(sources, str) else scores

    def align(self, sources: Any, targets: Any, batch_size: int = 64) -> Any:
        """Computes the alignment of given translations.

        It takes the arguments of `score`, and raises the same errors.

        Returns:
            A `zoo.decoding.Translation` for a str, a list of them for a list, with the
            alignment (which `plot()` draws), the log-probability as the score, and
            those of the tokens as `log_probs`. If a target was cut, its text is whole
            and its tokens are the first ones.
        """
        sources, texts, *pairs = self._given(sources, targets, batch_size)
        log_probs = score_ids(self, pairs[0], pairs[1], batch_size)
        alignments = align_ids(self, pairs[0], pairs[1], batch_size)
        pieces = self.preprocessor.pieces
        records = [
            Translation(  # type: ignore[misc]  # the alignment's fields come before
                text, total(row), pieces(target), pieces(source), *found, log_probs=row
            )
            for text, source, target, row, found in zip(
                texts, *pairs, log_probs, alignments, strict=True
            )
        ]
        return records[0] if isinstance(sources, str) else records

    def perplexity(self, sources: Any, targets: Any, batch_size: int = 64) -> float:
        """Computes exp of the mean negative log-likelihood of pieces and end tokens.

        It takes the arguments of `score`, and raises the same errors, as well as a
        ValueError without texts. Perplexities of models with different tokenizers are
        not comparable.
        """
        *_, source_ids, target_ids = self._given(sources, targets, batch_size)
        log_probs = score_ids(self, source_ids, target_ids, batch_size)
        if not log_probs:
            raise ValueError("There must be a translation. Received: none")
        return perplexity_from(sum(map(total, log_probs)), sum(map(len, log_probs)))

    def _given(self, sources, targets, batch_size):
        """The sources, the texts of the targets, and the ids of both."""
        positive("batch_size", batch_size)
        preprocessor = needed_preprocessor(self, "Reading a translation")
        sources, targets = plain_texts(sources), plain_texts(targets)
        single = isinstance(targets, (str, Translation))
        if isinstance(sources, str) != single:
            raise ValueError(
                "sources and targets must both be one text or both be lists. "
                f"Received: {type(sources).__name__} and {type(targets).__name__}"
            )
        source_texts = check_texts(sources, "sources")
        if single:
            targets = [targets]
        elif not isinstance(targets, (list, tuple)):
            targets = check_texts(targets, "targets")
        texts = [x.text if isinstance(x, Translation) else x for x in targets]
        texts = check_texts(texts, "targets")
        if len(source_texts) != len(texts):
            raise ValueError(
                "sources and targets must hold equally many texts. "
                f"Received: {len(source_texts)} and {len(texts)}"
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
        return sources, texts, source_ids, target_ids


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
