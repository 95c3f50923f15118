"""Signatures and error codes shared by exports, servers and clients."""

import importlib.util
from typing import NamedTuple

DEFAULT = "serving_default"  # TensorFlow's name for the first signature
MAX_ANSWER_BYTES = 128 * 2**20  # since alignments are large
NO_SCORE = -1e9  # of a missing hypothesis
MAX_ROWS = 512  # of a request; larger ones are refused
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
    """The inputs and outputs of a signature.

    Attributes:
        inputs: the names of its inputs, a vector each.
        outputs: output name -> its dimensions by letters: rows (B), hypotheses (N),
            tokens (T), those of the source (S), words (W), classes (C), places (Y, X).
    """

    inputs: tuple[str, ...]
    outputs: dict[str, str]


_BEST = {"translation": "B", "score": "B"}
_CAPTION = {"caption": "B", "score": "B"}
_SCORE = {"log_probability": "B"}
_TEXT, _IMAGE = ("text",), ("image_bytes",)
# Task, as in cards -> its signatures by name; the first is `serving_default`, too.
SIGNATURES = {
    "translate": {
        "translate": SignatureSpec(_TEXT, _BEST),
        "translate_n_best": SignatureSpec(
            _TEXT, {"translations": "BN", "scores": "BN"}
        ),
        "greedy": SignatureSpec(_TEXT, _BEST),
        "align": SignatureSpec(
            _TEXT,
            {**_BEST, "tokens": "BT", "source_tokens": "BS", "alignment": "BTS"},
        ),
        "score": SignatureSpec(("source", "target"), _SCORE),
    },
    "generate": {
        "generate": SignatureSpec(_TEXT, {"text": "B"}),
        "score": SignatureSpec(_TEXT, _SCORE),
    },
    "tag": {"tag": SignatureSpec(_TEXT, {"words": "BW", "tags": "BW"})},
    "classify": {
        "classify": SignatureSpec(_TEXT, {"class": "B", "probabilities": "BC"})
    },
    "caption": {
        "caption": SignatureSpec(_IMAGE, _CAPTION),
        "caption_n_best": SignatureSpec(_IMAGE, {"captions": "BN", "scores": "BN"}),
        "greedy": SignatureSpec(_IMAGE, _CAPTION),
        "align": SignatureSpec(
            _IMAGE, {**_CAPTION, "tokens": "BT", "alignment": "BTYX"}
        ),
        "score": SignatureSpec((*_IMAGE, "caption"), _SCORE),
    },
}
_NUMBERS = "score", "scores", "alignment", "log_probability", "probabilities"


def holds_numbers(output: str) -> bool:
    """Returns whether an output of `SIGNATURES` holds numbers, not texts."""
    return output in _NUMBERS


def takes_bytes(name: str) -> bool:
    """Returns whether an input or output holds bytes that are no text, as images do.

    By the name, as TensorFlow Serving's REST API has it for outputs.
    """
    return name.endswith("_bytes")


def need_packages(user: str, extra: str, *packages: str) -> None:
    """Raises an `ImportError`, which names the extra, if a package is missing."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            install = f'pip install "attention-zoo[{extra}]"'
            raise ImportError(f"{user} needs {name}: {install}", name=name)
