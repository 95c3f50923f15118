"""Limits, error codes and tensors of both protocols of TensorFlow Serving."""

from collections.abc import Iterable
from typing import Any

MAX_ANSWER_BYTES = 128 * 2**20  # since alignments are large
# HTTP status -> gRPC code, as in the model server.
CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def takes_bytes(name: str) -> bool:
    """Returns whether an input or output holds bytes that are no text, as images do.

    By the name, as TensorFlow Serving's REST API has it for outputs.
    """
    return name.endswith("_bytes")


def make_tensor(values: Iterable[str | bytes]) -> Any:
    """Returns the `TensorProto` `(B,)` of B str or bytes."""
    from tensorflow.core.framework import tensor_pb2, types_pb2

    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING)
    for value in values:
        tensor.string_val.append(value if isinstance(value, bytes) else value.encode())
    tensor.tensor_shape.dim.add(size=len(tensor.string_val))
    return tensor
