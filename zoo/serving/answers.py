"""The sizes of a client's requests, and checks of the answers."""

from collections.abc import Iterator
from typing import Any

from zoo.serving.transport import MOST_BYTES, Output

_MOST_SENT = 4 * 2**20  # bytes of a request of several rows; in base64 a third more
# Signature -> output -> its kind and dimensions: rows (B), hypotheses (N), tokens (T),
# source tokens (S), words (W), places (X, Y). The only output of a signature may have
# any name.
_BEST = {"translation": ("text", "B"), "score": ("number", "B")}
_CAPTION = {"caption": ("text", "B"), "score": ("number", "B")}
OUTPUTS = {
    "translate": _BEST,
    "greedy": _BEST,
    "translate_n_best": {"translations": ("text", "BN"), "scores": ("number", "BN")},
    "align": {
        **_BEST,
        "tokens": ("text", "BT"),
        "source_tokens": ("text", "BS"),
        "alignment": ("number", "BTS"),
    },
    "generate": {"": ("text", "B")},
    "score": {"": ("number", "B")},
    "tag": {"words": ("text", "BW"), "tags": ("text", "BW")},
    "classify": {"class": ("text", "B")},
    "caption": _CAPTION,
    "caption_n_best": {"captions": ("text", "BN"), "scores": ("number", "BN")},
    "align_caption": {  # the signature `align` of a captioner
        **_CAPTION,
        "tokens": ("text", "BT"),
        "alignment": ("number", "BTYX"),
    },
}


def in_requests(
    inputs: dict[str, list[Any]], batch_size: int
) -> Iterator[dict[str, list[Any]]]:
    """Yields the inputs of each request.

    Args:
        inputs: input name -> texts, or bytes, equally many of each.
        batch_size: the most rows of a request. There are fewer if they would have more
            than 4 MiB, since servers limit what they take.
    """
    rows = list(zip(*inputs.values(), strict=True))
    start, size = 0, 0
    for place, row in enumerate(rows):
        own = sum(map(_size, row))
        if place > start and (place - start == batch_size or size + own > _MOST_SENT):
            yield {name: values[start:place] for name, values in inputs.items()}
            start, size = place, 0
        size += own
    if rows:
        yield {name: values[start:] for name, values in inputs.items()}


def _size(value):
    return len(value if isinstance(value, bytes) else value.encode())


def most_bytes(inputs: dict[str, list[Any]], expected: Any) -> int:
    """Returns the most bytes of an answer, far above what such inputs lead to.

    Args:
        inputs: input name -> texts, or bytes.
        expected: an entry of `OUTPUTS`, or None.
    """
    # A file's size says nothing about the text that tells what is in it.
    lengths = [
        1024 if isinstance(value, bytes) else len(value.encode())
        for values in inputs.values()
        for value in values
    ]
    longest = max(lengths, default=0)
    row = 2**18 + 2**7 * longest
    if expected is None or "alignment" in expected:
        # JSON of the tokens by the source's, which is padded to the longest, or by the
        # places of a grid.
        row += 2**5 * longest**2
    return min(MOST_BYTES, 2**16 + len(lengths) * row)


def fits(outputs: dict[str, Output], expected: dict[str, tuple[str, str]]) -> bool:
    """Returns whether outputs have the kinds and dimensions of those of `OUTPUTS`."""
    if "" in expected:  # a signature with one output
        if len(outputs) != 1:
            return False
        outputs = {"": next(iter(outputs.values()))}
    sizes: dict[str, int] = {}
    for name, (kind, dimensions) in expected.items():
        if name not in outputs or outputs[name].kind not in (kind, None):
            return False
        shape = outputs[name].shape
        if len(shape) > len(dimensions):
            return False
        # Lists of JSON don't show the dimensions below an empty one.
        if len(shape) < len(dimensions) and 0 not in shape:
            return False
        for dimension, size in zip(dimensions, shape, strict=False):
            if sizes.setdefault(dimension, size) != size:
                return False
    return True
