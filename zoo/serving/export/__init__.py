"""Presets as SavedModels for TensorFlow Serving and as ONNX graphs."""
