"""Warnings that point at the line which called the package, however deep they arise.
Nothing here needs Keras."""

import importlib.util
import os
import sys
import warnings


def _folder(package):
    spec = importlib.util.find_spec(package)
    return spec and os.path.dirname(spec.origin) + os.sep


# A Keras layer's __call__ goes through torch's under PyTorch.
_FOLDERS = tuple(filter(None, map(_folder, ("zoo", "keras", "keras_hub", "torch"))))


def warn_caller(message):
    """Gives a UserWarning at the nearest line that is not Keras's or our own.

    It does what `skip_file_prefixes` of `warnings.warn` does from Python 3.12 on.

    Args:
        message: str.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(_FOLDERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
