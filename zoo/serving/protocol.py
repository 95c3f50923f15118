"""The protocol of a model server: signatures, error codes, tensors.

Nothing that a server sends is trusted: it is checked before it becomes an array.
"""

import json
import math
import reprlib
from typing import Any, NamedTuple

import numpy as np

from zoo.strings import replace_surrogates

Arrays = dict[str, np.ndarray]  # of str as objects, or of floats
DEFAULT = "serving_default"  # TensorFlow's name for the first signature
MAX_ANSWER_BYTES = 128 * 2**20  # since alignments are large
NO_SCORE = -1e9  # of a missing hypothesis
MAX_ROWS = 512  # of a request; larger ones are refused
_STRING, _FLOAT = 7, 1  # of TensorFlow's enum DataType
_MAX_RANK = 4  # of an alignment of captions
# HTTP status -> gRPC code, as in the model server.
CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class SignatureSpec(NamedTuple):
    """The inputs of a signature, a vector each, and its outputs: name -> dimensions.

    These are rows (B), hypotheses (N), tokens (T), those of the source (S), words (W),
    classes (C), places (Y, X).
    """

    inputs: tuple[str, ...]
    outputs: dict[str, str]


def _spec(inputs: str, outputs: str) -> SignatureSpec:
    pairs = [output.split(":") for output in outputs.split()]
    return SignatureSpec(tuple(inputs.split()), dict(pairs))


# Task, as in cards -> its signatures by name; the first is `serving_default`, too.
SIGNATURES = {
    "translate": {
        "translate": _spec("text", "translation:B score:B"),
        "translate_n_best": _spec("text", "translations:BN scores:BN"),
        "greedy": _spec("text", "translation:B score:B"),
        "align": _spec(
            "text", "translation:B score:B tokens:BT source_tokens:BS alignment:BTS"
        ),
        "score": _spec("source target", "log_probability:B"),
    },
    "generate": {
        "generate": _spec("text", "text:B"),
        "score": _spec("text", "log_probability:B"),
    },
    "tag": {"tag": _spec("text", "words:BW tags:BW")},
    "classify": {"classify": _spec("text", "class:B probabilities:BC")},
    "caption": {
        "caption": _spec("image_bytes", "caption:B score:B"),
        "caption_n_best": _spec("image_bytes", "captions:BN scores:BN"),
        "greedy": _spec("image_bytes", "caption:B score:B"),
        "align": _spec("image_bytes", "caption:B score:B tokens:BT alignment:BTYX"),
        "score": _spec("image_bytes caption", "log_probability:B"),
    },
}
# The outputs of numbers; the others are texts.
NUMBERS = "score", "scores", "alignment", "log_probability", "probabilities"


class ServingError(RuntimeError):
    """A model server gave no answer, or an error.

    Attributes:
        code: gRPC's name of the error, such as "UNAVAILABLE", "NOT_FOUND",
            "INVALID_ARGUMENT", "DEADLINE_EXCEEDED".
        details: what happened.
    """

    def __init__(self, code: str, details: str = "") -> None:
        super().__init__(f"{code}: {details}")
        self.code, self.details = code, details


# === Tensors ===
def write_tensor(array: np.ndarray, tensor: Any) -> None:
    """Fills a `TensorProto` with str or bytes, which are objects, or with floats."""
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        tensor.dtype = _STRING
        values = (x if isinstance(x, bytes) else x.encode() for x in array.ravel())
        tensor.string_val.extend(values)
    else:
        tensor.dtype = _FLOAT
        tensor.float_val.extend(array.ravel().tolist())


def read_tensor(tensor: Any) -> np.ndarray:
    """Returns the str or floats of a `TensorProto`; U+FFFD for what is not UTF-8.

    Other types are a ValueError, and values that are left out: TensorFlow lets a single
    one stand for all, which could be any number.
    """
    if tensor.dtype == _STRING:
        values = [value.decode("utf-8", "replace") for value in tensor.string_val]
        array = np.array(values, object)
    elif tensor.dtype == _FLOAT:
        array = np.array(tensor.float_val, "float32")
    else:
        raise ValueError(f"expected strings or floats, received type {tensor.dtype}")
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    negative = min(sizes, default=0) < 0
    if negative or len(sizes) > _MAX_RANK or array.size != math.prod(sizes):
        raise ValueError(
            f"expected all values of the shape {reprlib.repr(sizes)}, received "
            f"{array.size}"
        )
    return array.reshape(sizes)


# === Answers ===
def read_body(status: int, body: bytes) -> Arrays:
    """Returns the outputs of a REST answer, or raises its error."""
    try:
        answer = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # a proxy answers in HTML
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    outputs, details = answer.get("outputs"), answer.get("error")
    if status == 200 and isinstance(outputs, dict | list):
        # A signature's only output comes without its name.
        outputs = outputs if isinstance(outputs, dict) else {"output": outputs}
        return {name: _read_lists(values) for name, values in outputs.items()}
    code = CODES.get(status, "UNKNOWN")
    if not isinstance(details, str):
        # Not the model server's: that of a proxy whose server is gone.
        code = "UNAVAILABLE" if status == 500 else code
        text = body[:80].decode("utf-8", "replace")
        details = f"expected HTTP 200 with outputs in JSON, received {status}, {text!r}"
    raise ServingError(code, details)


def _read_lists(values):
    """Returns the array of nested lists of strings or numbers."""
    array = np.array(values, object)
    kinds = {type(value) for value in array.ravel()}
    if kinds <= {int, float}:
        return array.astype("float64")
    if kinds != {str}:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"expected strings or numbers in lists of equal lengths, received {names}"
        )
    texts = [replace_surrogates(text) for text in array.ravel()]
    return np.array(texts, object).reshape(array.shape)


def check_outputs(outputs: Arrays, expected: dict[str, str], rows: int) -> Arrays:
    """Returns an answer's outputs if so many rows fit a signature's, if any are known.

    Others are a ValueError.
    """
    if len(expected) == len(outputs) == 1:  # REST leaves its name out
        outputs = dict(zip(expected, outputs.values(), strict=True))
    if not _fit(outputs, expected, rows):
        found = {name: (str(x.dtype), x.shape) for name, x in outputs.items()}
        raise ValueError(
            f"expected {rows} rows of {expected or 'outputs'}, received "
            f"{reprlib.repr(found)}"
        )
    return outputs


def _fit(outputs, expected, rows):
    if not outputs or any(x.shape[:1] != (rows,) for x in outputs.values()):
        return False
    sizes: dict[str, int] = {}
    for name, dimensions in expected.items():
        array = outputs.get(name)
        if array is None or array.ndim > len(dimensions):
            return False
        # Lists of JSON show neither the type nor the dimensions below an empty one.
        typed = (array.dtype != object) == (name in NUMBERS)
        if array.size and not (typed and array.ndim == len(dimensions)):
            return False
        for dimension, length in zip(dimensions, array.shape, strict=False):
            if sizes.setdefault(dimension, length) != length:
                return False
    return True
