"""Averages of the weights of several epochs (Vaswani et al. 2017, section 6.1)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
from keras import ops

from zoo.checks import positive
from zoo.files import atomic_write
from zoo.training.fast.updates import averaged_weights


class EpochWeights(keras.callbacks.Callback):
    """Keeps the weights of the last epochs, for `average_weights`.

    Writes a file after each epoch, then removes the one that is no longer needed: there
    are never more than `keep` + 1. A resumed run needs nothing but the files. If the
    optimizer has `use_ema`, the averaged weights are kept.

    Args:
        folder: the folder of the files; it is made.
        backbone: the model whose weights are kept.
        keep: number of epochs.

    Raises:
        ValueError: if `keep` is below 1.
    """

    def __init__(self, folder: str | Path, backbone: Any, keep: int = 5):
        super().__init__()
        self.folder, self.backbone = Path(folder), backbone
        self.keep = positive("keep", keep)

    def paths(self) -> list[Path]:
        """Returns the files kept, by epoch."""
        return sorted(self.folder.glob("epoch-?????.weights.h5"))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f"epoch-{epoch + 1:05d}.weights.h5"
        with averaged_weights(self.model):
            atomic_write(new, self.backbone.save_weights)
        # A run that was killed before its checkpoint left files of epochs to come.
        kept = [path for path in self.paths() if path <= new][-self.keep :]
        for path in set(self.paths()).difference(kept):
            path.unlink()


def average_weights(model: Any, paths: Sequence[str | Path]) -> None:
    """Sets a model's weights to the mean of several weights files.

    Args:
        model: a Keras model.
        paths: its `.weights.h5` files.

    Raises:
        ValueError: without a path.
    """
    if not paths:
        raise ValueError("`paths` must name at least one file. Received: none")
    totals: list[Any] = [0.0] * len(model.weights)
    for path in paths:
        model.load_weights(path)
        for index, weight in enumerate(model.weights):
            totals[index] += ops.convert_to_numpy(weight).astype("float64")
    for weight, total in zip(model.weights, totals, strict=True):
        if "float" in weight.dtype:  # counts stay those of the last file
            weight.assign(total / len(paths))
