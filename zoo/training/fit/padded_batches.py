"""Batches of few shapes, with little padding, in an order that can be resumed."""

import numbers
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from zoo.checks import positive
from zoo.data.store import RaggedIds
from zoo.ids import END_ID, PAD_ID, START_ID
from zoo.text.vocabulary import lay_out
from zoo.training.fit.buckets import (
    TARGET_COST,
    choose_buckets,
    distinct,
    lead_with_unlike,
)


class _OrderedBatches(keras.utils.PyDataset):
    """Batches whose order depends only on `seed` and the epoch; None keeps one order.

    Subclasses' `_groups(shuffle)` gives, for each padded shape, what `__getitem__` has
    to know of it, all rows and how many of them are a batch.
    """

    seed: int | None = None

    def set_epoch(self, epoch: int, start: int = 0) -> None:
        """Puts the batches into the order of an epoch, without the first `start`."""
        shuffle: Any = np.arange
        if self.seed is not None:
            shuffle = np.random.default_rng((self.seed, epoch)).permutation
        batches = [
            (shape, known, rows[i : i + size])
            for shape, known, rows, size in self._groups(shuffle)
            for i in range(0, len(rows), size)
        ]
        order = [batches[i] for i in shuffle(len(batches))]
        self._order = lead_with_unlike(order)[start:]
        self.epoch, self.start = epoch, start

    def __len__(self) -> int:
        return len(self._order)


class PairBatches(_OrderedBatches):
    """Sentence pairs in batches of few shapes, for `fit` and `evaluate`.

    A batch is `({"source_ids": (B, S), "target_ids": (B, T)}, labels (B, T),
    weights (B, T))`: the target ids begin with the start token, the labels end with the
    end token, and the weights are 1 where a label is real and 0 on padding. All batches
    of a bucket have one shape: the last one is filled up with empty rows.

    The order depends only on the seed and the epoch, so that a resumed run sees what
    the uninterrupted one would have seen; `set_epoch` chooses the epoch and its first
    batch.

    Args:
        sources, targets: lists of lists of ids without start and end tokens, or the
            `RaggedIds` of `zoo.data.store.tokenise`, whose ids stay where they are.
        batch_tokens: target positions of a batch, padding included.
        batch_size: sentences of a batch; instead of `batch_tokens`.
        seed: seed of the order; None keeps the batches sorted by bucket.
        buckets: the number of shapes, which are chosen from the data by
            `choose_buckets`; or the shapes.

    Attributes:
        tokens: real target tokens of an epoch.
        padding: share of the target positions that are padding.

    Raises:
        ValueError: if the sides differ in length, are empty, if not exactly one of
            `batch_tokens` and `batch_size` is given, or if a pair fits into no bucket.

    Example:
        >>> batches = PairBatches([[4, 5], [6]], [[7], [8, 9]], batch_size=2,
        ...                       buckets=[(2, 3)])
        >>> x, labels, weights = batches[0]
        >>> x["target_ids"].tolist()
        [[2, 7, 0], [2, 8, 9]]
    """

    unit = "target tokens"  # what `tokens` counts

    def __init__(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        batch_tokens: int | None = None,
        batch_size: int | None = None,
        seed: int | None = None,
        buckets: Sequence[tuple[int, int]] | int = 14,
    ):
        super().__init__()
        if len(sources) != len(targets) or not len(sources):
            raise ValueError(
                "`sources` and `targets` must be of equal length and not empty. "
                f"Received: {len(sources)} sources and {len(targets)} targets"
            )
        if (batch_tokens is None) == (batch_size is None):
            raise ValueError(
                "Exactly one of `batch_tokens` and `batch_size` must be given. "
                f"Received: batch_tokens={batch_tokens}, batch_size={batch_size}"
            )
        tokens = 0 if batch_tokens is None else positive("batch_tokens", batch_tokens)
        size = None if batch_size is None else positive("batch_size", batch_size)
        self.seed = seed
        self._sources, self._targets = RaggedIds.of(sources), RaggedIds.of(targets)
        sizes = np.stack([self._sources.lengths, self._targets.lengths + 1], axis=1)
        self.tokens = int(sizes[:, 1].sum())
        if isinstance(buckets, numbers.Integral):
            buckets = choose_buckets(sizes, positive("buckets", buckets))
        self.buckets = buckets
        # The rows of each bucket, and how many of them are a batch.
        self._members = {
            (s, t): (rows, size or max(8, tokens // t // 8 * 8))
            for (s, t), rows in self._sort(sizes)
        }
        padded = sum(
            -(-len(rows) // b) * b * t for (_, t), (rows, b) in self._members.items()
        )
        self.padding = 1 - self.tokens / padded  # share of target positions
        self.shard()
        self.set_epoch(0)

    def _sort(self, sizes):
        """Yields each bucket, and the rows whose cheapest bucket it is."""
        cells, places, _ = distinct(sizes)
        buckets = sorted(self.buckets)
        fits = (cells[:, None] <= np.array(buckets)).all(-1)  # (sizes, buckets)
        if len(outside := cells[~fits.any(-1)]):
            raise ValueError(
                "A pair fits into no bucket; the largest must hold every pair. "
                f"Received: lengths {tuple(outside[0].tolist())}, "
                f"buckets {self.buckets}"
            )
        prices = np.where(fits, np.array(buckets) @ (1.0, TARGET_COST), np.inf)
        chosen = prices.argmin(-1)[places]
        for number, bucket in enumerate(buckets):
            if len(rows := np.flatnonzero(chosen == number)):
                yield bucket, rows.astype("int32")

    def shard(self, process: int = 0, processes: int = 1, devices: int = 1) -> None:
        """Keeps only one process's rows of every batch, in unchanged order.

        All processes then have equally many batches of equal shapes. Whole batches are
        filled up with empty rows to a multiple of the `devices`.

        Example:
            >>> batches = PairBatches([[4], [5], [6]], [[7], [8], [9]], batch_size=3)
            >>> batches.shard(process=1, processes=2, devices=2)
            >>> batches[0][0]["source_ids"][:, 0].tolist()  # of 4, 5, 6 and none
            [6, 0]
        """
        least = min(height for _, height in self._members.values())
        if least < devices:
            raise ValueError(
                f"A batch must have a sentence for each of the {devices} devices. "
                f"Received: batches of {least} sentences"
            )
        self._part, self._devices = (process, processes), devices

    def _groups(self, shuffle):
        for bucket, (rows, height) in self._members.items():
            yield bucket, height, rows[shuffle(len(rows))], height

    def __getitem__(self, index: int) -> Any:
        (width, length), height, rows = self._order[index]
        process, processes = self._part
        height = -(-height // self._devices) * self._devices // processes
        rows = rows[process * height :][:height]
        real = np.arange(len(rows))  # the others are empty
        source, labels = (np.zeros((height, size), "int32") for size in (width, length))
        source[real] = self._sources.take(rows, width)
        labels[real] = self._targets.take(rows, length)
        target = np.roll(labels, 1, axis=1)  # the last column has no label yet
        target[real, 0] = START_ID
        ends = np.full(height, -1)
        ends[real] = self._targets.lengths[rows]
        labels[real, ends[real]] = END_ID
        weights = (np.arange(length) <= ends[:, None]).astype("float32")
        return {"source_ids": source, "target_ids": target}, labels, weights


class ArrayBatches(_OrderedBatches):
    """Arrays in batches, in an order that depends only on the seed and the epoch.

    It is for other data what `PairBatches` is for sentence pairs. A batch is `(x, y,
    weights)`.

    Args:
        parts: tuple `(x, y)` or `(x, y, weights)` of arrays, or of dicts of arrays,
            whose first axis is that of the examples; or a list of such tuples, one for
            each shape (see `group_by_length`). All examples of a batch are from one of
            them. Weights are 1 by default. Or a function of the epoch, counted from 0,
            which gives them anew in each epoch.
        batch_size: examples of a batch. The last batch of a part is filled up with that
            epoch's first examples.
        seed: seed of the order; None keeps the given order.

    Raises:
        ValueError: if arrays of a part differ in length or are empty, or if the batch
            size is no positive integer.

    Example:
        >>> import numpy as np
        >>> x, y = np.arange(6).reshape(3, 2), np.array([0, 1, 2])
        >>> batches = ArrayBatches((x, y), batch_size=2)
        >>> len(batches), batches[1][0].tolist()
        (2, [[4, 5], [0, 1]])
    """

    unit = "labels"

    def __init__(self, parts: Any, batch_size: int, seed: int | None = None):
        super().__init__()
        self.batch_size, self.seed = positive("batch_size", batch_size), seed
        self._draw = parts if callable(parts) else None
        self._keep(parts(0) if callable(parts) else parts)
        super().set_epoch(0)

    def set_epoch(self, epoch: int, start: int = 0) -> None:
        if self._draw is not None and epoch != self.epoch:
            self._keep(self._draw(epoch))
        super().set_epoch(epoch, start)

    def _keep(self, parts):
        self._parts, self.tokens = [], 0
        for x, y, *weights in [parts] if isinstance(parts, tuple) else parts:
            arrays = [np.asarray(array) for array in keras.tree.flatten((x, y))]
            lengths = {len(array) for array in arrays}
            if len(lengths) != 1 or 0 in lengths:
                raise ValueError(
                    "The arrays of a part must be of equal length and not empty. "
                    f"Received: lengths {sorted(lengths)}"
                )
            weights = weights[0] if weights else np.ones(len(arrays[0]), "float32")
            shape = tuple(n for array in arrays for n in array.shape[1:])
            self._parts.append((shape, (x, y, weights)))
            # A weight is that of a label, or that of all labels of an example.
            counted = np.count_nonzero(weights) * (arrays[-1].size // weights.size)
            self.tokens += int(counted)

    def _groups(self, shuffle):
        size = self.batch_size
        for shape, part in self._parts:
            count = len(part[2])
            rows = np.resize(shuffle(count), -(-count // size) * size)
            yield shape, part, rows, size

    def __getitem__(self, index: int) -> Any:
        _, part, rows = self._order[index]
        return keras.tree.map_structure(lambda array: array[rows], part)


class StreamBatches(_OrderedBatches):
    """One text as parallel streams, cut into segments that follow each other.

    Row b of a batch goes on where row b of the batch before ended. Each batch is
    `({"token_ids", "keep"}, labels, weights)`: `keep` `(B,)` is 0 for the first of an
    epoch, whose state is to be zero, and 1 for the others.

    Args:
        rows: list of lists of word ids, the sentences in their order; an end token is
            put behind each.
        batch_size: streams B.
        length: words of a segment.

    Raises:
        ValueError: if a size is no positive integer, or there are no rows.

    Example:
        >>> batches = StreamBatches([[4, 5, 6], [7, 8]], batch_size=2, length=2)
        >>> len(batches), batches[0][0]["token_ids"].tolist(), batches[0][1].tolist()
        (2, [[3, 4], [3, 7]], [[4, 5], [7, 8]])
    """

    unit = "words"

    def __init__(self, rows: Any, batch_size: int, length: int) -> None:
        super().__init__()
        size = positive("batch_size", batch_size)
        self.length = positive("length", length)
        self._inputs, self._labels = lay_out(rows, size, self.length)
        self.tokens = int((self._labels != PAD_ID).sum())
        self.set_epoch(0)

    def _groups(self, shuffle):  # without a seed, the order is that of the text
        yield (), None, np.arange(self._inputs.shape[1] // self.length), 1

    def __getitem__(self, index: int) -> Any:
        _, _, (place,) = self._order[index]
        part = slice(place * self.length, (place + 1) * self.length)
        labels = self._labels[:, part]
        keep = np.full(len(labels), float(place > 0), "float32")
        inputs = {"token_ids": self._inputs[:, part], "keep": keep}
        return inputs, labels, (labels != PAD_ID).astype("float32")


def as_dataset(batches: Any) -> Any:
    """Returns batches for `fit` or `evaluate`, under TensorFlow as a `tf.data.Dataset`.

    The dataset that Keras makes of a `PyDataset` is tuned by a thread of tf.data. At
    the end of an epoch that thread may miss the signal to stop; `fit` then waits for it
    as long as the epoch took, a minute at most (TensorFlow 2.21). This dataset isn't
    tuned.
    """
    if keras.backend.backend() != "tensorflow":
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
    counted = tf.data.experimental.assert_cardinality(len(batches))
    return dataset.apply(counted).with_options(options).prefetch(2)
