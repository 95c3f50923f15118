"""Batches as `fit` and `evaluate` read them."""

from typing import Any

import keras


def as_dataset(batches: Any, steps: int | None = None) -> Any:
    """Returns batches for `fit` or `evaluate`, under TensorFlow as a `tf.data.Dataset`.

    The dataset that Keras makes of a `PyDataset` is tuned by a thread of tf.data. At
    the end of an epoch that thread may miss the signal to stop; `fit` then waits for it
    as long as the epoch took, a minute at most (TensorFlow 2.21). This dataset isn't
    tuned. It is read from when an epoch asks for its first batch.

    Args:
        batches: a finite `keras.utils.PyDataset` of NumPy arrays, of one structure and
            of any shapes.
        steps: batches of an epoch; all of them by default.

    Returns:
        A `tf.data.Dataset` under TensorFlow, unless the batches have workers of their
        own, for which Keras doesn't tune; otherwise `batches`.

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
    counted = tf.data.experimental.assert_cardinality(steps or len(batches))
    return dataset.apply(counted).with_options(options).prefetch(2)
