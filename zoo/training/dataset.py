"""Batches as `fit` and `evaluate` read them."""

import keras


def as_dataset(batches, steps=None):
    """Batches for `fit` or `evaluate`: themselves, or TensorFlow's dataset of them.

    The dataset that Keras makes of a `PyDataset` is tuned by a thread of tf.data. As an
    epoch ends, that is told to end and may miss it: then `fit` waits for its next look
    around, up to the time that the epoch took and a minute at most (TensorFlow 2.21).
    This one isn't tuned. An epoch begins to read as its first batch is asked for.

    Args:
        batches: a finite `keras.utils.PyDataset` of NumPy arrays, of one structure and
            of any shapes.
        steps: how many there will be in an epoch; by default as many as there are.

    Returns:
        A `tf.data.Dataset` under TensorFlow, else `batches`; those with workers of
        their own too, for which Keras leaves the tuning out.

    Example:
        >>> from zoo.training import PairBatches
        >>> batches = PairBatches([[4, 5]], [[6]], batch_size=1, buckets=[(2, 2)])
        >>> x, labels, weights = next(iter(as_dataset(batches)))
        >>> labels.shape == (1, 2)
        True
    """
    workers = batches.workers > 1 or batches.use_multiprocessing
    if keras.backend.backend() != "tensorflow" or workers:
        return batches
    import tensorflow as tf

    def spec(array):
        return tf.TensorSpec([None] * array.ndim, array.dtype)

    options = tf.data.Options()
    options.autotune.enabled = False
    dataset = tf.data.Dataset.from_generator(
        lambda: (batches[index] for index in range(len(batches))),
        output_signature=keras.tree.map_structure(spec, batches[0]),
    )
    counted = tf.data.experimental.assert_cardinality(
        len(batches) if steps is None else steps
    )
    return dataset.apply(counted).with_options(options).prefetch(2)
