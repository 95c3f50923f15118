"""Warnings that point at the line which called the package, however deep they arise."""

import os
import sys
import warnings

import keras
import keras_hub

_FOLDERS = tuple(
    os.path.dirname(path) + os.sep
    for path in (os.path.dirname(__file__), keras.__file__, keras_hub.__file__)
)
if "torch" in sys.modules:  # a Keras layer's __call__ goes through torch's there
    _FOLDERS += (os.path.dirname(sys.modules["torch"].__file__) + os.sep,)


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
