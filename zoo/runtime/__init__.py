"""Exported models without Keras: `zoo.runtime.onnx` runs them by ONNX Runtime."""
