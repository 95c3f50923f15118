"""Raw strings in, ids out, and back: for training, for translation and in a graph."""

import reprlib

import keras
import keras_hub
import numpy as np

from zoo.checks import integer
from zoo.strings import check_texts, describe
from zoo.text import graph
from zoo.text.tokenizer import Tokenizer, read_texts
from zoo.warn import warn_caller

_BUCKETS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
LONGEST_BUCKET = _BUCKETS[-1]


@keras.saving.register_keras_serializable(package="zoo")
class TranslatorPreprocessor(keras_hub.models.Preprocessor):
    """Strings to the ids that a translator reads, and ids back to strings.

    Called with `{"source": strings, "target": strings}` it gives `(x, y,
    sample_weight)`, which `fit` takes:

    - `x["source_ids"]`, int32 `(B, source_length)`: the source's pieces;
    - `x["target_ids"]`, int32 `(B, target_length)`: the start token, then the target's
      pieces;
    - `y`, int32 `(B, target_length)`: the target's pieces, then the end token;
    - `sample_weight`, float32 `(B, target_length)`: 1 where `y` is real, 0 on pads.

    They are padded with 0. For one string each there is no batch axis. The arrays are
    NumPy's; inside a `tf.data` map or a `tf.function` they are TensorFlow tensors.

    The other methods serve translation (`encode`, `decode`, `pieces`), an exported
    graph (`encode_graph`, `decode_graph`) and KerasHub's `generate`.

    A text that is too long is cut, with one warning a call: a `UserWarning`, or in a
    graph a line on standard error. A source without pieces, empty or blank, gives pads
    only and not even the end token: its ids tell that there is nothing to translate.

    Args:
        tokenizer: a `Tokenizer` that gives plain ids: the defaults of its `dtype`,
            `sequence_length`, `add_bos` and `add_eos`.
        source_length: longest source in pieces, its end token included. Default 128.
        target_length: longest target in pieces, its start or end token included.
            Default 128.
        source_end: whether the source gets an end token. Default False.
        **kwargs: arguments of `keras_hub.models.Preprocessor`.

    Raises:
        TypeError, ValueError: for another tokenizer, or a length out of range.

    Example:

    >>> from zoo.text import Tokenizer, train_tokenizer
    >>> texts = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze schläft"]
    >>> tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=28))
    >>> preprocessor = TranslatorPreprocessor(tokenizer, target_length=16)
    >>> x, y, sample_weight = preprocessor({"source": texts[:1], "target": texts[1:2]})
    >>> x["source_ids"].shape, y.shape
    ((1, 128), (1, 16))
    >>> preprocessor.decode(y)
    ['ein hund rennt']
    """

    tokenizer_cls = Tokenizer

    def __init__(
        self,
        tokenizer,
        source_length=128,
        target_length=128,
        source_end=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        _check_tokenizer(tokenizer)
        integer("source_length", source_length, 1 + bool(source_end))
        integer("target_length", target_length, 2)
        self.tokenizer = tokenizer
        self.source_length = source_length
        self.target_length = target_length
        self.source_end = source_end
        self.built = True  # there are no weights

    def get_config(self):
        return {
            **super().get_config(),
            "source_length": self.source_length,
            "target_length": self.target_length,
            "source_end": self.source_end,
        }

    @property
    def sequence_length(self):
        """KerasHub's name for `target_length`."""
        return self.target_length

    @sequence_length.setter
    def sequence_length(self, value):
        self.target_length = value

    # === Training ===
    def call(self, x, y=None, sample_weight=None):
        if not isinstance(x, dict) or not {"source", "target"} <= set(x):
            raise ValueError(
                'x must be a dict with the keys "source" and "target". '
                f"Received: {reprlib.repr(x)}"
            )
        if y is not None or sample_weight is not None:
            raise ValueError(
                'y and sample_weight are made from x["target"] and must be None. '
                f"Received: {reprlib.repr((y, sample_weight))}"
            )
        source, target = x["source"], x["target"]
        if graph.in_graph():
            unbatched = source.shape.rank == 0
            outputs = graph.training_arrays(
                self._graph_source(source),
                graph.tokenize(
                    self.tokenizer, target, self.target_length - 1, "target"
                ),
                self.tokenizer,
                self.source_length,
                self.target_length,
            )
        else:
            source, unbatched = read_texts(source, "source")
            target, _ = read_texts(target, "target")
            outputs = self._training_arrays(source, target)
        if unbatched:
            return keras.tree.map_structure(lambda batch: batch[0], outputs)
        return outputs

    def _training_arrays(self, source, target):
        if len(source) != len(target):
            raise ValueError(
                "source and target must hold equally many texts. "
                f"Received: {len(source)} and {len(target)}"
            )
        start, end = self.tokenizer.start_token_id, self.tokenizer.end_token_id
        source_rows = self._source_rows(source, self.source_length, "source")
        target_rows = self._target_rows(target, self.target_length, "target")
        inputs = [[start, *row] for row in target_rows]
        x = {
            "source_ids": pad_rows(source_rows, self.source_length),
            "target_ids": pad_rows(inputs, self.target_length),
        }
        y = pad_rows([[*row, end] for row in target_rows], self.target_length)
        return x, y, (y != self.tokenizer.pad_token_id).astype("float32")

    # === Translation, without TensorFlow ===
    def encode(self, texts, length=None):
        """Source pieces of each text, unpadded: a list of lists of int.

        Args:
            texts: a str, or a list of str.
            length: most pieces of a text, with its end token. Default `source_length`.

        Raises:
            TypeError: for a text that is not a str; its position is named.
            ValueError: for a length without room for a piece.
        """
        length = self.source_length if length is None else length
        integer("length", length, 1 + bool(self.source_end))
        return self._source_rows(check_texts(texts), length, "texts")

    def encode_targets(self, texts, length=None):
        """Target pieces of each text, without start and end: a list of lists of int.

        There are `length - 1` of them at most (default `target_length - 1`), which
        leaves room for the start or the end token. For the rest see `encode`.
        """
        length = self.target_length if length is None else length
        integer("length", length, 2)
        return self._target_rows(check_texts(texts), length, "texts")

    def decode(self, ids):
        """Strings from target ids.

        Args:
            ids: rows of ids: lists of int, or a `(B, T)` array or tensor. What follows
                a row's first end token is ignored, as are pads and start tokens.

        Returns:
            A list of B strings. The unknown piece reads " ⁇ ".

        Raises:
            ValueError: for an id that the vocabulary does not have.
        """
        end, size = self.tokenizer.end_token_id, self.tokenizer.vocabulary_size()
        ignored = (self.tokenizer.pad_token_id, self.tokenizer.start_token_id)
        rows = []
        for position, row in enumerate(python_ids(ids)):
            row = row[: row.index(end)] if end in row else row
            wrong = [token_id for token_id in row if not 0 <= token_id < size]
            if wrong:
                raise ValueError(
                    f"ids[{position}] must hold ids from 0 to {size - 1}. "
                    f"Received: {wrong[0]}"
                )
            rows.append([token_id for token_id in row if token_id not in ignored])
        return self.tokenizer.detokenize(rows) if rows else []

    def pieces(self, ids):
        """The piece of each id of one row, special ones included: a list of str."""
        return [self.tokenizer.id_to_token(token_id) for token_id in python_ids(ids)]

    def _source_rows(self, texts, length, name):
        if not self.source_end:
            return self._cut(texts, length, name)
        end = self.tokenizer.end_token_id
        rows = self._cut(texts, length - 1, name)
        return [[*row, end] if row else row for row in rows]

    def _target_rows(self, texts, length, name):
        return self._cut(texts, length - 1, name)

    def _cut(self, texts, limit, name):
        """At most `limit` pieces of each text; one warning for all that had more."""
        characters = limit * graph.CHARACTERS_PER_PIECE
        rows = self.tokenizer.tokenize([text[:characters] for text in texts])
        cut = [
            position
            for position, (text, row) in enumerate(zip(texts, rows, strict=True))
            if len(row) > limit or len(text) > characters
        ]
        if cut:
            warn_caller(
                f"{len(cut)} of {len(texts)} texts have more than {limit} pieces and "
                f"were cut. The first is {name}[{cut[0]}], of {len(texts[cut[0]])} "
                "characters"
            )
        return [row[:limit] for row in rows]

    # === In a TensorFlow graph ===
    def encode_graph(self, text):
        """`encode`, padded, with TensorFlow operations alone.

        It is for use in a `tf.function`; elsewhere it is traced anew at each call.

        Args:
            text: tf.string tensor `(B,)` of UTF-8.

        Returns:
            int32 tensor `(B, S)` padded with 0: S is the longest row's length, at most
            `source_length` and at least 1.
        """
        import tensorflow as tf

        if tf.executing_eagerly():  # where the tokenizer would leave TensorFlow
            return tf.function(self.encode_graph)(text)
        return graph.pad_to_longest(self._graph_source(text))

    def decode_graph(self, ids):
        """`decode` with TensorFlow operations alone.

        Args:
            ids: int tensor `(B, T)`.

        Returns:
            tf.string tensor `(B,)` of UTF-8.
        """
        import tensorflow as tf

        if tf.executing_eagerly():
            return tf.function(self.decode_graph)(ids)
        return graph.detokenize(self.tokenizer, ids)

    def _graph_source(self, text):
        if not self.source_end:
            return graph.tokenize(self.tokenizer, text, self.source_length, "source")
        rows = graph.tokenize(self.tokenizer, text, self.source_length - 1, "source")
        return graph.append_end(rows, self.tokenizer.end_token_id)

    # === KerasHub's generate ===
    def generate_preprocess(self, x, sequence_length=None):
        """Source ids as tensors, for a task's `generate_step`.

        Args:
            x: a str or a list of str, or `{"source": ...}` with them.
            sequence_length: longest target wanted: `generate`'s `max_length`, if any.

        Returns:
            `{"source_ids": int32 (B, S)}`, S the longest row's bucket of lengths, at
            most `source_length`; if `sequence_length` is given also `"target_ids"`
            `(B, sequence_length)`: the start token, then pads. For a str there is no
            batch axis.
        """
        texts = x["source"] if isinstance(x, dict) else x
        texts, unbatched = read_texts(texts, "source")
        rows = self._source_rows(texts, self.source_length, "source")
        width = min(bucket(max(map(len, rows), default=0)), self.source_length)
        outputs = {"source_ids": pad_rows(rows, width)}
        if sequence_length is not None:
            start = [[self.tokenizer.start_token_id] for _ in texts]
            outputs["target_ids"] = pad_rows(start, sequence_length)
        return {
            key: keras.ops.convert_to_tensor(ids[0] if unbatched else ids)
            for key, ids in outputs.items()
        }

    def generate_postprocess(self, x):
        """Strings from what `generate_step` gave.

        Args:
            x: int ids `(B, T)` or `(T,)`, or `{"token_ids": ...}` with them. End tokens
                and padding are removed; tokens after an end token are kept.

        Returns:
            A list of B strings, or one str.
        """
        ids = python_ids(x["token_ids"] if isinstance(x, dict) else x)
        single, end = bool(ids) and isinstance(ids[0], int), self.tokenizer.end_token_id
        texts = self.decode(
            [[i for i in row if i != end] for row in ([ids] if single else ids)]
        )
        return texts[0] if single else texts


def _check_tokenizer(tokenizer):
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            f"tokenizer must be a zoo.text.Tokenizer. Received: {describe(tokenizer)}"
        )
    dtype, length = tokenizer.compute_dtype, tokenizer.sequence_length
    extras = (tokenizer.add_bos, tokenizer.add_eos)
    if dtype != "int32" or length is not None or any(extras):
        raise ValueError(
            "tokenizer must have dtype int32, no sequence_length, add_bos or add_eos. "
            f"Received: dtype={dtype!r}, sequence_length={length}, "
            f"(add_bos, add_eos)={extras}"
        )


def python_ids(ids):
    """Ids as (nested) lists of Python ints."""
    if isinstance(ids, (list, tuple)):
        return [python_ids(part) for part in ids]
    if keras.ops.is_tensor(ids):
        ids = keras.ops.convert_to_numpy(ids)
    elif hasattr(ids, "numpy"):  # another backend's
        ids = ids.numpy()
    return ids.tolist() if hasattr(ids, "tolist") else ids


def bucket(length):
    """The length that rows of this one are padded to, so that shapes are few: behind
    the last bucket, a multiple of it."""
    whole = -(-length // LONGEST_BUCKET) * LONGEST_BUCKET
    return next((size for size in _BUCKETS if size >= length), whole)


def pad_rows(rows, length):
    """int32 `(B, length)` from rows of ids, padded with 0."""
    ids = np.zeros((len(rows), length), "int32")
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
    return ids


def needed_preprocessor(task, use):
    """The preprocessor of a task.

    Args:
        task: a task.
        use: what it is needed for; the error begins with it.

    Raises:
        ValueError: if the task has none.
    """
    if task.preprocessor is None:
        raise ValueError(
            f"{use} needs a preprocessor. "
            f"Received: {type(task).__name__} with preprocessor=None"
        )
    return task.preprocessor
