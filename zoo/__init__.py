"""Classic sequence-to-sequence papers as Keras 3 models.

    import zoo

    translator = zoo.load("luong_local")
    translator.translate("A dog runs.")

Importing `zoo` imports no backend and takes milliseconds: each public name is
loaded when it is first used (PEP 562).
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoo import data, decoding, layers, models, plots, serving, text, training
    from zoo.presets import list_presets, load

__version__ = "0.1.0"

_FUNCTIONS = ("list_presets", "load")
_MODULES = (
    "data",
    "decoding",
    "layers",
    "models",
    "plots",
    "serving",
    "text",
    "training",
)

__all__ = [
    "__version__",
    "data",
    "decoding",
    "layers",
    "list_presets",
    "load",
    "models",
    "plots",
    "serving",
    "text",
    "training",
]


def __getattr__(name):
    if name in _FUNCTIONS:
        value = getattr(importlib.import_module("zoo.presets"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"zoo.{name}")
    else:
        raise AttributeError(f"module 'zoo' has no attribute {name!r}")
    globals()[name] = value  # the next use does not come through here
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
