"""Preprocessing with TensorFlow operations only, for graphs and exports.

TensorFlow is imported on use; the rest of `zoo.text` works without it.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from zoo.backend import Tensor
from zoo.text.word_splitting import SPACE

# Before SentencePiece, a text is cut to this many characters per requested piece:
# tensorflow-text's time is quadratic in a run of unknown characters (two minutes for a
# megabyte). Pieces hold 16 characters at most, so only long runs of blanks or unknown
# characters can lose a piece.
CHARACTERS_PER_PIECE = 64


def in_graph() -> bool:
    """Returns whether a `tf.function` or a `tf.data` map is being traced."""
    tensorflow = sys.modules.get("tensorflow")  # keras_hub imports it where it can
    return tensorflow is not None and not tensorflow.executing_eagerly()


def by_python(function: Callable[..., Any], inputs: Sequence[Any], shapes: Any) -> Any:
    """Calls a function of NumPy arrays from a graph, as in a `tf.data` map.

    `shapes` is the nested structure that it returns, of `keras.KerasTensor`s; None
    among the inputs is passed on. The function gets batches and returns them; inputs
    that are single get a single result. Such a graph cannot be exported.
    """
    import tensorflow as tf

    single = inputs[0].shape.rank == 0
    if single:
        inputs = [None if x is None else x[None] for x in inputs]
    tensors = [x for x in inputs if x is not None]

    def run(*arrays):
        arrays = iter(arrays)
        outputs = function(*(None if x is None else next(arrays) for x in inputs))
        return tf.nest.flatten(outputs)

    specs = tf.nest.flatten(shapes)
    dtypes = [tf.as_dtype(spec.dtype) for spec in specs]
    outputs = tf.numpy_function(run, tensors, dtypes)
    for tensor, spec in zip(outputs, specs, strict=True):
        tensor.set_shape(spec.shape)
    outputs = tf.nest.pack_sequence_as(shapes, outputs)
    return tf.nest.map_structure(lambda x: x[0], outputs) if single else outputs


def valid_text(text: Tensor) -> Tensor:
    """Replaces invalid UTF-8 in tf.string `(B,)` by U+FFFD, as Python does."""
    import tensorflow as tf

    return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")


def tokenize(
    tokenizer: Any, text: Tensor, limit: int, name: str | None = None
) -> Tensor:
    """Splits texts into at most `limit` pieces each; reports cuts on standard error.

    White space around a text is not part of it, as in `TargetText`. `name` is the
    warning's for the texts; None for no warning. tf.string `(B,)` or `()` gives int32
    ragged `(B, None)`, B 1 for `()`.
    """
    import tensorflow as tf

    characters = limit * CHARACTERS_PER_PIECE
    text = valid_text(tf.reshape(text, [-1]))
    text = tf.strings.regex_replace(text, f"^[{SPACE}]+|[{SPACE}]+$", "")
    size = tf.strings.length(text, unit="UTF8_CHAR")
    rows = tokenizer.tokenize(tf.strings.substr(text, 0, characters, unit="UTF8_CHAR"))
    if name is None:
        return rows[:, :limit]
    cut = tf.where((rows.row_lengths() > limit) | (size > characters))[:, 0]
    warning = (
        f"Warning: {{}} of {{}} texts have more than {limit} pieces and were cut. "
        f"The first is {name}[{{}}], of {{}} characters"
    )
    tf.cond(
        tf.size(cut) > 0,
        lambda: tf.print(
            tf.strings.format(
                warning,
                (tf.size(cut), tf.size(text), cut[0], tf.gather(size, cut[0])),
            ),
            output_stream=sys.stderr,
        ),
        tf.no_op,
    )
    return rows[:, :limit]


def append_end(rows: Tensor, end_id: int) -> Tensor:
    """Appends `end_id` to each ragged row that is not empty."""
    import tensorflow as tf

    real = tf.cast(rows.row_lengths() > 0, "int64")
    ends = tf.fill([tf.reduce_sum(real)], end_id)
    return tf.concat([rows, tf.RaggedTensor.from_row_lengths(ends, real)], axis=1)


def pad_to_longest(rows: Tensor) -> Tensor:
    """Pads ragged rows `(B, None, ...)` to a tensor `(B, S, ...)`, S at least 1.

    Padding is 0, or the empty string.
    """
    import tensorflow as tf

    dense = rows.to_tensor()
    missing = tf.maximum(0, 1 - tf.shape(dense)[1])
    return tf.pad(dense, [[0, 0], [0, missing], *[[0, 0]] * (dense.shape.rank - 2)])


def frame(rows: Tensor, start_id: int, end_id: int) -> tuple[Tensor, Tensor]:
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
