"""Batches of examples that are generated anew in each epoch."""

from collections.abc import Callable
from typing import Any

from zoo.training.batches.padded_batches import ArrayBatches


class DrawnBatches(ArrayBatches):
    """Batches of generated examples, none of which is seen twice.

    Args:
        draw: function of a count and an epoch to `(x, y)`, arrays or dicts of arrays.
            It must return the same examples for the same epoch.
        count: examples of an epoch.
        batch_size: examples of a batch; it must divide `count`.
        **kwargs: see `ArrayBatches`.

    Raises:
        ValueError: if `batch_size` doesn't divide `count`: the last batch would have
            examples a second time.

    Attributes:
        epoch: the epoch of the current examples.

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

    def __init__(
        self,
        draw: Callable[[int, int], Any],
        count: int,
        batch_size: int,
        **kwargs: Any,
    ):
        if count % batch_size:
            raise ValueError(
                "`count` must be a multiple of `batch_size`. "
                f"Received: count={count}, batch_size={batch_size}"
            )
        self.draw, self.count, self.epoch = draw, count, 0
        super().__init__(draw(count, 0), batch_size, **kwargs)
        self.tokens = count

    def set_epoch(self, epoch: int, start: int = 0) -> None:
        """See `PairBatches.set_epoch`."""
        if epoch != self.epoch:
            x, y = self.draw(self.count, epoch)
            self._parts, self.epoch = [(x, y, self._parts[0][2])], epoch
        super().set_epoch(epoch, start)
