"""Exported models without Keras, by ONNX Runtime or LiteRT.

translator = zoo.runtime.load("exports/onnx/luong_local")
translator.translate("A dog runs.")
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from zoo.runtime import litert, onnx
    from zoo.runtime.loading import load

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["litert", "onnx"],
    submod_attrs={"loading": ["load"]},
)
