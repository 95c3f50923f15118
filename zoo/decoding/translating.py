"""`Translating`, the methods of a translator that take text. Imports no Keras."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from zoo.backend import Tensor
from zoo.decoding import forced
from zoo.decoding.translate_texts import translate


class Engine(NamedTuple):
    """The functions of arrays with which `Translating` computes.

    Attributes:
        search: the class of its searches, a `zoo.decoding.search.Search`.
        scores: function of a model that returns a function `(source_ids, target_ids,
            labels) -> [log_probs]` of int arrays `(B, S)`, `(B, T)` and `(B, T)`.
        alignments: the same with `[weights]`, or `[weights, focus, windows]`; see
            `zoo.models.Seq2SeqBackbone.align_details`.
        map: function that applies a function to batches, as Python's `map` does.
    """

    search: Any
    scores: Callable[[Any], Callable[..., list[Any]]]
    alignments: Callable[[Any], Callable[..., list[Any]]]
    map: Callable[[Callable[..., Any], Iterable[Any]], Iterable[Any]] = map


class Stepping:
    """A task whose `encode`, `start` and `step` are those of its backbone."""

    backbone: Any

    def encode(self, source_ids: Tensor) -> Any:
        """See `zoo.models.Seq2SeqBackbone.encode`."""
        return self.backbone.encode(source_ids)

    def start(self, memory: Any) -> Any:
        """See `zoo.models.Seq2SeqBackbone.start`."""
        return self.backbone.start(memory)

    def start_for(self, memory: Any, length: int) -> Any:
        """See `zoo.models.Seq2SeqBackbone.start_for`."""
        return self.backbone.start_for(memory, length)

    def step(self, token_ids: Tensor, state: Any, memory: Any) -> Any:
        """See `zoo.models.Seq2SeqBackbone.step`."""
        return self.backbone.step(token_ids, state, memory)


class Translating(Stepping):
    """The text methods of a `zoo.models.Translator` or `zoo.decoding.Ensemble`.

    They need a `backbone`, a `preprocessor` and an `engine`.

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

    backbone: Any
    preprocessor: Any
    engine: Engine

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
        return translate(
            self,
            texts,
            beam_size=beam_size,
            length_penalty=length_penalty,
            coverage_penalty=coverage_penalty,
            n_best=n_best,
            max_length=max_length,
            return_details=return_details,
            batch_size=batch_size,
            length_normalization=length_normalization,
            min_length=min_length,
            prefix=prefix,
            banned=banned,
            terms=terms,
            replace_unknown=replace_unknown,
        )

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
        return forced.score(self, sources, targets, per_token, batch_size)

    def align(self, sources: Any, targets: Any, batch_size: int = 64) -> Any:
        """Computes the alignment of given translations.

        It takes the arguments of `score`, and raises the same errors.

        Returns:
            A `zoo.decoding.Translation` for a str, a list of them for a list, with the
            alignment (which `plot()` draws), the log-probability as the score, and
            those of the tokens as `log_probs`. If a target was cut, its text is whole
            and its tokens are the first ones.
        """
        return forced.align(self, sources, targets, batch_size)

    def perplexity(self, sources: Any, targets: Any, batch_size: int = 64) -> float:
        """Computes exp of the mean negative log-likelihood of pieces and end tokens.

        It takes the arguments of `score`, and raises the same errors, as well as a
        ValueError without texts. Perplexities of models with different tokenizers are
        not comparable.
        """
        return forced.perplexity(self, sources, targets, batch_size)
