"""Presets: cards, finding and verifying, building models from files.

Importing this imports no Keras; `zoo.load` puts the parts together.
"""

from zoo.presets.card import Card, PresetError
from zoo.presets.registry import cannot, find, list_presets, locate, verify

__all__ = [
    "Card",
    "PresetError",
    "cannot",
    "find",
    "list_presets",
    "locate",
    "verify",
]
