"""Several translators that decode as one."""

import functools
import math
from collections.abc import Sequence
from typing import Any

from keras import ops

from zoo.decoding.beam import KerasDecoder
from zoo.decoding.translating import Translating


class Ensemble(KerasDecoder, Translating):
    """Translators with one tokenizer, whose probabilities are averaged at each step.

        p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)

    All members read the same hypotheses, and one search uses the mean. They may have
    any architecture and precision. The best rows of Sutskever et al. 2014 (table 1: 5
    models, 34.81 BLEU against 30.59) and of Luong et al. 2015 (section 4, table 1: 8
    models, 23.0 against 20.9) are ensembles.

    An ensemble has what decoding requires of a `zoo.models.Translator`: `translate`,
    `score`, `align` and `perplexity` with their arguments, a `backbone` and a
    `preprocessor` (the one with the smallest `source_length`). The backbone's logits
    are log-probabilities, float32. Its attention weights are the mean over the members
    that have any, otherwise 0.

    Args:
        models: `zoo.models.Translator`s with a preprocessor, all with the same
            SentencePiece model and the same `source_end`.

    Raises:
        ValueError: for anything else.

    Example:
        >>> from zoo.models import Luong, LuongPreprocessor, LuongTranslator
        >>> from zoo.text import Tokenizer, train_tokenizer
        >>> tokenizer = Tokenizer(train_tokenizer(["a dog", "ein hund"], 14))
        >>> models = [
        ...     LuongTranslator(
        ...         Luong(14, num_layers=1, hidden_dim=8, embedding_dim=4, attention=x),
        ...         LuongPreprocessor(tokenizer),
        ...     )
        ...     for x in ("global", "local_p")
        ... ]
        >>> ensemble = Ensemble(models)
        >>> len(ensemble.translate(["a dog", "a hund"], beam_size=2, max_length=5))
        2
    """

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = tuple(models)
        preprocessors: list[Any] = [getattr(x, "preprocessor", None) for x in models]
        read = {x and (x.tokenizer.proto, x.source_end) for x in preprocessors}
        tasks = {getattr(model, "task_name", None) for model in models}
        if tasks != {"translate"} or len(read) != 1 or None in read:
            raise ValueError(
                "`models` must be zoo.models.Translators with preprocessors of one "
                "SentencePiece model and one `source_end`. "
                f"Received: {[type(model).__name__ for model in models]}"
            )
        self.backbone = _Mean([model.backbone for model in models])
        self.preprocessor = min(preprocessors, key=lambda x: x.source_length)


class _Mean:
    """The contract of `zoo.models.seq2seq` over several models.

    Memory and state are tuples of theirs, logits and attention weights are means.
    """

    source_name = "source_ids"

    def __init__(self, models):
        self.models = models  # their backbones

    @property
    def variables(self):
        return [variable for model in self.models for variable in model.variables]

    def encode(self, source_ids):
        return tuple(model.encode(source_ids) for model in self.models)

    def start_for(self, memory, length):
        pairs = zip(self.models, memory, strict=True)
        return tuple(model.start_for(part, length) for model, part in pairs)

    def step(self, token_ids, state, memory):
        outputs = [
            model.step(token_ids, *parts)
            for model, *parts in zip(self.models, state, memory, strict=True)
        ]
        logits, states, weights = zip(*outputs, strict=True)
        return _log_mean(logits), states, _mean_weights(weights)

    def __call__(self, inputs):
        return _log_mean([model(inputs) for model in self.models])

    def align_details(self, source_ids, target_ids):
        # Windows differ between members.
        weights = [model.align(source_ids, target_ids) for model in self.models]
        return (_mean_weights(weights),)


def _log_mean(logits):
    """Returns the logarithm of the mean probability, never that of zero."""
    log_probs = [ops.log_softmax(ops.cast(x, "float32"), axis=-1) for x in logits]
    return functools.reduce(ops.logaddexp, log_probs) - math.log(len(log_probs))


def _mean_weights(weights):
    """Returns the mean of weights `(..., S)`, ignoring members without attention."""
    weights = [ops.cast(x, "float32") for x in weights]
    paid = [ops.any(x > 0, axis=-1, keepdims=True) for x in weights]
    count = sum(ops.cast(x, "float32") for x in paid)
    return sum(weights) / ops.maximum(count, 1.0)
