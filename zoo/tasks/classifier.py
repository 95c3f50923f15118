"""Classifies sentences with a recurrent net."""

import reprlib
from typing import Any

import keras
import keras_hub
import numpy as np

from zoo.decoding.compiled import compiled
from zoo.decoding.word_methods import Classifying
from zoo.models.recurrent_lm import RecurrentClassifier
from zoo.tasks.task_base import TextTask
from zoo.text import SentimentPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentClassifierPreprocessor(SentimentPreprocessor):
    """Strings to ids for `RecurrentClassifier`."""

    backbone_cls = RecurrentClassifier


@keras.saving.register_keras_serializable(package="zoo")
class SentimentClassifier(Classifying, TextTask, keras_hub.models.TextClassifier):
    """Classifies sentences with a `RecurrentClassifier`.

    Args:
        backbone: a `RecurrentClassifier`.
        preprocessor: a `RecurrentClassifierPreprocessor`, or None to work on ids.

    Raises:
        ValueError: if the preprocessor's vocabulary is not the backbone's.

    Example:
        >>> from zoo.text import WordTokenizer
        >>> model = SentimentClassifier(
        ...     RecurrentClassifier(6, embedding_dim=4, hidden_dim=4),
        ...     RecurrentClassifierPreprocessor(WordTokenizer(["good", "bad"])),
        ... )
        >>> model.classify("bad") in ("negative", "positive")
        True
    """

    backbone_cls = RecurrentClassifier
    preprocessor_cls = RecurrentClassifierPreprocessor
    task_name = "classify"
    text_columns = ("text", "label")
    accuracy_among = "metrics"

    def preprocess_samples(
        self, x: Any, y: Any = None, sample_weight: Any = None
    ) -> Any:
        """The arrays of texts and their classes, given by number or by name."""
        given = y if isinstance(y, (list, tuple, np.ndarray)) else ()
        if any(isinstance(label, str) for label in given):
            names = self.backbone.classes
            if not set(y) <= set(names):
                raise ValueError(
                    f"Labels must be class numbers or of {names}. "
                    f"Received: {reprlib.repr(list(y))}"
                )
            y = np.array([names.index(label) for label in y])
        return super().preprocess_samples(x, y, sample_weight)

    def logits(self, inputs: Any) -> Any:
        backbone = self.backbone
        run = compiled(self, "classify", lambda ids: (backbone({"token_ids": ids}),))
        return run(inputs["token_ids"])[0]

    def attention(self, inputs: Any) -> Any:
        """Returns the weights `(B, T, T + 1)` of an LSTMN's `Classification`."""
        backbone = self.backbone
        run = compiled(self, "attention", lambda ids: (backbone.intra_attention(ids),))
        return run(inputs["token_ids"])[0]
