"""Classic sequence-to-sequence papers as Keras 3 models.

    import zoo

    translator = zoo.load("luong_local")
    translator.translate("A dog runs.")

Importing `zoo` imports no backend and takes milliseconds: each public name is
loaded when it is first used (PEP 562).
"""

from typing import TYPE_CHECKING

import lazy_loader

from zoo.registration import register_with_keras

if TYPE_CHECKING:
    from zoo import (
        analysis,
        data,
        decoding,
        layers,
        lessons,
        models,
        presets,
        serving,
        tasks,
        text,
        training,
    )
    from zoo.presets import list_presets
    from zoo.presets.registry import load
    from zoo.training.recipe import train

__version__ = "0.1.0"
register_with_keras()

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=(
        "analysis data decoding layers lessons models presets serving tasks text "
        "training"
    ).split(),
    submod_attrs={
        "presets": ["list_presets"],
        "presets.registry": ["load"],
        "training.recipe": ["train"],
    },
)
