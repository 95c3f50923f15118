"""Averages of the weights of several epochs (Vaswani et al. 2017, section 6.1)."""

import contextlib
import os
import re

import keras
import numpy as np
from keras import ops

from zoo.checks import positive
from zoo.files import write_aside
from zoo.training.updates import averaged_weights

_SCORE = r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)"
_NAME = re.compile(rf"epoch-(\d+)_({_SCORE})\.weights\.h5")


class EpochWeights(keras.callbacks.Callback):
    """Keeps the weights of the last or the best epochs, for `average_weights`.

    A file is written after each epoch, and the one that is no longer wanted removed:
    the disk never holds more than `keep` + 1. The files tell a resumed run all that it
    must know. With `use_ema` the averaged weights are kept.

    Args:
        folder: where to; it is made.
        backbone: whose weights are kept.
        keep: how many.
        which: "last" or "best".
        monitor: the log that "best" goes by; the higher, the better.

    Raises:
        ValueError: for another `which`, or if `keep` is below 1.
    """

    def __init__(self, folder, backbone, keep=5, which="last", monitor="val_bleu"):
        super().__init__()
        if which not in ("last", "best"):
            raise ValueError(
                f'`which` must be "last" or "best". Received: which={which!r}'
            )
        self.folder, self.backbone, self.monitor = folder, backbone, monitor
        self.keep, self.which = positive("keep", keep), which

    def paths(self):
        """The files kept, by epoch."""
        return [os.path.join(self.folder, name) for *_, name in sorted(self._found())]

    def _found(self):
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self.folder):
                if match := _NAME.fullmatch(name):
                    yield int(match[1]), float(match[2]), name

    def on_epoch_end(self, epoch, logs=None):
        score = (logs or {}).get(self.monitor, 0.0)
        os.makedirs(self.folder, exist_ok=True)
        for name in os.listdir(self.folder):
            if ".part." in name:  # of a run that was killed while it wrote
                os.remove(os.path.join(self.folder, name))
        name = f"epoch-{epoch + 1:05d}_{score:.6g}.weights.h5"
        path = os.path.join(self.folder, name)
        # What a run left that was killed before its checkpoint is of no epoch yet.
        stale = [entry for entry in self._found() if entry[0] > epoch]
        with averaged_weights(self.model):
            write_aside(path, self.backbone.save_weights)
        stale = [entry for entry in stale if entry[2] != name]
        kept = [entry for entry in self._found() if entry not in stale]
        if self.which == "best":
            kept.sort(key=lambda entry: (entry[1], entry[0]))
        else:
            kept.sort()
        for *_, name in stale + kept[: -self.keep]:
            os.remove(os.path.join(self.folder, name))


def average_weights(model, paths):
    """Gives a model the mean of several weights files.

    Args:
        model: a Keras model.
        paths: `.weights.h5` files of it.

    Raises:
        ValueError: without a path.
    """
    if not paths:
        raise ValueError("`paths` must name at least one file. Received: none")
    totals = [0.0] * len(model.weights)
    for path in paths:
        model.load_weights(path)
        for index, weight in enumerate(model.weights):
            totals[index] += ops.convert_to_numpy(weight).astype("float64")
    for weight, total in zip(model.weights, totals, strict=True):
        mean = np.asarray(total / len(paths))
        if "float" in weight.dtype:  # a count stays the last file's
            weight.assign(mean)
