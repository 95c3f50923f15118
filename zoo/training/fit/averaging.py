"""Averages of the weights of several epochs (Vaswani et al. 2017, section 6.1)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.checks import one_of, positive
from zoo.files import atomic_write
from zoo.training.fast.updates import averaged_weights

_SCORE = r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)"
_NAME = re.compile(rf"epoch-(\d+)_({_SCORE})\.weights\.h5")


class EpochWeights(keras.callbacks.Callback):
    """Keeps the weights of the last or the best epochs, for `average_weights`.

    Writes a file after each epoch, then removes the one that is no longer needed: there
    are never more than `keep` + 1. A resumed run needs nothing but the files. If the
    optimizer has `use_ema`, the averaged weights are kept.

    Args:
        folder: the folder of the files; it is made.
        backbone: the model whose weights are kept.
        keep: number of epochs.
        which: "last" or "best".
        monitor: the log that decides which are "best"; higher is better.

    Raises:
        ValueError: for another `which`, or if `keep` is below 1.
    """

    def __init__(
        self,
        folder: str | Path,
        backbone: Any,
        keep: int = 5,
        which: str = "last",
        monitor: str = "val_bleu",
    ):
        super().__init__()
        self.folder, self.backbone, self.monitor = Path(folder), backbone, monitor
        self.keep = positive("keep", keep)
        self.which = one_of("which", which, ("last", "best"))

    def paths(self) -> list[Path]:
        """Returns the files kept, by epoch."""
        return [path for *_, path in self._files()]

    def _files(self) -> list[tuple[int, float, Path]]:
        """Epoch (from 1), score and path of each file, by epoch."""
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        matches = [(_NAME.fullmatch(path.name), path) for path in paths]
        return sorted((int(m[1]), float(m[2]), path) for m, path in matches if m)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        score = (logs or {}).get(self.monitor, 0.0)
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.glob("*.part.*"):  # a killed run's unfinished file
            path.unlink()
        new = self.folder / f"epoch-{epoch + 1:05d}_{score:.6g}.weights.h5"
        with averaged_weights(self.model):
            atomic_write(new, self.backbone.save_weights)
        files = self._files()
        # A run that was killed before its checkpoint left files of epochs to come.
        kept = [file for file in files if file[0] <= epoch or file[2] == new]
        if self.which == "best":
            kept.sort(key=lambda file: (file[1], file[0]))
        for file in files:
            if file not in kept[-self.keep :]:
                file[2].unlink()


def average_weights(model: Any, paths: Sequence[str | Path]) -> None:
    """Sets a model's weights to the mean of several weights files.

    Args:
        model: a Keras model.
        paths: `.weights.h5` files of it.

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
        mean = np.asarray(total / len(paths))
        if "float" in weight.dtype:  # counts stay those of the last file
            weight.assign(mean)
