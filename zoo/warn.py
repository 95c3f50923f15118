"""Warnings that point at the line which called the package. Imports no Keras."""

import importlib.util
import os
import sys
import types
import warnings
from pathlib import Path


def _folder(package: str) -> str | None:
    spec = importlib.util.find_spec(package)
    return f"{Path(spec.origin).parent}{os.sep}" if spec and spec.origin else None


# A Keras layer's __call__ goes through torch's under PyTorch.
_FOLDERS = tuple(filter(None, map(_folder, ("zoo", "keras", "keras_hub", "torch"))))


def warn_caller(message: str) -> None:
    """Issues a UserWarning at the nearest line outside Keras and this package.

    Python 3.12 offers the same as `skip_file_prefixes` of `warnings.warn`.
    """
    frame: types.FrameType = sys._getframe(1)
    level = 2
    while frame.f_back and frame.f_code.co_filename.startswith(_FOLDERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
