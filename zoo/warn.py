"""Warnings that point at the line which called the package. Imports no Keras."""

import sys
import types
import warnings

# A Keras layer's __call__ goes through torch's under PyTorch.
_PACKAGES = ("zoo", "keras", "keras_hub", "torch")


def warn_caller(message: str) -> None:
    """Issues a UserWarning at the nearest line outside Keras and this package.

    Python 3.12 offers the same as `skip_file_prefixes` of `warnings.warn`.
    """
    frame: types.FrameType = sys._getframe(1)
    level = 2
    while frame.f_back and _package(frame) in _PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _package(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0]
