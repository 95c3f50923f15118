"""Checks of numeric and named arguments, and of packages. Imports no Keras."""

import importlib.util
import numbers
from collections.abc import Collection
from typing import Any, TypeVar

T = TypeVar("T")


def integer(name: str, value: Any, least: int) -> int:
    """Returns `value` as an int if it is an integer of at least `least`.

    Raises:
        ValueError: for any other value.
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        kind = "a positive integer" if least == 1 else f"an integer from {least}"
        raise ValueError(f"`{name}` must be {kind}. Received: {name}={value!r}")
    return int(value)


def positive(name: str, value: Any) -> int:
    """Returns `value` as an int if it is a positive integer; see `integer`."""
    return integer(name, value, 1)


def check_image_shape(value: Any) -> tuple[int, int, int]:
    """Returns height, width and channels, or raises a `ValueError`."""
    if not isinstance(value, (tuple, list)) or len(value) != 3:
        raise ValueError(
            "`image_shape` must be (height, width, channels). "
            f"Received: image_shape={value!r}"
        )
    height, width, channels = (positive("image_shape", size) for size in value)
    return height, width, channels


def rate(name: str, value: float) -> float:
    """Returns `value` if it is a dropout rate in [0, 1), or raises a `ValueError`."""
    if not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1). Received: {name}={value!r}")
    return value


def above_zero(name: str, value: float) -> float:
    """Returns `value` if it is finite and above zero, or raises a `ValueError`."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0 < value < float("inf"):
        raise ValueError(f"`{name}` must be above 0. Received: {name}={value!r}")
    return value


def zero_or_above(name: str, value: float) -> float:
    """Returns `value` if it is finite and not negative, or raises a `ValueError`."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0 <= value < float("inf"):
        raise ValueError(f"`{name}` must be 0 or above. Received: {name}={value!r}")
    return value


def one_of(name: str, value: T, allowed: Collection[T]) -> T:
    """Returns `value` if it is allowed, or raises a `ValueError`."""
    if value not in allowed:
        raise ValueError(
            f"`{name}` must be one of {list(allowed)}. Received: {name}={value!r}"
        )
    return value


def need_packages(user: str, extra: str, *packages: str) -> None:
    """Raises an `ImportError`, which names the extra, if a package is missing."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            install = f"pip install 'attention-zoo[{extra}]'"
            raise ImportError(f"{user} needs {name}: {install}", name=name)
