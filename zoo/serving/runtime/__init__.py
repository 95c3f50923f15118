"""Exported models without Keras, by ONNX Runtime or CTranslate2.

translator = zoo.serving.runtime.load("exports/onnx/luong_local")
translator.translate("A dog runs.")
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from zoo.serving.runtime import onnx
    from zoo.serving.runtime.onnx import load

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["onnx"], submod_attrs={"onnx": ["load"]}
)
