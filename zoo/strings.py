"""Checks of strings, wording of messages, and warnings. Imports no Keras."""

import collections.abc
import difflib
import re
import reprlib
import sys
import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any

SURROGATE = re.compile("[\ud800-\udfff]")

# Of tokenizers: the zoo's own rule, which keeps every character, and SentencePiece's.
NORMALIZATIONS = ("nfc", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf", "identity")


def plain_texts(texts: Any) -> Any:
    """Returns texts as a str or as lists of them, whatever holds them.

    Args:
        texts: a str, or a list, a tuple, an array, an eager tensor, a column of a table
            or a generator of texts. An array or tensor without axes is one text; bytes
            in one are UTF-8. Other bytes are no text: their encoding is unknown.

    Returns:
        A str or a list; anything that is none of these as it is.

    Example:
        >>> import numpy as np
        >>> plain_texts(np.array([b"A dog runs."])), plain_texts(np.array("A dog."))
        (['A dog runs.'], 'A dog.')
    """
    return _plain(texts, encoded=False)


def _plain(texts, encoded):
    """`plain_texts`; `encoded`: whether bytes are text, as in an array or a tensor."""
    for method in ("numpy", "tolist"):  # of TensorFlow's tensors, and of arrays
        if hasattr(texts, method):
            texts, encoded = getattr(texts, method)(), True
    if encoded and isinstance(texts, bytes):
        return texts.decode("utf-8", "replace")
    if isinstance(texts, (list, tuple, collections.abc.Iterator)):
        return [_plain(text, encoded) for text in texts]
    return texts


def check_texts(texts: Any, name: str = "texts") -> list[str]:
    """Returns strings as a list.

    Args:
        texts: a str or another form that `plain_texts` knows, or any ordered iterable
            of str. It is iterated once.
        name: what an error calls it.

    Returns:
        The strings; for a single str, a list of that one.

    Raises:
        TypeError: for anything else. The message gives the position of the first
            element that is not a str, from 0.

    Example:
        >>> from zoo.text import check_texts
        >>> check_texts("A dog runs.")
        ['A dog runs.']
        >>> check_texts(["A dog.", None])
        Traceback (most recent call last):
        TypeError: texts[1] must be a str. Received: None (NoneType)
    """
    if isinstance(texts, list | tuple) and set(map(type, texts)) <= {str}:
        return list(texts)
    table = getattr(texts, "ndim", 1) > 1  # iterated, it gives columns or rows
    texts = texts if table else plain_texts(texts)
    if isinstance(texts, str):
        return [texts]
    # These can be iterated, but hold no ordered texts.
    unsuitable = (bytes, bytearray, collections.abc.Mapping, collections.abc.Set)
    try:
        items = None if table or isinstance(texts, unsuitable) else list(texts)
    except TypeError:
        items = None
    if items is None:
        raise TypeError(
            f"{name} must be a str or a list of str. Received: {describe(texts)}"
        )
    for position, text in enumerate(items):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}[{position}] must be a str. Received: {describe(text)}"
            )
    return items


def read_texts(texts: Any, name: str = "texts") -> tuple[list[str], bool]:
    """Returns `check_texts`, and whether there was a single text."""
    texts = plain_texts(texts)
    return check_texts(texts, name), isinstance(texts, str)


def replace_surrogates(text: str) -> str:
    """Replaces surrogates, which JSON decoders let through and UTF-8 cannot encode.

    A pair becomes the character that it stands for, a lone one U+FFFD.
    """
    if SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def composed(text: str) -> str:
    """Returns a text in Unicode's composed form (NFC), without lone surrogates."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", replace_surrogates(text))


def describe(value: Any) -> str:
    """Returns a shortened value and its type, for the end of an error message."""
    return f"{reprlib.repr(value)} ({type(value).__name__})"


def did_you_mean(name: Any, names: Iterable[str]) -> str:
    """Suggests the closest valid names, for an error message.

    Returns:
        Text such as `" (did you mean luong_dot or luong_global?)"`; empty if no name
        is close.

    Example:
        >>> "unknown preset" + did_you_mean("loung_dot", ["bahdanau", "luong_dot"])
        'unknown preset (did you mean luong_dot?)'
    """
    near = difflib.get_close_matches(str(name).lower(), names, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def counted(number: int, name: str) -> str:
    """Formats a count with its noun.

    Example:
        >>> counted(1, "line"), counted(2000, "line")
        ('1 line', '2,000 lines')
    """
    return f"{number:,} {name}" + ("" if number == 1 else "s")


def duration(seconds: float) -> str:
    """Formats a time in its unit.

    Example:
        >>> duration(1), duration(600), duration(9000)
        ('1 second', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return counted(round(seconds), "second")
    if seconds < 5400:
        return counted(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"


# === Warnings ===
# A Keras layer's __call__ goes through torch's under PyTorch.
_PACKAGES = ("zoo", "keras", "keras_hub", "torch")


def warn_caller(message: str) -> None:
    """Issues a UserWarning at the nearest line outside Keras and this package.

    Python 3.12 offers the same as `skip_file_prefixes` of `warnings.warn`.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back and _package(frame) in _PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _package(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0]
