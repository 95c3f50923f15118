"""Preprocessing in TensorFlow graphs, for datasets and exports.

TensorFlow is imported on use; the rest of `zoo.text` works without it.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from zoo.backend import Tensor
from zoo.text.word_splitting import SPACE

# Before SentencePiece, a text is cut to this many characters per requested piece:
# tensorflow-text's time is quadratic in a run of unknown characters (two minutes for a
# megabyte). Pieces hold 16 characters at most, so only long runs of blanks or unknown
# characters can lose a piece.
CHARACTERS_PER_PIECE = 64


def mappable(call: Callable) -> Callable:
    """Lets a `tf.data` map trace a preprocessor's `call`, which works in Python.

    Single texts, without axes, give arrays without a batch axis. Such a graph cannot be
    exported.
    """

    @functools.wraps(call)
    def traced(self: Any, *inputs: Any, **options: Any) -> Any:
        tf = sys.modules.get("tensorflow")  # keras_hub imports it where it can
        if tf is None or tf.executing_eagerly():
            return call(self, *inputs, **options)
        parts = tf.nest.flatten((inputs, options))
        tensors = [x for x in parts if x is not None]
        single = tensors[0].shape.rank == 0
        if single:
            tensors = [x[None] for x in tensors]

        def run(arrays):
            given = iter(arrays)
            filled = [x if x is None else next(given) for x in parts]
            args, kwargs = tf.nest.pack_sequence_as((inputs, options), filled)
            return call(self, *args, **kwargs)

        with tf.init_scope():  # one empty text: an axis of length 1 may be longer
            example = run([_example(x) for x in tensors])
        wanted = tf.nest.flatten(example)
        outputs = tf.numpy_function(
            lambda *arrays: tf.nest.flatten(run(arrays)),
            tensors,
            [x.dtype for x in wanted],
        )
        for tensor, x in zip(outputs, wanted, strict=True):
            tensor.set_shape([None if n == 1 else n for n in x.shape])
        outputs = tf.nest.pack_sequence_as(example, outputs)
        return tf.nest.map_structure(lambda x: x[0], outputs) if single else outputs

    return traced


def _example(tensor):
    shape = [1, *(size or 1 for size in tensor.shape[1:])]
    value = "" if tensor.dtype == "string" else 0
    return np.full(shape, value, tensor.dtype.as_numpy_dtype)


def map_batches(dataset: Any, function: Callable[[Any], Any]) -> Any:
    """Maps the batches of a `tf.data.Dataset` by a function of Python's arrays."""
    import tensorflow as tf

    spec = tf.nest.map_structure(
        lambda part: tf.TensorSpec([None] * part.ndim, part.dtype),
        function(next(iter(dataset))),
    )
    mapped = tf.data.Dataset.from_generator(
        lambda: map(function, dataset), output_signature=spec
    )
    count = tf.data.experimental.assert_cardinality(dataset.cardinality())
    return mapped.apply(count).prefetch(tf.data.AUTOTUNE)


def valid_text(text: Tensor) -> Tensor:
    """Replaces invalid UTF-8 in tf.string `(B,)` by U+FFFD, as Python does."""
    import tensorflow as tf

    return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")


def tokenize(tokenizer: Any, text: Tensor, limit: int) -> Tensor:
    """Splits tf.string `(B,)` into at most `limit` pieces each: int32 ragged `(B, T)`.

    White space around a text is not part of it, as in `TargetText`.
    """
    import tensorflow as tf

    characters = limit * CHARACTERS_PER_PIECE
    text = tf.strings.regex_replace(valid_text(text), f"^[{SPACE}]+|[{SPACE}]+$", "")
    text = tf.strings.substr(text, 0, characters, unit="UTF8_CHAR")
    return tokenizer.tokenize(text)[:, :limit]


def append_end(rows: Any, end_id: int) -> Tensor:
    """Appends `end_id` to each ragged row that is not empty."""
    import tensorflow as tf

    real = tf.cast(rows.row_lengths() > 0, "int64")
    ends = tf.fill([tf.reduce_sum(real)], end_id)
    return tf.concat([rows, tf.RaggedTensor.from_row_lengths(ends, real)], axis=1)


def pad_to_longest(rows: Any) -> Tensor:
    """Pads ragged rows `(B, None, ...)` to a tensor `(B, S, ...)`, S at least 1.

    Padding is 0, or the empty string.
    """
    import tensorflow as tf

    dense = rows.to_tensor()
    missing = tf.maximum(0, 1 - tf.shape(dense)[1])
    return tf.pad(dense, [[0, 0], [0, missing], *[[0, 0]] * (dense.shape.rank - 2)])


def frame(rows: Any, start_id: int, end_id: int) -> tuple[Any, Any]:
    """Frames ragged ids as a decoder's inputs and labels; see `rows.framed`."""
    import tensorflow as tf

    shape = [rows.nrows(), 1]
    inputs = tf.concat([tf.fill(shape, start_id), rows], axis=1)
    return inputs, tf.concat([rows, tf.fill(shape, end_id)], axis=1)


def before_end(ids: Tensor, end_id: int) -> Tensor:
    """Returns bool `(B, T)`: true before each row's first end token."""
    import tensorflow as tf

    return tf.cumsum(tf.cast(ids == end_id, "int32"), axis=1) == 0


def detokenize(tokenizer: Any, ids: Tensor) -> Tensor:
    """Converts int ids `(B, T)` to tf.string `(B,)`, up to each first end token."""
    import tensorflow as tf

    keep = before_end(ids, tokenizer.end_token_id) & (ids != tokenizer.pad_token_id)
    keep &= ids != tokenizer.start_token_id
    return tokenizer.detokenize(tf.ragged.boolean_mask(ids, keep))
