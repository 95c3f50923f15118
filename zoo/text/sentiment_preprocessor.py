"""Preprocessing for sentence classifiers: strings to word ids."""

import reprlib
from typing import Any

import keras
import keras_hub

from zoo.checks import integer
from zoo.text import graph
from zoo.text.rows import cut_rows, pad_rows
from zoo.text.tokenizer import TokenizerByBackbone, read_texts
from zoo.text.vocabulary import WordText
from zoo.text.word_tokenizer import WordTokenizer, check_words


@keras.saving.register_keras_serializable(package="zoo")
class SentimentPreprocessor(
    TokenizerByBackbone, WordText, keras_hub.models.TextClassifierPreprocessor
):
    """Converts strings to word ids, padded with 0.

    Called with strings, and optionally labels, it returns `{"token_ids"}`, int32
    `(B, sequence_length)`, or `(x, y, sample_weight)` for `fit`. Longer texts are cut,
    with one warning per call. Inside a `tf.data` map these are TensorFlow tensors.

    Args:
        tokenizer: a `WordTokenizer`.
        sequence_length: maximum words of a text.
        **kwargs: arguments of `keras_hub.models.TextClassifierPreprocessor`.

    Raises:
        TypeError: for another tokenizer.
        ValueError: for a length below 1.

    Example:
        >>> tokenizer = WordTokenizer(["a", "good", "film"])
        >>> preprocessor = SentimentPreprocessor(tokenizer, sequence_length=4)
        >>> preprocessor(["a film"])["token_ids"].tolist()
        [[4, 6, 0, 0]]
    """

    tokenizer_cls = WordTokenizer

    def __init__(
        self, tokenizer: WordTokenizer, sequence_length: int = 64, **kwargs: Any
    ) -> None:
        check_words(tokenizer)
        sequence_length = integer("sequence_length", sequence_length, 1)
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)
        self.built = True  # there are no weights

    def build(self, input_shape: Any = None) -> None:
        """Does nothing: there are no weights."""
        self.built = True

    def call(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Returns inputs, or `(x, y, sample_weight)` for `fit`; see the class."""
        labels = y if isinstance(y, (list, tuple)) else [y]
        if any(isinstance(label, str) for label in labels):
            raise ValueError(
                f"Labels must be class numbers. Received: {reprlib.repr(y)}"
            )
        if graph.in_graph():
            import tensorflow as tf

            length = self.sequence_length
            shape = (length,) if x.shape.rank == 0 else (None, length)
            shapes = {"token_ids": tf.TensorSpec(shape, "int32")}
            inputs = graph.by_python(self._arrays, [x], shapes)
        else:
            inputs = self._arrays(x)
        return keras.utils.pack_x_y_sample_weight(inputs, y, sample_weight)

    def _arrays(self, x):
        texts, single = read_texts(x, "x")
        rows = cut_rows(self.encode(texts), self.sequence_length)
        ids = pad_rows(rows, self.sequence_length)
        return {"token_ids": ids[0] if single else ids}
