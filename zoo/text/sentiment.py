"""Strings to the ids that a classifier of sentences reads."""

import reprlib

import keras
import keras_hub

from zoo.checks import integer
from zoo.strings import check_texts
from zoo.text import graph
from zoo.text.preprocessor import pad_rows
from zoo.text.tokenizer import read_texts
from zoo.text.words import WordTokenizer, check_words, cut_rows


@keras.saving.register_keras_serializable(package="zoo")
class SentimentPreprocessor(keras_hub.models.TextClassifierPreprocessor):
    """Strings to word ids, padded with 0.

    Called with strings, and labels if there are any, it gives `{"token_ids"}`, int32
    `(B, sequence_length)`, or `(x, y, sample_weight)` that `fit` takes. Longer texts
    are cut, with one warning a call. Inside a `tf.data` map these are TensorFlow's.

    Args:
        tokenizer: a `WordTokenizer`.
        sequence_length: words at most. Default 64.
        **kwargs: arguments of `keras_hub.models.TextClassifierPreprocessor`.

    Raises:
        TypeError, ValueError: for another tokenizer, or a length below 1.

    Example:

    >>> tokenizer = WordTokenizer(["a", "good", "film"])
    >>> preprocessor = SentimentPreprocessor(tokenizer, sequence_length=4)
    >>> preprocessor(["a film"])["token_ids"].tolist()
    [[4, 6, 0, 0]]
    """

    tokenizer_cls = WordTokenizer

    def __init__(self, tokenizer, sequence_length=64, **kwargs):
        check_words(tokenizer)
        integer("sequence_length", sequence_length, 1)
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)
        self.built = True  # there are no weights

    def build(self, input_shape=None):
        self.built = True

    def call(self, x, y=None, sample_weight=None):
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

    def encode(self, texts):
        """Ids of the words of each text: a list of lists of int, whatever its length.

        Raises:
            TypeError: for a text that is not a str; its position is named.
        """
        return self.tokenizer.tokenize(check_texts(texts))
