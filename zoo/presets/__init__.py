"""Presets: cards, finding and verifying them, building models from their files.

Importing this package imports no Keras.
"""

from zoo.presets.card import Card, PresetError
from zoo.presets.registry import cannot, find, list_presets, locate, verify
from zoo.presets.tfa import load_tfa

__all__ = [
    "Card",
    "PresetError",
    "cannot",
    "find",
    "list_presets",
    "load_tfa",
    "locate",
    "verify",
]
