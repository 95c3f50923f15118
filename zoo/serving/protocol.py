"""Tensors of texts and numbers in messages of TensorFlow Serving's gRPC API."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def takes_bytes(name: str) -> bool:
    """Returns whether an input or output holds bytes that are no text, as images do.

    By the name, as TensorFlow Serving's REST API has it for outputs.
    """
    return name.endswith("_bytes")


def make_tensor(texts: Sequence[str | bytes]) -> Any:
    """Returns the `TensorProto` `(B,)` of a list of str or bytes."""
    from tensorflow.core.framework import tensor_pb2, types_pb2

    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING)
    tensor.tensor_shape.dim.add(size=len(texts))
    tensor.string_val.extend(_bytes(text) for text in texts)
    return tensor


def read_tensor(tensor: Any) -> np.ndarray:
    """Returns the NumPy array of a `TensorProto`: float32, or str as objects.

    Raises:
        ValueError: for another dtype, or if it does not hold each of its values.
    """
    from tensorflow.core.framework import types_pb2

    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.dtype == types_pb2.DT_STRING:
        values = [value.decode("utf-8", "replace") for value in tensor.string_val]
        array = np.empty(len(values), object)
        array[:] = values
    elif tensor.dtype == types_pb2.DT_FLOAT:
        array = np.frombuffer(tensor.tensor_content, "<f4")
        if not tensor.tensor_content:
            array = np.array(tensor.float_val, "float32")
    else:
        name = types_pb2.DataType.Name(tensor.dtype)
        raise ValueError(f"A tensor must be of strings or floats. Received: {name}")
    return array.reshape(shape)


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8")
