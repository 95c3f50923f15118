"""Batches that are drawn anew in each epoch."""

from zoo.training.batching import ArrayBatches


class DrawnBatches(ArrayBatches):
    """Examples of a generator, of which none is seen twice.

    Args:
        draw: function of a count and an epoch to `(x, y)`, arrays or dicts of arrays:
            the same again for the same epoch.
        count: examples of an epoch.
        batch_size: examples of a batch, which divides the count.

    Raises:
        ValueError: where it doesn't: the last batch would be filled up with others.

    Attributes:
        epoch: the one that they are drawn for.

    Example:
        >>> import numpy as np
        >>> def draw(count, epoch):
        ...     x = np.random.default_rng((1, epoch)).normal(size=(count, 2))
        ...     return x, x.sum(1)
        >>> batches = DrawnBatches(draw, count=6, batch_size=2)
        >>> first = batches[0][0]
        >>> batches.set_epoch(1)
        >>> len(batches), bool((batches[0][0] != first).all())
        (3, True)
    """

    unit = "sequences"

    def __init__(self, draw, count, batch_size, **kwargs):
        if count % batch_size:
            raise ValueError(
                "`count` must be a multiple of `batch_size`. "
                f"Received: count={count}, batch_size={batch_size}"
            )
        self.draw, self.count, self.epoch = draw, count, 0
        # In the order in which they are drawn.
        super().__init__(draw(count, 0), batch_size, seed=None, **kwargs)
        self.tokens = count

    def set_epoch(self, epoch, start=0):
        """See `PairBatches.set_epoch`."""
        if epoch != self.epoch:
            x, y = self.draw(self.count, epoch)
            self._parts, self.epoch = [(x, y, self._parts[0][2])], epoch
        super().set_epoch(epoch, start)
