"""The preprocessor's work with TensorFlow operations alone, for graphs and exports.

TensorFlow is imported on use: without it, everything else of `zoo.text` works.
"""

import sys

# A text is cut to this many characters per piece wanted before SentencePiece sees it:
# tensorflow-text's time is quadratic in a run of unknown characters (two minutes for a
# megabyte). Pieces hold 16 characters at most, so only a text of long runs of blanks or
# of unknown characters can lose a piece by it.
CHARACTERS_PER_PIECE = 64


def in_graph():
    """Whether a `tf.function` or a `tf.data` map is being traced."""
    tensorflow = sys.modules.get("tensorflow")  # keras_hub imports it where it can
    return tensorflow is not None and not tensorflow.executing_eagerly()


def by_python(function, inputs, shapes):
    """Calls a function of NumPy arrays from a graph, as in a `tf.data` map. Such a
    graph can't be exported.

    Args:
        function: returns arrays in a nested structure.
        inputs: list of tensors; None stands for an argument that is None.
        shapes: the returned structure, with a `tf.TensorSpec` for each array.
    """
    import tensorflow as tf

    given = [x for x in inputs if x is not None]

    def run(*arrays):
        arrays = iter(arrays)
        found = function(*(None if x is None else next(arrays) for x in inputs))
        return tf.nest.flatten(found)

    specs = tf.nest.flatten(shapes)
    found = tf.numpy_function(run, given, [spec.dtype for spec in specs])
    for tensor, spec in zip(found, specs, strict=True):
        tensor.set_shape(spec.shape)
    return tf.nest.pack_sequence_as(shapes, found)


def valid_text(text):
    """tf.string `(B,)` of valid UTF-8: other bytes become U+FFFD, as in Python."""
    import tensorflow as tf

    return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")


def tokenize(tokenizer, text, limit, name=None):
    """Pieces of each text, at most `limit`; a line on standard error if any is cut.

    Args:
        tokenizer: a `Tokenizer`.
        text: tf.string tensor `(B,)` or `()`.
        limit: most pieces of a text.
        name: what the warning calls the texts; None for no warning.

    Returns:
        int32 `tf.RaggedTensor` `(B, None)`; B is 1 for `()`.
    """
    import tensorflow as tf

    characters = limit * CHARACTERS_PER_PIECE
    text = valid_text(tf.reshape(text, [-1]))
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


def append_end(rows, end_id):
    """The ragged rows with `end_id` after each one that isn't empty."""
    import tensorflow as tf

    real = tf.cast(rows.row_lengths() > 0, "int64")
    ends = tf.fill([tf.reduce_sum(real)], end_id)
    return tf.concat([rows, tf.RaggedTensor.from_row_lengths(ends, real)], axis=1)


def pad_to_longest(rows):
    """The ragged rows `(B, None, ...)` as a tensor `(B, S, ...)`, padded with 0, or the
    empty string; S is at least 1."""
    import tensorflow as tf

    dense = rows.to_tensor()
    missing = tf.maximum(0, 1 - tf.shape(dense)[1])
    return tf.pad(dense, [[0, 0], [0, missing], *[[0, 0]] * (dense.shape.rank - 2)])


def frame(rows, start_id, end_id):
    """Ragged ids `(B, None)` as a decoder's inputs, the start token before them, and
    its labels, the end token behind them: both ragged."""
    import tensorflow as tf

    shape = [rows.nrows(), 1]
    inputs = tf.concat([tf.fill(shape, start_id), rows], axis=1)
    return inputs, tf.concat([rows, tf.fill(shape, end_id)], axis=1)


def before_end(ids, end_id):
    """bool `(B, T)`: True up to each row's first end token, which is left out."""
    import tensorflow as tf

    return tf.cumsum(tf.cast(ids == end_id, "int32"), axis=1) == 0


def training_arrays(source_rows, target_rows, tokenizer, source_length, target_length):
    """`(x, y, sample_weight)` of `TranslatorPreprocessor` from ragged pieces."""
    import tensorflow as tf

    start, end = tokenizer.start_token_id, tokenizer.end_token_id
    inputs, labels = frame(target_rows, start, end)
    y = labels.to_tensor(shape=[None, target_length])
    x = {
        "source_ids": source_rows.to_tensor(shape=[None, source_length]),
        "target_ids": inputs.to_tensor(shape=[None, target_length]),
    }
    return x, y, tf.cast(y != tokenizer.pad_token_id, "float32")


def detokenize(tokenizer, ids):
    """tf.string `(B,)` from int ids `(B, T)`: up to each row's first end token."""
    import tensorflow as tf

    keep = before_end(ids, tokenizer.end_token_id) & (ids != tokenizer.pad_token_id)
    keep &= ids != tokenizer.start_token_id
    return tokenizer.detokenize(tf.ragged.boolean_mask(ids, keep))
