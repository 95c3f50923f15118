"""Checks of arguments that are numbers or names. Nothing here needs Keras."""

import numbers


def integer(name, value, least):
    """Returns an integer of at least `least` as an int, or raises a `ValueError`."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        kind = "a positive integer" if least == 1 else f"an integer from {least}"
        raise ValueError(f"`{name}` must be {kind}. Received: {name}={value!r}")
    return int(value)


def positive(name, value):
    """Returns a positive integer as an int, or raises a `ValueError`."""
    return integer(name, value, 1)


def rate(name, value):
    """Returns a dropout rate, or raises a `ValueError`."""
    if not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1). Received: {name}={value!r}")
    return value


def above_zero(name, value):
    """Returns a finite number above zero, or raises a `ValueError`."""
    if not 0 < value < float("inf"):
        raise ValueError(f"`{name}` must be above 0. Received: {name}={value!r}")
    return value


def zero_or_above(name, value):
    """Returns a finite number of at least zero, or raises a `ValueError`."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0 <= value < float("inf"):
        raise ValueError(f"`{name}` must be 0 or above. Received: {name}={value!r}")
    return value


def one_of(name, value, allowed):
    """Returns one of the allowed values, or raises a `ValueError`."""
    if value not in allowed:
        raise ValueError(
            f"`{name}` must be one of {list(allowed)}. Received: {name}={value!r}"
        )
    return value
