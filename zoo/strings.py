"""Checks of strings, and what is said of them. Nothing here needs Keras."""

import collections.abc
import difflib
import re
import reprlib

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_texts(texts, name="texts"):
    """Strings as a list, or a `TypeError` that names what is not one.

    Args:
        texts: a str, or a list or other ordered iterable of str (it is read once), as
            is the column of a table.
        name: what the error calls it. Default `"texts"`.

    Returns:
        A list of str; for a str, the list with that one.

    Raises:
        TypeError: for anything else. A wrong element's position is given, from 0.

    Example:

    >>> from zoo.text import check_texts
    >>> check_texts("A dog runs.")
    ['A dog runs.']
    >>> check_texts(["A dog.", None])
    Traceback (most recent call last):
    TypeError: texts[1] must be a str. Received: None (NoneType)
    """
    if isinstance(texts, str):
        return [texts]
    # These can be iterated, but not as texts in an order.
    unsuitable = (bytes, bytearray, collections.abc.Mapping, collections.abc.Set)
    try:
        table = getattr(texts, "ndim", 1) != 1  # iterated, it gives columns or rows
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


def replace_surrogates(text):
    """A str without lone surrogates, which no UTF-8 encoder accepts.

    JSON decoders can leave surrogates in a str. A pair becomes the character that it
    stands for, a lone one U+FFFD, which Unicode has for the purpose.
    """
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def describe(value):
    """A value, shortened, and its type, for the end of an error message."""
    return f"{reprlib.repr(value)} ({type(value).__name__})"


def did_you_mean(name, names):
    """The names most like a mistaken one, as words for an error message.

    Returns:
        str, such as `" (did you mean luong_dot or luong_global?)"`; empty if none is
        like it.

    Example:

    >>> "unknown preset" + did_you_mean("loung_dot", ["bahdanau", "luong_dot"])
    'unknown preset (did you mean luong_dot?)'
    """
    near = difflib.get_close_matches(str(name).lower(), names, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
