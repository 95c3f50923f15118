"""The methods of a translator that take text: `Translating`."""

from zoo.decoding import forced
from zoo.decoding.translate import translate


class Translating:
    """The methods of a `zoo.models.Translator`, and of a `zoo.decoding.Ensemble`, that
    take text: they need a `backbone` and a `preprocessor`.

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
        texts,
        beam_size=5,
        length_penalty=1.0,
        coverage_penalty=0.0,
        n_best=1,
        max_length=None,
        return_details=False,
        batch_size=64,
        length_normalization="gnmt",
        min_length=0,
        prefix=None,
        banned=(),
        replace_unknown=False,
    ):
        """Translates text.

        Args:
            texts: a str, or a list of str.
            beam_size: hypotheses kept in beam search; 1 is greedy search.
            length_penalty: α of the length normalization; 0 for none.
            coverage_penalty: β of Wu et al. 2016, equation 14; 0 for none.
            n_best: how many translations of each text are wanted.
            max_length: longest translation in pieces, the end token included; by
                default twice the source's pieces plus 10.
            return_details: whether records are returned instead of strings.
            batch_size: sentences decoded together. It never changes a result.
            length_normalization: what divides the log-probability of a translation Y:
                "gnmt" ((5 + |Y|) / 6)^α (Wu et al. 2016, equation 14), "plain" |Y|^α.
            min_length: shortest translation in pieces, the end token included.
            prefix: what translations begin with: a str, or a list of one for each text,
                "" where it is free. The search goes on behind its last piece, within a
                word too. Its log-probability counts; that of a blank text is unused.
                The default `max_length` counts from its end.
            banned: pieces that are never written (except in a prefix), each as a
                record's `tokens` have it or as a word, "Hund" for "▁Hund". A word can
                still be spelled with smaller pieces. "<unk>" is one too.
            replace_unknown: whether each `<unk>` becomes the source word of the highest
                attention (Luong et al. 2015, section 4), in a record's tokens too. A
                model without attention keeps it.

        Returns:
            For a str a str, for a list a list; a list of at most `n_best` of them,
            best first, for each text if `n_best` > 1. With details,
            `zoo.decoding.Translation` records of text, score, tokens, source_tokens
            and alignment (target tokens × source tokens, a NumPy array), which their
            `plot()` draws; of local attention also of p_t and its windows.

        Raises:
            TypeError: for a text or prefix that is not a str; its position is named.
            ValueError: for a beam, penalty, length or count that is out of range, a
                prefix that leaves no room within `max_length`, another number of
                prefixes than of texts, a banned piece that the vocabulary has not, or
                without a preprocessor.
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
            replace_unknown=replace_unknown,
        )

    def score(self, sources, targets, per_token=False, batch_size=64):
        """Log-probability of given translations, log P(target | source).

        The end token counts. A source is cut as in `translate`, a target behind 511
        pieces, both with a warning.

        Args:
            sources: a str, or a list of str, none of them blank.
            targets: a str, or a list of as many str, each of which is cut into pieces
                as in training. In the place of a str a `zoo.decoding.Translation` may
                stand: then its own pieces are scored, so that what `translate` found
                with `length_penalty=0` gets the score that it has. They must be of the
                vocabulary: words put in by `replace_unknown` are not.
            per_token: whether the tokens' log-probabilities are wanted, not their sum.
            batch_size: sentences read together. It never changes a result.

        Returns:
            A float for a str, a list of floats for a list. Per token, a NumPy array
            `(tokens + 1,)` in the place of a float: the last is the end token's.

        Raises:
            TypeError: for a text that is not a str; its position is named.
            ValueError: for lists of unlike length, a blank source, a record's token
                that the vocabulary has not, or without a preprocessor.
        """
        return forced.score(self, sources, targets, per_token, batch_size)

    def align(self, sources, targets, batch_size=64):
        """The alignment of given translations.

        Args:
            sources, targets, batch_size: as in `score`.

        Returns:
            A `zoo.decoding.Translation` for a str, a list of them for a list: with the
            alignment (which its `plot()` draws), the log-probability as the score, and
            those of the tokens as `log_probs`. Where a target was cut, see `score`, its
            text is whole and its tokens are the first ones.

        Raises:
            TypeError, ValueError: as `score` does.
        """
        return forced.align(self, sources, targets, batch_size)

    def perplexity(self, sources, targets, batch_size=64):
        """exp of the mean negative log-likelihood of all pieces and end tokens.

        Perplexities of models with unlike tokenizers are not to be compared.

        Args:
            sources, targets, batch_size: as in `score`; targets are cut as there.

        Returns:
            A float.

        Raises:
            TypeError, ValueError: as `score` does; ValueError without texts.
        """
        return forced.perplexity(self, sources, targets, batch_size)

    # === The backbone ===
    def encode(self, source_ids):
        """See `zoo.models.Seq2SeqBackbone.encode`."""
        return self.backbone.encode(source_ids)

    def start(self, memory):
        """See `zoo.models.Seq2SeqBackbone.start`."""
        return self.backbone.start(memory)

    def start_for(self, memory, length):
        """See `zoo.models.Seq2SeqBackbone.start_for`."""
        return self.backbone.start_for(memory, length)

    def step(self, token_ids, state, memory):
        """See `zoo.models.Seq2SeqBackbone.step`."""
        return self.backbone.step(token_ids, state, memory)
