"""Presets: cards, finding and verifying them, building models from their files.

Importing this package imports no Keras.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "card": ["Card", "PresetError"],
        "pages": ["upload"],
        "registry": ["cannot", "find", "list_presets", "locate", "verify"],
    },
)
