"""Exported models without Keras: `zoo.runtime.onnx` runs them by ONNX Runtime."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["onnx"])
